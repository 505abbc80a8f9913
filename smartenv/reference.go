package smartenv

// embeddingType is the only type of embedding the plugin writes.
const embeddingType = "default"

// references decodes an item's embedding member: embedding.default maps each
// model's fingerprint to {file, file_i, read_hash, at} (format section 4.1).
// A default whose own member "file" is a string is the flat form of the beta
// versions (4.3).
func (d *decoder) references(s *scanner) []reference {
	var refs []reference
	var history, flat []byte
	s.members(func(name []byte) {
		switch string(name) {
		case embeddingType:
			s.blanks()
			start, isFlat := s.pos, false
			refs, isFlat = d.byFingerprint(s)
			flat = nil
			if isFlat {
				refs, flat = nil, s.text[start:s.pos]
			}
		case "history":
			history = s.raw()
		default:
			s.skip()
		}
	})
	if flat != nil && !s.bad {
		return d.flatReferences(flat, history)
	}
	return refs
}

// byFingerprint decodes {"<fingerprint>": reference, …}. flat says that this was
// another thing: one reference, whose file is a string.
func (d *decoder) byFingerprint(s *scanner) (refs []reference, flat bool) {
	s.members(func(name []byte) {
		if s.peek() != '{' {
			flat = flat || string(name) == "file" && s.peek() == '"'
			s.skip()
			return
		}
		fingerprint := d.intern(name)
		ref := d.datedReference(s).reference
		ref.fingerprint = fingerprint
		refs = put(refs, ref)
	})
	return refs, flat
}

// put adds ref, in place of an earlier one of the same fingerprint.
func put(refs []reference, ref reference) []reference {
	for i := range refs {
		if refs[i].fingerprint == ref.fingerprint {
			refs[i] = ref
			return refs
		}
	}
	return append(refs, ref)
}

// A datedReference is a reference with what only the flat form needs.
type datedReference struct {
	reference
	kind string // embedding type, "" when not given
	at   int64
}

// datedReference decodes one reference object. Its fingerprint is the one it
// names, else its file.
func (d *decoder) datedReference(s *scanner) datedReference {
	ref := datedReference{reference: reference{row: -1}}
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
			ref.readHash = s.str()
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
func (d *decoder) flatReferences(flat, history []byte) []reference {
	var refs []reference
	newest := map[string]int64{}
	if history != nil {
		s := &scanner{text: history}
		s.elements(func() {
			ref := d.datedReference(s)
			at, seen := newest[ref.fingerprint]
			if ref.fingerprint == "" || ref.kind != "" && ref.kind != embeddingType || seen && ref.at < at {
				return
			}
			newest[ref.fingerprint] = ref.at
			refs = put(refs, ref.reference)
		})
	}
	return put(refs, d.datedReference(&scanner{text: flat}).reference)
}
