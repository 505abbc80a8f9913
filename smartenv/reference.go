package smartenv

// embeddingType is the only type of embedding the plugin writes.
const embeddingType = "default"

// references decodes an item's embedding member: embedding.default maps each
// model's fingerprint to {file, file_i, read_hash, at} (format section 4.1).
// A default whose own member "file" is a string is the flat form of the beta
// versions (4.3). The result is a part of d.refs. The hash of what was embedded
// is mostly the item's own, at known.
func (d *decoder) references(s *scanner, known span) span {
	from := len(d.refs)
	var history, flat []byte
	s.members(func(name []byte) {
		switch string(name) {
		case embeddingType:
			s.blanks()
			start := s.pos
			d.refs, flat = d.refs[:from], nil
			if d.byFingerprint(s, from, known) {
				d.refs, flat = d.refs[:from], s.text[start:s.pos]
			}
		case "history":
			history = s.raw()
		default:
			s.skip()
		}
	})
	if flat != nil && !s.bad {
		d.refs = d.refs[:from]
		d.flatReferences(flat, history, from)
	}
	return span{from, len(d.refs)}
}

// byFingerprint decodes {"<fingerprint>": reference, …}. flat says that this was
// another thing: one reference, whose file is a string.
func (d *decoder) byFingerprint(s *scanner, from int, known span) (flat bool) {
	s.members(func(name []byte) {
		if s.peek() != '{' {
			flat = flat || string(name) == "file" && s.peek() == '"'
			s.skip()
			return
		}
		fingerprint := d.intern(name)
		ref := d.datedReference(s, known).looseReference
		ref.fingerprint = fingerprint
		d.put(from, ref)
	})
	return flat
}

// put adds ref to the references from there on, in place of an earlier one of the
// same fingerprint.
func (d *decoder) put(from int, ref looseReference) {
	for i := from; i < len(d.refs); i++ {
		if d.refs[i].fingerprint == ref.fingerprint {
			d.refs[i] = ref
			return
		}
	}
	d.refs = append(d.refs, ref)
}

// A datedReference is a reference with what only the flat form needs.
type datedReference struct {
	looseReference
	kind string // embedding type, "" when not given
	at   int64
}

// datedReference decodes one reference object. Its fingerprint is the one it
// names, else its file.
func (d *decoder) datedReference(s *scanner, known span) datedReference {
	var ref datedReference
	ref.row = -1
	s.members(func(name []byte) {
		switch string(name) {
		case "file":
			ref.file = d.name(s)
		case "file_i":
			if n, ok := s.integer(); ok && n >= 0 {
				ref.row = n
			} else {
				ref.row = -1
			}
		case "read_hash":
			ref.hash = d.str(s, known)
		case "model_fingerprint":
			ref.fingerprint = d.name(s)
		case "type":
			ref.kind = d.name(s)
		case "at":
			ref.at, _ = s.lenientInteger()
		default:
			s.skip()
		}
	})
	if ref.fingerprint == "" {
		ref.fingerprint = ref.file
	}
	return ref
}

// flatReferences converts the beta form: per fingerprint the history entry with
// the greatest at (the later one among equals), overridden by the flat
// reference itself.
func (d *decoder) flatReferences(flat, history []byte, from int) {
	newest := map[string]int64{}
	if history != nil {
		s := &scanner{text: history}
		s.elements(func() {
			ref := d.datedReference(s, span{})
			at, seen := newest[ref.fingerprint]
			if ref.fingerprint == "" || ref.kind != "" && ref.kind != embeddingType || seen && ref.at < at {
				return
			}
			newest[ref.fingerprint] = ref.at
			d.put(from, ref.looseReference)
		})
	}
	d.put(from, d.datedReference(&scanner{text: flat}, span{}).looseReference)
}
