// Package verify proves the property that everything else rests on: a query is
// embedded exactly as the plugin embedded the notes.
//
// A mismatch of model, pooling, prefix, tokenizer or text raises no error
// anywhere; it only makes confident nonsense of every answer. So [Run] rebuilds
// the text that the plugin gave to its model for a sample of stored notes and
// blocks, embeds it anew, and compares with the stored vectors. A faithful
// embedder agrees to 0.999 and better with vectors made in fp32; vectors that
// the plugin made with quantised weights agree less, but above [Floor]. [Probe]
// does the same with three items, so that the server can prove itself at each
// start.
package verify
