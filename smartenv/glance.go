package smartenv

import "slices"

// A Glance is what names and sizes of the index's files tell at once, whatever
// the size of the vault.
type Glance struct {
	Generation    string // as Snapshot.Generation
	Model         Model  // the model the plugin is set to
	Notes, Blocks int64  // rows of its multifiles; a little more than can be ranked. 0 in an inline index, which has none
}

// Glance looks at the index without reading its log or vectors. It needs a
// millisecond or so, and may be called at any time. The error is that of
// Snapshot when there is no index to read.
func (x *Index) Glance() (Glance, error) {
	files, err := listFew(x.loader.in)
	if err != nil {
		return Glance{}, x.loader.unlisted(err)
	}
	settings, _ := readConfig(x.loader.in)
	if settings.fault != nil {
		return Glance{}, unread(settings.fault)
	}
	if files.isInline {
		return Glance{Generation: "inline", Model: settings.inlineModel()}, nil
	}
	g := Glance{Generation: "packed", Model: settings.model}
	for collection, rows := range map[string]*int64{sourcesCollection: &g.Notes, blocksCollection: &g.Blocks} {
		fingerprint := g.Model.Fingerprint()
		if g.Model.Dims == 0 || !slices.Contains(files.multifiles[collection], fingerprint) {
			continue
		}
		m, err := openMultifile(x.loader.in, collection, fingerprint, g.Model.Dims, files.infos)
		if err != nil {
			return Glance{}, err
		}
		*rows = m.rows
	}
	return g, nil
}

// Settings reads the plugin's settings as they are now, which needs no index.
// While they cannot be read they are those of the last snapshot, and without one
// the plugin's defaults.
func (x *Index) Settings() Settings {
	c, incomplete := readConfig(x.loader.in)
	if cur := x.current.Load(); cur != nil && incomplete != "" {
		return cur.snap.Settings
	}
	return c.settings
}
