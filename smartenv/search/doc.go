// Package search ranks a vault's notes against a vector.
//
// Two pools are ranked: the note vectors and the block vectors of one
// [smartenv.Snapshot]. An answer has one row per note, scored by the best
// vector that the note has in the pools asked for, so a long note with one
// fitting section is found by that section, and never fills the answer with
// its other sections.
//
// Rules, in the order in which they apply:
//
//   - filters (such as folders, and the note itself) come before ranking: a folder
//     that holds one note of five thousand is found with a limit of one;
//   - what each filter hid is reported, with the best score it hid;
//   - a frontmatter block counts for its note but is never quoted: the passage
//     shown is the note's best other block, or its beginning;
//   - the order is total: score, then path, so equal questions get equal
//     answers.
//
// Scores are cosines. The package knows nothing of MCP, and reads a note from
// disk only in [Hit.Passages].
package search
