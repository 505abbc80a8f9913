package measure

import (
	"context"
	"runtime"
	"slices"
	"time"

	"smart-connections-mcp/smartenv"
)

// A Step is something that is timed.
type Step struct {
	Name       string
	Runs       int
	Warm       bool // it is done once before, untimed
	NeedsModel bool
	Do         func(ctx context.Context) error
}

// Timing is how long a step took, in milliseconds.
type Timing struct {
	Name        string  `json:"name"`
	Runs        int     `json:"runs"`
	Min         float64 `json:"min_ms"`
	Median      float64 `json:"median_ms"`
	Max         float64 `json:"max_ms"`
	NotMeasured string  `json:"not_measured,omitempty"`
}

// steps are all that is timed: loading the index anew with its files in the
// system's cache, asking for it again, asking again when it is time to look
// whether the files have changed, which they have not; loading the model; and
// the Subject's own.
func (s Subject) steps(snap *smartenv.Snapshot) []Step {
	impatient := s.Options
	impatient.Recheck = time.Nanosecond
	again := smartenv.Open(s.Vault, impatient)
	ask := func(ctx context.Context, x *smartenv.Index) error {
		_, err := x.Snapshot(ctx)
		return err
	}
	return append([]Step{
		{Name: "index, cold load", Runs: 5, Do: func(ctx context.Context) error { return ask(ctx, smartenv.Open(s.Vault, s.Options)) }},
		{Name: "index, warm load", Runs: 20, Warm: true, Do: func(ctx context.Context) error { return ask(ctx, s.Index) }},
		{Name: "index, warm, files rechecked", Runs: 20, Warm: true, Do: func(ctx context.Context) error { return ask(ctx, again) }},
		{Name: "model, load", Runs: 3, NeedsModel: true, Do: func(ctx context.Context) error {
			_, err := s.Load(ctx, snap.Model)
			return err
		}},
	}, s.Steps(snap)...)
}

// timings does the steps one after the other. A step that returns an error is
// reported as not measured; only ctx ends the rest.
func timings(ctx context.Context, steps []Step, haveModel bool, o Options) ([]Timing, error) {
	all := []Timing{}
	for i, step := range steps {
		o.Progress("timings", i, len(steps))
		if step.NeedsModel && !haveModel {
			all = append(all, Timing{Name: step.Name, NotMeasured: errNoModel.Error()})
			continue
		}
		all = append(all, step.time(ctx))
		if ctx.Err() != nil {
			return all, ctx.Err()
		}
	}
	o.Progress("timings", len(steps), len(steps))
	return all, nil
}

func (s Step) time(ctx context.Context) Timing {
	t := Timing{Name: s.Name}
	runtime.GC() // what earlier steps left behind is not to be paid for here
	if s.Warm {
		if err := s.Do(ctx); err != nil {
			t.NotMeasured = err.Error()
			return t
		}
	}
	var took []time.Duration
	for range s.Runs {
		start := time.Now()
		if err := s.Do(ctx); err != nil {
			t.NotMeasured = err.Error()
			return t
		}
		took = append(took, time.Since(start))
	}
	t.summarise(took)
	return t
}

// summarise fills in the figures; of an even number of runs the median is the
// mean of the middle two.
func (t *Timing) summarise(took []time.Duration) {
	if t.Runs = len(took); t.Runs == 0 {
		return
	}
	slices.Sort(took)
	t.Min, t.Max = milliseconds(took[0]), milliseconds(took[len(took)-1])
	t.Median = milliseconds(took[(len(took)-1)/2]+took[len(took)/2]) / 2
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
