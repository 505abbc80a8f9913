package smartenv

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A choice is the model whose vectors are ranked, or why none is.
type choice struct {
	model       Model
	fingerprint string
	warning     string // when the model is not the configured one
	refusal     error
}

// A refusal says why vectors of this vault cannot be ranked. It names what is
// there and what is wanted, and ends with the way out.
type refusal string

func (r refusal) Error() string { return string(r) }

// found counts, per fingerprint, the references of all live records: those
// whose multifile exists in their own collection's folder, and the others.
type found struct {
	readable, lost map[string]int
}

// count adds the references of a record n times, n being 1 or -1.
func (f found) count(rec *record, multifiles map[string][]string, n int) {
	add := func(counts map[string]int, fingerprint string) {
		if counts[fingerprint] += n; counts[fingerprint] == 0 {
			delete(counts, fingerprint)
		}
	}
	count := func(collection string, refs []reference) {
		for _, ref := range refs {
			if slices.Contains(multifiles[collection], ref.file) {
				add(f.readable, ref.fingerprint)
			} else {
				add(f.lost, ref.fingerprint)
			}
		}
	}
	count(sourcesCollection, rec.refs)
	for i := range rec.blocks {
		count(blocksCollection, rec.blocks[i].refs)
	}
}

// chooseModel decides whose vectors are ranked: the configured model's when
// there are any that can be read, else those of the one known model that has
// some, with a warning, else none (format section 3.2). wanted is the model the
// user insists on, "" for the vault's own; known tells what model a fingerprint
// stands for.
func chooseModel(configured Model, f found, wanted string, known func(fingerprint string) (Model, bool)) choice {
	want := configured.Fingerprint()
	c := choice{model: configured, fingerprint: want}
	if len(f.readable) > 0 && f.readable[want] == 0 {
		others := knownAmong(f.readable, known)
		if len(others) != 1 {
			c.refusal = refusal(fmt.Sprintf("the vault is configured for the embedding model %s, but its vectors belong to %s: "+
				"open the vault in Obsidian and let Smart Connections embed it again, or set the plugin back to the model of the vectors",
				configured, describe(f.readable, known)))
			return c
		}
		c.fingerprint = others[0]
		c.model, _ = known(c.fingerprint)
		c.warning = fmt.Sprintf("the vault is configured for the embedding model %s, but only vectors of %s can be read; these are used: "+
			"let Smart Connections finish embedding, or set the plugin back to %s", configured, c.model, c.model.Name)
	}
	if wanted != "" && wanted != c.model.Name {
		c.refusal = refusal(fmt.Sprintf("the model %s was asked for, but the vault's vectors belong to %s: "+
			"unset SMART_EMBED_MODEL (or --model), or set it to %s", wanted, c.model, c.model.Name))
	}
	return c
}

func knownAmong(fingerprints map[string]int, known func(string) (Model, bool)) (some []string) {
	for fingerprint := range fingerprints {
		if _, ok := known(fingerprint); ok {
			some = append(some, fingerprint)
		}
	}
	return some
}

// describe lists fingerprints with their models' names and reference counts.
func describe(counts map[string]int, known func(string) (Model, bool)) string {
	var parts []string
	for _, fingerprint := range slices.Sorted(maps.Keys(counts)) {
		name := "an unknown model"
		if m, ok := known(fingerprint); ok {
			name = m.Name
		}
		parts = append(parts, fmt.Sprintf("%s (%s, %d references)", name, fingerprint, counts[fingerprint]))
	}
	return strings.Join(parts, " and ")
}
