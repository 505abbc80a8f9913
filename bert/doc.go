// Package bert turns a text into the vector that the Smart Connections plugin
// would give it: text → token ids → encoder → pooled unit vector.
//
// Begin with a [Checkpoint] (package weights reads one from disk), choose the
// [Profile] of the vector space, build a [Model], embed:
//
//	profile, known := bert.ProfileFor(space)  // space: the index's embedding_space_id
//	model, err := bert.New(checkpoint, profile)
//	vec, err := model.Embed(ctx, "how do I prune roses?") // len(vec) == model.Dims(), length 1
//
// The package computes BERT in fp32, for any number of layers, heads and
// widths; everything about the model's shape comes from its config.json
// ([ParseConfig]). Other architectures are refused by name, and so are
// tokenizers other than BERT's WordPiece and XLM-R's Unigram, which
// multilingual-e5-small has ([ParseVocabulary]). It opens no file and knows
// nothing of vaults.
//
// All processors share a text, group of rows by group, and a vector is the same
// to the bit however many there are. No goroutine outlives the call it helps.
//
// # Agreement
//
// The measure of right and wrong is the plugin's own stack, transformers.js
// on onnxruntime. The tokenizer therefore follows the JavaScript
// implementation where it differs from the others: JavaScript's white space
// and lower case, CJK found by UTF-16 unit, and an over-long list of ids cut
// at the end, so that a cut text has no [SEP]. Before a Unigram model it
// composes characters (NFKC) instead of reading SentencePiece's table of them,
// and knows neither bytes for unknown characters nor a word's split at "▁".
// What it does with each code point is compared with tables made by that
// implementation; only code points younger than Go's Unicode tables may
// differ. Token ids are equal on every golden text and vectors within 2e-6 per
// component.
//
// The [Profile] belongs to the vector space, not to the model: the plugin made
// the vectors of one model with mean pooling and no prefix before it made them
// otherwise, and keeps both under different names.
//
// # Files
//
// config.go holds the shape, parameters.go what was learnt, forward.go the
// scratch memory and the pass through the layers, which reads top to bottom.
//
// tokenizer.go and fit.go are the way from text to ids. Between a text's
// literal tokens stands one of two segmenters: wordpiece.go with the
// normaliser of normalise.go, or unigram.go with that of precompiled.go. Both
// get their settings from a [Vocabulary], which tokenizerjson.go and
// scoredpiece.go read.
//
// # Letters
//
// Every buffer says its shape, rows first, in these letters:
//
//	T  tokens of the text           H  width of the hidden state
//	V  word pieces known            A  attention heads
//	P  positions known              D  width of a head, H/A
//	Y  token types known            I  width inside the feed-forward step
package bert
