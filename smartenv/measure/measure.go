package measure

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"smart-connections-mcp/simd"
	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
	"smart-connections-mcp/smartenv/parallel"
)

// Subject is a vault with what measures it.
type Subject struct {
	Vault   *note.Vault
	Index   *smartenv.Index  // the one that answers
	Options smartenv.Options // of Index, to load it anew
	// Load loads a model anew; its error says why there is none.
	Load func(ctx context.Context, id smartenv.Model) (Model, error)
	// Steps are what else is timed, in this order.
	Steps func(snap *smartenv.Snapshot) []Step
}

// Model is what the vault's vectors were made by. Its functions are called by
// several goroutines at once.
type Model struct {
	Fit   func(text string) string // the beginning of a document that the model sees, as the plugin's token loop cuts it
	Embed func(ctx context.Context, query string) ([]float32, error)
}

// Options choose the sample of quotes. Progress, unless nil, is told how far a
// stage is, never by two goroutines at once.
type Options struct {
	Sample   int    // quotes; 0 or less means one of every note that is long enough
	Seed     uint64 // of the sample, so that a run can be repeated
	Progress func(stage string, done, total int)
}

// Report is the outcome of one run.
type Report struct {
	Model       string   `json:"model"`
	Fingerprint string   `json:"fingerprint"`
	Generation  string   `json:"generation"`
	NoModel     string   `json:"no_model,omitempty"` // why the model is not at hand, and what needs it not measured
	Machine     Machine  `json:"machine"`
	Coverage    Coverage `json:"coverage"`
	Recall      Recall   `json:"recall"`
	Timings     []Timing `json:"timings"`
	Remarks     []string `json:"remarks"` // sentences on what the figures leave out or take for granted
}

// Machine is where the timings were taken.
type Machine struct {
	Platform   string `json:"platform"`
	Processors int    `json:"processors"`
	SIMD       string `json:"simd"`
	Go         string `json:"go"`
}

// errNoVectors says that there is nothing to measure.
var errNoVectors = errors.New("the index holds no vector that can be ranked, so there is nothing to measure: open the vault in Obsidian and let Smart Connections embed it")

// Run measures a vault. Notes that cannot be read, and vectors of an earlier
// text, are counted and left out; without a model, what needs one is left out. The
// error says that nothing could be measured, or is that of ctx.
func Run(ctx context.Context, s Subject, o Options) (Report, error) {
	snap, err := s.Index.Snapshot(ctx)
	if err != nil {
		return Report{}, err
	}
	r := Report{
		Model: snap.Model.Name, Fingerprint: snap.Fingerprint, Generation: snap.Generation,
		Machine: Machine{runtime.GOOS + "/" + runtime.GOARCH, runtime.NumCPU(), simd.Active().String(), runtime.Version()},
		Remarks: []string{},
	}
	if snap.Refusal != nil {
		return r, snap.Refusal
	}
	if len(snap.Notes.Items)+len(snap.Blocks.Items) == 0 {
		return r, errNoVectors
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	model, err := s.Load(ctx, snap.Model)
	if err != nil {
		model, r.NoModel = Model{}, err.Error()
	}
	pages, err := r.cover(ctx, s.Vault, snap, model, o)
	if err != nil {
		return r, err
	}
	if r.Recall, err = recall(ctx, snap, model, o, pages); err != nil {
		return r, err
	}
	r.Timings, err = timings(ctx, s.steps(snap), r.NoModel == "", o)
	return r, err
}

// errNoModel is why a part is not measured; Report.NoModel says more.
var errNoModel = errors.New("there is no model at hand")

// each calls work for 0 to n-1 on all processors and reports each as done. The
// error is the first that work returned, or that of ctx.
func each(ctx context.Context, o Options, stage string, n int, work func(ctx context.Context, i int) error) error {
	outer := ctx
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var reporting sync.Mutex
	done := 0
	parallel.Do(runtime.GOMAXPROCS(0), n, 1, func(i, _ int) {
		if ctx.Err() != nil {
			return
		}
		if err := work(ctx, i); err != nil {
			stop(err)
			return
		}
		reporting.Lock()
		defer reporting.Unlock()
		done++
		o.Progress(stage, done, n)
	})
	if err := outer.Err(); err != nil {
		return err
	}
	return context.Cause(ctx)
}
