package weights

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"smart-connections-mcp/bert"
)

// predecessors loads a model from what the Node predecessor of this program
// left in the same cache folder, so that who switches downloads nothing:
//
//	<owner>/<model>/{config.json,tokenizer.json,onnx/model.onnx}
//
// Nothing is written there. No digests were recorded either, so the model is
// taken only when all of it parses and every parameter is finite and shaped as
// config.json says. The error is errNotCached when there is no such folder; of
// any other, the log tells, and the model is to be fetched.
func (s Source) predecessors(model string) (bert.Checkpoint, error) {
	// modelDir has passed the name: two plain path elements. On Windows some
	// such are devices.
	name := filepath.FromSlash(model)
	if !filepath.IsLocal(name) {
		return bert.Checkpoint{}, errNotCached
	}
	dir := filepath.Join(s.CacheDir, name)
	files := s.disk.dir(dir)
	if info, err := fs.Stat(files, "."); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return bert.Checkpoint{}, errNotCached
	}
	c, err := loadPredecessors(files, s.pin(model))
	if err != nil {
		err = fmt.Errorf("the copy of the program before this one, in %s, is not used: %w", dir, err)
		s.log().Warn("a model at hand is not used", "model", model, "error", err)
		return bert.Checkpoint{}, err
	}
	s.log().Info("using the model of the program before this one", "model", model, "folder", dir)
	c.Name = model
	return c, nil
}

func loadPredecessors(files fs.FS, p pin) (bert.Checkpoint, error) {
	if p.revision != "" {
		// The predecessor took main, whatever that was on the day.
		return bert.Checkpoint{}, fmt.Errorf("the plugin uses revision %s of this model, and nothing there tells which one it is", p.revision)
	}
	f := folder{files: files}
	if _, err := fs.Stat(f.files, onnxFile); errors.Is(err, fs.ErrNotExist) {
		return bert.Checkpoint{}, f.noWeights(fmt.Errorf("no %s", onnxFile))
	}
	return f.load()
}
