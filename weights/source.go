package weights

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"smart-connections-mcp/bert"
	"smart-connections-mcp/weights/builtin"
)

// DefaultEndpoint is the hub that is asked when Source names none.
const DefaultEndpoint = "https://huggingface.co"

// Source says where models come from. The zero value finds the built-in model
// only; main fills it from flags and environment. It is not changed by use and
// may be shared; two loads of one model at once, also by two processes, both
// end well.
type Source struct {
	ModelPath string       // SMART_MODEL_PATH: a model folder that serves every name; "" = none
	CacheDir  string       // SMART_MODEL_CACHE or DefaultCacheDir
	Endpoint  string       // HF_ENDPOINT; "" = DefaultEndpoint
	Client    *http.Client // nil = one that honours HTTPS_PROXY, HTTP_PROXY and NO_PROXY
	Progress  io.Writer    // where a download reports itself, for a terminal; nil = nowhere
	Log       *slog.Logger // nil = nowhere

	// For tests.
	pins   map[string]pin // nil = knownPins()
	limits limits
	disk   disk
	lock   func(*os.File) (lockState, error) // nil = tryLock
}

// limits are the patience of a download; tests shorten them.
type limits struct {
	idle time.Duration // without dripBytes for so long, a connection is given up
	wait time.Duration // before the second attempt; doubled for each further one
}

const (
	defaultIdle = 60 * time.Second
	defaultWait = 500 * time.Millisecond
)

// wayOut ends the errors that a model at hand would mend.
const wayOut = "set SMART_MODEL_PATH to a folder with " + wantedFiles

// Load returns the model of that name, from the first place that has it: the
// folder ModelPath, the program itself (for builtin.Name only), the cache, what
// the predecessor left there, the hub. What the hub sends is kept in the cache.
// Errors tell what to do.
func (s Source) Load(ctx context.Context, model string) (bert.Checkpoint, error) {
	if s.ModelPath != "" {
		c, err := Folder(s.ModelPath)
		if err == nil && model != "" {
			c.Name = model
		}
		return c, err
	}
	if model == builtin.Name {
		return Builtin()
	}
	dir, err := s.modelDir(model)
	if err != nil {
		return bert.Checkpoint{}, err
	}
	c, err := loadCached(s.disk, dir)
	if errors.Is(err, errNotCached) {
		var why error
		if c, why = s.predecessors(model); why == nil {
			return c, nil
		}
		if err := s.fetch(ctx, model, dir); err != nil {
			if !errors.Is(why, errNotCached) {
				err = fmt.Errorf("%w (%w)", err, why)
			}
			return bert.Checkpoint{}, fmt.Errorf("fetching the model %s: %w", model, err)
		}
		c, err = loadCached(s.disk, dir)
	}
	if err != nil {
		return bert.Checkpoint{}, fmt.Errorf("model %s in the cache: %w", model, err)
	}
	c.Name = model
	return c, nil
}

// Cached says whether Load should find a model without asking the hub. It does
// not look into files.
func (s Source) Cached(model string) bool {
	if s.ModelPath != "" || model == builtin.Name {
		return true
	}
	dir, err := s.modelDir(model)
	if err != nil {
		return true // nothing can be fetched
	}
	if _, err := cachedSums(s.disk, dir); !errors.Is(err, errNotCached) {
		return true
	}
	_, err = os.Stat(filepath.Join(s.CacheDir, filepath.FromSlash(model), filepath.FromSlash(onnxFile))) // the predecessor's
	return err == nil
}

// hubName is an owner and a model as the hub allows them. Neither begins with a
// dot or a dash, so the name is safe as a path of a URL; with "--" and ".."
// excluded, which the hub does too, owner--model is a safe folder name.
var hubName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,95}/[A-Za-z0-9_][A-Za-z0-9._-]{0,95}$`)

// modelDir is the model's folder in the cache.
func (s Source) modelDir(model string) (string, error) {
	if !hubName.MatchString(model) || strings.Contains(model, "--") || strings.Contains(model, "..") {
		return "", fmt.Errorf("%q is no model name of the form owner/model: %s", model, wayOut)
	}
	if s.CacheDir == "" {
		return "", fmt.Errorf("no cache folder for the model %s: set SMART_MODEL_CACHE to a folder, or %s", model, wayOut)
	}
	return filepath.Join(s.CacheDir, "models", strings.ReplaceAll(model, "/", "--")), nil
}

// pin is what is known of a model's name.
func (s Source) pin(model string) pin {
	if s.pins != nil {
		return s.pins[model]
	}
	return knownPins()[model]
}

func (s Source) log() *slog.Logger {
	if s.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.Log
}
