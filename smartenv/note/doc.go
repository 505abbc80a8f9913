// Package note reads the notes of an Obsidian vault and cuts them as the Smart
// Connections plugin does.
//
// A Vault opens files below its root and nothing else: Resolve turns what a
// person typed into the exact path of a file, Read and Stat take exact paths,
// List walks all notes. Every path is vault-relative with "/" between folders.
// Refusals are *RefusedError, and no error names a place on the host.
//
// The rest of the package is pure and knows no files. Its texts are strings of
// valid UTF-8, but lengths, sizes and cuts are in UTF-16 units and white space
// is JavaScript's, because the plugin's are:
//
//	raw, err := vault.Read(path)               // bytes as on disk
//	text, fresh := note.Match(raw, storedHash) // the form of it that the plugin indexed
//	parsed := note.Parse(path, text, rules)    // blocks: key, lines, hash, whether embedded
//	input := note.NoteInput(path, text, rules) // what the embedding model was given
//
//	block, ok := note.BlockText(text, 3, 9)    // a block's text, for BlockInput
//	quote, err := note.Excerpt(raw, 3, 9, 1200) // the same lines, for showing
//
// Line numbers are 1-based and inclusive, and a final line break is followed by
// one more, empty line. For a drawing (*.excalidraw.md) they count in Body(path,
// text) and not in the file.
//
// Section numbers in comments, such as "format section 7.3", refer to the
// project's description of the plugin's format; the rule itself is always stated
// beside them.
package note
