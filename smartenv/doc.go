// Package smartenv reads the index that the Obsidian plugin Smart Connections
// keeps in a vault's folder .smart-env, and turns it into vectors that can be
// ranked.
//
//	vault, err := note.OpenVault(dir)
//	index := smartenv.Open(vault, smartenv.Options{})
//	snap, err := index.Snapshot(ctx) // reads what changed, at most every 2 s
//	for _, hit := range snap.Notes.Nearest(query, 10, nil) {
//		fmt.Println(snap.Notes.Items[hit.Row].Path, hit.Score)
//	}
//
// # What is on disk
//
// The packed form (plugin 4.7 and later) has two parts. The log,
// smart_sources/smart_sources.ajson and its numbered continuations (shards), has
// one JSON record per line and note; the last record of a path wins, null removes
// it. A record holds the note's hash and its blocks, and for each of these a
// reference: the row of a multifile where its vector stands. A multifile,
// smart_sources/mf_* for notes and smart_blocks/mf_* for blocks, is bare float32
// rows; its name is the fingerprint of the model that made them.
//
// Versions 2.1 to 4.5 of the plugin kept an inline index instead: multi/ has one
// file for each note, with the note's record, a record for each block, and the
// vectors in them as decimal numbers. It is read when there is no packed one, and
// becomes the same Snapshot.
//
// # What is kept
//
// A vector belongs to an item only by the plugin's own rule (see acceptor): a
// reference to another model, to an earlier text or beyond the file's end is
// refused and counted. Rows that are not finite or zero are left out and counted,
// others scaled to unit length, so that a dot product is the cosine. Vectors of
// notes that are gone or excluded are left out. A note whose text has changed
// since is still ranked, and marked: Item.Stale.
//
// # Reading while the plugin writes
//
// Nothing is locked and nothing is written. Files are read and closed at
// once. The plugin appends vectors before the records that point to them, so the
// log is read first; afterwards every file must still be the one that was read,
// else the attempt is repeated. While the plugin's Optimize swaps files, only its
// mark tells, so nothing is read then. Nor is a file taken for what it is that has
// just become shorter and lacks what it had: a sync tool may be writing it anew in
// place. While no attempt succeeds the snapshot before goes on answering, with
// Snapshot.Behind set.
//
// A reload happens when the set, identity, size or times of the index's files
// changed (see sameTimes for what cannot be noticed), and when a rescan found notes
// changed. A rescan examines every note on disk; it happens every ten seconds at
// most, less often in a vault where it takes long, and in a vault of few notes it is
// part of every reload. In between a note may change unnoticed, so whoever shows its
// text compares it anew.
//
// A log that only grew is replayed from where it ended, and of multifiles that
// only grew the new rows are read. Items of notes that are as they were are taken
// over from the snapshot before, and both snapshots share the buffer of the
// vectors: what is new stands behind the part that the older one has (see store).
// After an Optimize, which numbers all rows anew, they are found again in that buffer.
// The files of an inline index are rewritten in place; each stands for itself, so
// only those that changed are read, and one that looks unfinished is read again.
//
// The files, from the bottom up: json.go and log.go read a line, record.go and
// reference.go what it says, replay.go the log; settings.go, exclude.go and
// model.go the configuration, policy.go the choice of model; multifile.go and
// accept.go vectors, store.go the buffer they lie in; inline_text.go to
// inline_build.go and inline.go the inline index, which becomes records of the same
// kind; fresh.go, scan.go and rescan.go the notes; attempt.go and build.go make the
// Snapshot of snapshot.go, status.go and report.go describe it, load.go repeats
// attempts, and index.go keeps the Snapshot current.
package smartenv
