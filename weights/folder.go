package weights

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"gorgonia.org/tensor"

	"smart-connections-mcp/bert"
	"smart-connections-mcp/weights/builtin"
)

// The files of a model folder beside its weights, under the names that the hub
// gives them.
const (
	configFile          = "config.json"
	tokenizerFile       = "tokenizer.json"
	vocabFile           = "vocab.txt"
	tokenizerConfigFile = "tokenizer_config.json"
)

// Largest sizes that are read: far above any encoder's, far below a disk's.
const (
	maxText    = 64 << 20
	maxWeights = 8 << 30
)

const wantedFiles = "config.json, tokenizer.json (or vocab.txt) and model.safetensors (or onnx/model.onnx)"

// Folder loads a model from a folder that holds config.json, tokenizer.json or
// vocab.txt (with tokenizer_config.json, if there is one), and weights in F32,
// F16 or BF16: model.safetensors or, without that, onnx/model.onnx or
// model.onnx. The checkpoint's name is the folder's.
// Truncation and padding that a tokenizer.json asks for are ignored, as the
// plugin's library does. An error names the file and what is wrong with it; for
// a file that is not there, it tells what is.
func Folder(dir string) (bert.Checkpoint, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return bert.Checkpoint{}, fmt.Errorf("model folder %s: %w: give a folder with %s", dir, bare(err), wantedFiles)
	}
	if !info.IsDir() {
		return bert.Checkpoint{}, fmt.Errorf("model folder %s is not a folder: give one with %s", dir, wantedFiles)
	}
	c, err := folder{files: os.DirFS(dir)}.load()
	if err != nil {
		return bert.Checkpoint{}, fmt.Errorf("model folder %s: %w", dir, err)
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	c.Name = filepath.Base(dir)
	return c, nil
}

// Builtin loads the model that is embedded in the program, builtin.Name.
func Builtin() (bert.Checkpoint, error) {
	c, err := folder{files: builtin.FS()}.load()
	if err != nil {
		return bert.Checkpoint{}, fmt.Errorf("built-in model: %w", err)
	}
	c.Name = builtin.Name
	return c, nil
}

// folder is a place with a model's files. Files that sums lists must have that
// sha256 (hex); with sums nil, nothing is compared.
type folder struct {
	files fs.FS
	sums  map[string]string
}

// errChanged marks a file whose content is not what was recorded for it.
var errChanged = errors.New("the file is damaged")

func (f folder) load() (bert.Checkpoint, error) {
	var c bert.Checkpoint
	data, err := f.read(configFile)
	if err != nil {
		return c, err
	}
	if c.Config, err = bert.ParseConfig(data); err != nil {
		return c, err
	}
	var wait sync.WaitGroup
	var paramsErr error
	var panicked any
	wait.Go(func() { // each of the two takes about as long
		defer func() { panicked = recover() }()
		c.Params, paramsErr = f.params(c.Config.Shapes())
	})
	c.Vocabulary, err = f.vocabulary()
	wait.Wait()
	if panicked != nil {
		panic(panicked) // where whoever called can recover it
	}
	if err != nil {
		return c, err
	}
	if n := len(c.Vocabulary.Tokens); n > c.Config.Vocab {
		return c, fmt.Errorf("the tokenizer has %d tokens, %s says %d: they belong to different models", n, configFile, c.Config.Vocab)
	}
	return c, paramsErr
}

// vocabulary reads tokenizer.json or, without one, vocab.txt.
func (f folder) vocabulary() (bert.Vocabulary, error) {
	data, err := f.read(tokenizerFile)
	if err == nil {
		return bert.ParseVocabulary(data)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return bert.Vocabulary{}, err
	}
	text, textErr := f.read(vocabFile)
	if errors.Is(textErr, fs.ErrNotExist) {
		return bert.Vocabulary{}, err
	}
	if textErr != nil {
		return bert.Vocabulary{}, textErr
	}
	config, err := f.read(tokenizerConfigFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return bert.Vocabulary{}, err
	}
	return bert.VocabularyFromText(text, config)
}

// read returns a small file whole.
func (f folder) read(name string) ([]byte, error) {
	file, size, err := f.open(name, maxText)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data := make([]byte, size)
	if _, err := io.ReadFull(file, data); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, bare(err))
	}
	if f.sums == nil {
		return data, nil
	}
	sum := sha256.Sum256(data)
	return data, f.compare(name, sum[:])
}

// params reads the weights. The digest is taken on the way, so that the file is
// read once; when it is wrong, whatever else was found is its consequence.
func (f folder) params(shapes map[string][]int) (map[string]*tensor.Dense, error) {
	name := f.weightsName()
	file, size, err := f.open(name, sizeLimit(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, f.noWeights(err)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if f.sums == nil {
		params, err := readWeights(name, file, size, shapes)
		return params, named(name, err)
	}
	hash := sha256.New()
	all := io.TeeReader(file, hash)
	params, err := readWeights(name, all, size, shapes)
	if _, err := io.Copy(io.Discard, all); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, bare(err))
	}
	if err := f.compare(name, hash.Sum(nil)); err != nil {
		return nil, err
	}
	return params, named(name, err)
}

// open opens a regular file of at most limit bytes. It looks before it opens,
// for opening a pipe would wait for a writer.
func (f folder) open(name string, limit int64) (fs.File, int64, error) {
	info, err := fs.Stat(f.files, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, fmt.Errorf("no %s (%w): %s; %s are needed", name, fs.ErrNotExist, f.contents(), wantedFiles)
	case err != nil:
		return nil, 0, fmt.Errorf("%s: %w", name, bare(err))
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s is not a regular file", name)
	case info.Size() > limit:
		return nil, 0, fmt.Errorf("%s has %d bytes, more than any model of this kind (%d)", name, info.Size(), limit)
	}
	file, err := f.files.Open(name)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", name, bare(err))
	}
	return file, info.Size(), nil
}

// contents says what the folder holds, for an error about what it lacks.
func (f folder) contents() string {
	entries, err := fs.ReadDir(f.files, ".")
	if err != nil {
		return "its contents cannot be listed"
	}
	if len(entries) == 0 {
		return "the folder is empty"
	}
	const most = 12
	var names []string
	for _, e := range entries[:min(most, len(entries))] {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		names = append(names, fmt.Sprintf("%q", name))
	}
	if more := len(entries) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return "the folder holds " + strings.Join(names, ", ")
}

func (f folder) compare(name string, sum []byte) error {
	want, recorded := f.sums[name]
	if got := hex.EncodeToString(sum); recorded && got != want {
		return fmt.Errorf("%s: %w: sha256 is %s, recorded when it was fetched: %s", name, errChanged, got, want)
	}
	return nil
}

// named puts a file's name before an error.
func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// bare is an error without operation and path, for messages that name the path.
func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
