package smartenv

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
)

// A store reads each row once until it moves, has every row that was asked for,
// never changes what it has handed out, and lets go of what nobody asks for.
func TestStore(t *testing.T) {
	const dims = 2
	rng := rand.New(rand.NewPCG(3, 9))
	var reads atomic.Int64
	vector := func(row int64) []float32 { return []float32{0.6, []float32{0.8, -0.8}[row%2]} }
	scale := func(row int64) float32 { return []float32{1, 2, 0}[row%3] } // as they are, of another length, and without a direction
	read := func(_ context.Context, dst []float32, rows []int64, dims int) error {
		reads.Add(int64(len(rows)))
		for i, row := range rows {
			for j, value := range vector(row) {
				dst[i*dims+j] = scale(row) * value
			}
		}
		return nil
	}
	type handedOut struct{ vectors, copy []float32 }
	var st store
	var all []handedOut
	var rows []int64
	moves, end := 0, int64(0)
	for range 60 {
		for range rng.IntN(40) { // rows are appended, and some of the older are given up
			rows = append(rows, end)
			end++
		}
		if n := len(rows); n > 50 {
			rng.Shuffle(n, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			rows = rows[:n-rng.IntN(20)]
		}
		before, room := reads.Load(), cap(st.vectors)
		fresh := 0
		for _, row := range rows {
			if row >= int64(len(st.states)) || st.states[row] == rowUnread {
				fresh++
			}
		}
		if err := st.load(t.Context(), read, rows, dims, unitTolerance); err != nil {
			t.Fatal(err)
		}
		if got := int(reads.Load() - before); got != fresh {
			t.Fatalf("%d rows were read, want the %d that were not there", got, fresh)
		}
		if cap(st.vectors) != room {
			moves++
			if len(st.rows) != len(rows) {
				t.Fatalf("%d rows moved, want the %d that are asked for", len(st.rows), len(rows))
			}
		}
		for _, row := range rows {
			want := []rowState{rowUnit, rowScaled, rowZero}[row%3]
			got := st.vectors[int(st.places[row])*dims:][:dims]
			if st.states[row] != want || want != rowZero && !slices.Equal(got, vector(row)) {
				t.Fatalf("row %d = %v, %v, want %v, %v", row, got, st.states[row], vector(row), want)
			}
		}
		all = append(all, handedOut{st.vectors, slices.Clone(st.vectors)})
	}
	for i, h := range all {
		if !slices.Equal(h.vectors, h.copy) {
			t.Fatalf("what load %d handed out has changed", i)
		}
	}
	if moves < 3 || moves > 20 {
		t.Errorf("moved %d times in 60 loads, want now and then", moves)
	}
	failure := errors.New("gone")
	fails := func(context.Context, []float32, []int64, int) error { return failure }
	if err := st.load(t.Context(), fails, []int64{end}, dims, unitTolerance); err != failure {
		t.Errorf("load = %v, want the error of reading", err)
	}
}

// A multifile that was written anew in place and is longer than before looks like
// one that grew; the bytes before its old end tell, and all rows are read again.
func TestVectorsRewrittenInPlace(t *testing.T) {
	for _, folder := range []string{noteRows, blockRows} {
		v := newFakeVault(t)
		v.vectors(noteRows, 1)
		v.vectors(blockRows, 1)
		block := map[string]any{"#A": fakeBlock(1, 1, "text", 0)}
		v.write("a.md", "text")
		v.log(v.record("a.md", "text", 0, block))
		x := openIndex(t, v.dir, Options{Recheck: 1})
		axes := func() [2]int {
			snap, err := x.Snapshot(t.Context())
			if err != nil || snap.Behind != "" {
				t.Fatal(err, snap)
			}
			return [2]int{slices.Index(snap.Notes.Row(0), 1), slices.Index(snap.Blocks.Row(0), 1)}
		}
		if got := axes(); got != [2]int{1, 1} {
			t.Fatalf("axes = %v, want 1 and 1", got)
		}
		v.vectors(folder, 3)
		if got := axes(); got != [2]int{1, 1} {
			t.Errorf("%s grew: axes = %v, want 1 and 1", folder, got)
		}
		v.write(folder+fakeModel.Fingerprint(), string(packRows(5, 3, 4)))
		want := [2]int{5, 1}
		if folder == blockRows {
			want = [2]int{1, 5}
		}
		if got := axes(); got != want {
			t.Errorf("%s was written anew: axes = %v, want %v", folder, got, want)
		}
	}
}

// A store that is given the same vectors in other rows finds them in its buffer,
// those of which there are two included, and reads the rest; what was handed out
// stays.
func TestStoreRenumbered(t *testing.T) {
	const dims = 3
	rng := rand.New(rand.NewPCG(5, 3))
	var file [][]float32
	read := func(_ context.Context, dst []float32, rows []int64, dims int) error {
		for i, row := range rows {
			copy(dst[i*dims:], file[row])
		}
		return nil
	}
	random := func() []float32 {
		row := []float32{rng.Float32() + 0.1, rng.Float32(), rng.Float32()}
		if kind := repair(slices.Clone(row), unitTolerance); kind == rowScaled && rng.IntN(2) == 0 {
			repair(row, unitTolerance)
		}
		return row
	}
	var st store
	for round := range 30 {
		for range rng.IntN(20) {
			file = append(file, random())
		}
		if len(file) > 4 { // two that are equal, one that has no direction, one that is none
			file[0], file[1], file[2] = slices.Clone(file[3]), []float32{0, 0, 0}, []float32{float32(math.NaN()), 0, 1}
		}
		rng.Shuffle(len(file), func(i, j int) { file[i], file[j] = file[j], file[i] })
		file = file[:len(file)-rng.IntN(1+len(file)/4)]
		var rows []int64
		for row := range file {
			if rng.IntN(8) > 0 {
				rows = append(rows, int64(row))
			}
		}
		before, copied := st.vectors, slices.Clone(st.vectors)
		st.renumber()
		if err := st.load(t.Context(), read, rows, dims, unitTolerance); err != nil {
			t.Fatal(err)
		}
		seen := map[int32]bool{}
		for _, row := range rows {
			want := slices.Clone(file[row])
			state, place := repair(want, unitTolerance), st.places[row]
			if st.states[row] != state || state.bad() == "" && !slices.Equal(st.at(place), want) || seen[place] || st.rows[place] != row {
				t.Fatalf("round %d: row %d = %v at %d, %v; want %v, %v", round, row, st.at(place), place, st.states[row], want, state)
			}
			seen[place] = true
		}
		for i := range copied {
			if math.Float32bits(before[i]) != math.Float32bits(copied[i]) {
				t.Fatalf("round %d: what was handed out has changed", round)
			}
		}
	}
}
