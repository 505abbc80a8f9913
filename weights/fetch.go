package weights

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"smart-connections-mcp/bert"
)

// fetch brings a model from the hub into its folder in the cache. It may take
// minutes; a later call goes on where this one was interrupted.
func (s Source) fetch(ctx context.Context, model, dir string) error {
	pin := s.pin(model)
	h, err := newHub(s.Endpoint, s.Client, model, pin.revision)
	if err != nil {
		return err
	}
	if s.Client == nil {
		defer h.client.CloseIdleConnections()
	}
	f := fetcher{source: s, hub: h, dir: dir, pin: pin, sums: map[string]string{}}
	if err := s.disk.mkdir(dir); err != nil {
		return f.explain(configFile, &diskError{err})
	}
	try := s.lock
	if try == nil {
		try = tryLock
	}
	release, held, err := lockDir(ctx, s.disk, dir, try, s.log())
	defer release()
	if err != nil {
		return f.explain(lockFile, &diskError{err})
	}
	if _, err := cachedSums(s.disk, dir); !errors.Is(err, errNotCached) {
		return err // nil: another process was faster
	}
	f.sweep()
	if f.shared = !held; !f.shared {
		if err := f.clear(); err != nil {
			return err
		}
	}
	return f.all(ctx)
}

// fetcher is one run of fetch.
type fetcher struct {
	source Source
	hub    *hub
	dir    string
	pin    pin
	shared bool
	sums   map[string]string // file name -> sha256 of what has been fetched
}

// clear deletes what an interrupted fetch completed; the record first, or it
// would speak of files that are not the recorded ones.
func (f *fetcher) clear() error {
	for _, name := range []string{sumsFile, configFile, tokenizerFile, vocabFile, tokenizerConfigFile, weightsFile, onnxFile} {
		err := f.source.disk.remove(filepath.Join(f.dir, filepath.FromSlash(name)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return f.explain(name, &diskError{err})
		}
	}
	return nil
}

// sweep deletes the parts with names of their own that nobody has written to
// for a day: their process was killed, and no other can go on with them.
func (f *fetcher) sweep() {
	files := f.source.disk.dir(f.dir)
	for _, pattern := range []string{"*.[0-9]*" + partSuffix, "*/*.[0-9]*" + partSuffix} {
		parts, _ := fs.Glob(files, pattern)
		for _, name := range parts {
			if info, err := fs.Stat(files, name); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
				f.source.disk.remove(filepath.Join(f.dir, filepath.FromSlash(name)))
			}
		}
	}
}

// all fetches the files, the small ones first: a model that we cannot run is
// refused before its weights are on their way.
func (f *fetcher) all(ctx context.Context) error {
	log := f.source.log()
	log.Info("fetching a model", "model", f.hub.model, "from", f.hub.base.Redacted())
	if err := f.file(ctx, configFile); err != nil {
		return err
	}
	have := folder{files: f.source.disk.dir(f.dir)}
	data, err := have.read(configFile)
	if err != nil {
		return f.reading(configFile, err)
	}
	if _, err := bert.ParseConfig(data); err != nil {
		return err
	}
	if err := f.tokenizer(ctx); err != nil {
		return err
	}
	if _, err := have.vocabulary(); err != nil {
		return f.reading(tokenizerFile, err)
	}
	if err := f.weights(ctx); err != nil {
		return err
	}
	origin := fmt.Sprintf("%s at %s from %s", f.hub.model, f.hub.revision, f.hub.base.Redacted())
	if err := writeSums(f.source.disk, f.dir, origin, f.sums, f.shared); err != nil {
		return f.explain(sumsFile, &diskError{err})
	}
	log.Info("fetched a model", "model", f.hub.model, "revision", f.hub.revision)
	return nil
}

// reading explains what the system says when a file is read back. What is wrong
// with the file's content says so itself.
func (f *fetcher) reading(name string, err error) error {
	if _, system := errors.AsType[syscall.Errno](err); system {
		return f.explain(name, &diskError{err})
	}
	return err
}

// tokenizer fetches tokenizer.json or, where there is none, vocab.txt and what
// goes with it.
func (f *fetcher) tokenizer(ctx context.Context) error {
	err := f.file(ctx, tokenizerFile)
	if !errors.Is(err, errNoFile) {
		return err
	}
	if textErr := f.file(ctx, vocabFile); textErr != nil {
		if errors.Is(textErr, errNoFile) {
			return err
		}
		return textErr
	}
	if err := f.file(ctx, tokenizerConfigFile); !errors.Is(err, errNoFile) {
		return err
	}
	return nil
}

// weights fetches model.safetensors or, where there is none, onnx/model.onnx.
func (f *fetcher) weights(ctx context.Context) error {
	err := f.file(ctx, weightsFile)
	if err == nil {
		f.forget(onnxFile) // an earlier fetch may have begun with it
		return nil
	}
	if !errors.Is(err, errNoFile) {
		return err
	}
	f.source.log().Info("no safetensors there, trying ONNX", "model", f.hub.model)
	onnxErr := f.file(ctx, onnxFile)
	if !errors.Is(onnxErr, errNoFile) {
		return onnxErr
	}
	if f.hub.has(ctx, quantisedFile) {
		return fmt.Errorf("%s has its weights only quantised (%s) at revision %s, and no %s or %s: quantised weights give other vectors; "+
			"take a copy with one of these, and %s", f.hub.model, quantisedFile, f.hub.revision, weightsFile, onnxFile, wayOut)
	}
	return err
}

// forget deletes what an interrupted download of a file left.
func (f *fetcher) forget(name string) {
	path := filepath.Join(f.dir, filepath.FromSlash(name))
	disk := f.source.disk
	disk.remove(path + partSuffix)
	disk.remove(path + partSuffix + stateSuffix)
	disk.remove(filepath.Dir(path)) // the sub-folder, when it is empty now
}

// file fetches one file. Once an answer told the commit, all further files are
// asked from it, so that a push in between cannot mix two states of a model.
func (f *fetcher) file(ctx context.Context, name string) error {
	d := &download{
		disk: f.source.disk, hub: f.hub, dir: f.dir, name: name,
		limit:  sizeLimit(name),
		limits: f.source.limits.orDefault(),
		show:   &progress{w: f.source.Progress, what: f.hub.model + " " + name},
	}
	if sum := f.pin.sha256[name]; sum != "" {
		d.pinned = digest{kindSHA256, sum}
	}
	sum, err := d.run(ctx, f.shared)
	if err != nil {
		return f.explain(name, err)
	}
	if d.promise == (digest{}) && d.pinned == (digest{}) {
		f.source.log().Warn("the hub gave no digest for a file: it is taken as it came",
			"model", f.hub.model, "file", name, "hub", f.hub.base.Host)
	}
	if d.commit != "" {
		f.hub.revision = d.commit
	}
	f.sums[name] = sum
	return nil
}

func (l limits) orDefault() limits {
	if l.idle == 0 {
		l.idle = defaultIdle
	}
	if l.wait == 0 {
		l.wait = defaultWait
	}
	return l
}
