// Package measure tells how well a vault can be searched with the vectors that
// the plugin has stored: how much of its text they cover, whether a question
// finds what lies deep in a note, and how long answers take.
//
//   - Coverage rebuilds the text that the plugin gave to its model for every
//     ranked vector whose text is unchanged, finds it in the note, and counts
//     the characters that lie in no such window. Characters are UTF-16 units,
//     the plugin's measure of text.
//   - Recall asks for notes by quotes of their own text from beyond the window
//     of the note's vector, in each scope. A quote is the easiest of questions:
//     the figures compare scopes and vaults, they do not promise that a question
//     in other words succeeds.
//   - Timings repeat steps that the caller gives, since the tools that people
//     wait for are not known here.
//
// Nothing is written, and a report holds no text of the vault but paths.
package measure
