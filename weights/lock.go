package weights

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// lockFile in a model's cache folder is held by the process that fetches. It is
// never deleted: a second process might hold the deleted one.
const lockFile = ".lock"

type lockState int

const (
	lockHeld lockState = iota
	lockBusy
	lockUnsupported
)

// lockDir waits until this process alone may write in dir. held is false when
// the file system has no locks: the caller then works beside others and must
// use names of its own. release must be called in any case.
func lockDir(ctx context.Context, d disk, dir string, try func(*os.File) (lockState, error), log *slog.Logger) (release func(), held bool, err error) {
	f, err := d.open(filepath.Join(dir, lockFile))
	if err != nil {
		return func() {}, false, err
	}
	release = func() { f.Close() }
	for waited := false; ; waited = true {
		state, err := try(f.File)
		switch state {
		case lockHeld:
			return release, true, nil
		case lockUnsupported:
			log.Warn("no file locks here, going on without", "folder", dir, "error", err)
			return release, false, nil
		}
		if !waited {
			log.Info("another process fetches this model, waiting for it", "folder", dir)
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return release, false, err
		}
	}
}

// sleep waits for d or for the context's end, whose cause it returns.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
