package smartenv

import (
	"fmt"
	"path/filepath"
)

// describe fills in the status and the warnings that do not depend on vectors.
func (l *loader) describe(snap *Snapshot, sc *scan, files *listing) {
	st := &snap.Status
	counts := l.replay.counts
	st.Records, st.Tombstones = counts.records, counts.tombstones
	st.SkippedLines, st.SkippedFirst = counts.skipped, append([]string(nil), counts.examples...)
	st.IgnoredFiles, st.LegacyNewest, st.Retries = files.ignored, files.legacy, l.retries
	for i := range l.replay.shards {
		sh := &l.replay.shards[i]
		st.Shards = append(st.Shards, File{Name: sh.name, Size: sh.info.Size()})
	}
	for _, collection := range []string{sourcesCollection, blocksCollection} {
		for _, name := range files.multifiles[collection] {
			f := File{Name: collection + "/" + name}
			if info, err := statShared(filepath.Join(l.dir, collection, name)); err == nil {
				f.Size = info.Size()
			}
			m, known := KnownModel(name)
			if name == snap.Fingerprint {
				m, known = snap.Model, true
			}
			if known && m.Dims > 0 {
				f.Rows = f.Size / int64(4*m.Dims)
			}
			if name == snap.Fingerprint && collection == sourcesCollection {
				f.Referenced = st.Notes.Referenced
			} else if name == snap.Fingerprint {
				f.Referenced = st.Blocks.Referenced
			}
			st.Multifiles = append(st.Multifiles, f)
		}
	}
	snap.Warnings = append(snap.Warnings, snap.statusWarnings()...)
	if sc.refused > 0 {
		snap.Warnings = append(snap.Warnings, fmt.Sprintf("%d notes of the index lie behind links that leave the vault, or have a path that is not followed; they are left out", sc.refused))
	}
}

func (s *Snapshot) statusWarnings() (warnings []string) { return nil }

func (p *pool) warnings() (warnings []string) { return nil }
