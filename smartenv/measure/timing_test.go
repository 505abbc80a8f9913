package measure

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"smart-connections-mcp/smartenv"
)

func TestTimings(t *testing.T) {
	calls := map[string]int{}
	step := func(name string, warm, model bool, err error) Step {
		return Step{Name: name, Runs: 3, Warm: warm, NeedsModel: model, Do: func(context.Context) error {
			calls[name]++
			time.Sleep(2 * time.Millisecond)
			return err
		}}
	}
	steps := []Step{step("cold", false, false, nil), step("warm", true, false, nil), step("model", true, true, nil), step("broken", false, false, errors.New("no luck"))}
	var told []int
	got, err := timings(t.Context(), steps, false, Options{Progress: func(_ string, done, _ int) { told = append(told, done) }})
	if err != nil || len(got) != 4 {
		t.Fatalf("timings = %+v, %v, want 4", got, err)
	}
	for _, timing := range got[:2] {
		if timing.Runs != 3 || timing.Min < 2 || timing.Median < timing.Min || timing.Max < timing.Median || timing.NotMeasured != "" {
			t.Errorf("timing %+v, want three runs of at least 2 ms, in order", timing)
		}
	}
	if calls["cold"] != 3 || calls["warm"] != 4 || calls["model"] != 0 || calls["broken"] != 1 {
		t.Errorf("steps were done %v times, want cold 3, warm 4, model never, broken once", calls)
	}
	if got[2].NotMeasured != errNoModel.Error() || got[3].NotMeasured != "no luck" {
		t.Errorf("%+v and %+v, want both not measured, with the reason", got[2], got[3])
	}
	if !slices.Equal(told, []int{0, 1, 2, 3, 4}) {
		t.Errorf("progress %v", told)
	}
}

func TestTimingSummarise(t *testing.T) {
	tests := []struct {
		took []time.Duration
		want Timing
	}{
		{nil, Timing{}},
		{[]time.Duration{3000, 1000, 8000}, Timing{Runs: 3, Min: 0.001, Median: 0.003, Max: 0.008}},
		{[]time.Duration{4000, 1000, 8000, 2000}, Timing{Runs: 4, Min: 0.001, Median: 0.003, Max: 0.008}},
	}
	for _, test := range tests {
		var got Timing
		if got.summarise(test.took); got != test.want {
			t.Errorf("summarise(%v) = %+v, want %+v", test.took, got, test.want)
		}
	}
}

// The index and the model are timed before what else the caller asks for.
func TestSteps(t *testing.T) {
	s := subject(t, fakeVault(t, "", covered()...), Model{})
	s.Steps = func(snap *smartenv.Snapshot) []Step {
		return []Step{{Name: "mine", Runs: 2, Do: func(context.Context) error {
			if len(snap.Notes.Items) == 0 {
				return errors.New("no snapshot")
			}
			return nil
		}}}
	}
	var names []string
	for _, timing := range run(t, s, Options{}).Timings {
		names = append(names, timing.Name)
		if timing.NotMeasured != "" && timing.Name != "model, load" || timing.NotMeasured == "" && timing.Runs == 0 {
			t.Errorf("%+v, want it measured", timing)
		}
	}
	want := []string{"index, cold load", "index, warm load", "index, warm, files rechecked", "model, load", "mine"}
	if !slices.Equal(names, want) {
		t.Errorf("timings of %q, want %q", names, want)
	}
}
