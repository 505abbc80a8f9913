package smartenv

// An acceptor decides which row is the vector of an item, as the plugin does
// (format section 4.2): the reference under the model's fingerprint counts when
// it names the file of that fingerprint, was made from the text the item had when
// it was last read, and points into the file of the item's own collection.
type acceptor struct {
	fingerprint string
	file        *multifile
	refused     map[Reason]int
	accepted    int
	maxRow      int64 // greatest row a reference under the fingerprint names; -1 = none
	closed      bool  // the model is refused: no item has a row
	lenient     bool  // an item without any hash may have a row
}

func newAcceptor(fingerprint string, file *multifile) *acceptor {
	return &acceptor{fingerprint: fingerprint, file: file, refused: map[Reason]int{}, maxRow: -1}
}

// row returns the item's row, or -1 and why it has none, and counts that. hash is
// the item's own last_read.hash.
func (a *acceptor) row(refs []reference, hash string) (int64, Reason) {
	row, reason := a.judge(refs, hash)
	a.count(reason, 1)
	return row, reason
}

// count adds n items with this reason to the counters.
func (a *acceptor) count(reason Reason, n int) {
	switch reason {
	case "":
		a.accepted += n
	case reasonNotEmbedded, reasonRefused:
	default:
		if a.refused[reason] += n; a.refused[reason] == 0 {
			delete(a.refused, reason)
		}
	}
}

// judge is row without counting.
func (a *acceptor) judge(refs []reference, hash string) (int64, Reason) {
	if len(refs) == 0 {
		return -1, reasonNotEmbedded
	}
	if a.closed {
		return -1, reasonRefused
	}
	return a.check(refs, hash)
}

func (a *acceptor) check(refs []reference, hash string) (int64, Reason) {
	for _, ref := range refs {
		if ref.fingerprint != a.fingerprint {
			continue
		}
		a.maxRow = max(a.maxRow, ref.row)
		switch {
		case ref.file != a.fingerprint:
			return -1, reasonWrongFile
		case ref.readHash != hash || hash == "" && !a.lenient:
			return -1, reasonOutdated
		case ref.row < 0:
			return -1, reasonBadRow
		case a.file.missing:
			return -1, reasonNoFile
		case ref.row >= a.file.rows:
			return -1, reasonOutOfRange
		}
		return ref.row, ""
	}
	return -1, reasonOtherModel
}
