package main

import (
	"fmt"
	"slices"
)

// times are what the slices of one side took, in milliseconds: the fastest and
// the middle of each.
type times struct{ fastest, middle []float64 }

// add takes one slice.
func (t *times) add(fastest, middle float64) {
	t.fastest = append(t.fastest, fastest)
	t.middle = append(t.middle, middle)
}

// min is the fastest of all slices, median the median of their middles. Both are
// 0 when there are none.
func (t *times) min() float64 {
	if len(t.fastest) == 0 {
		return 0
	}
	return slices.Min(t.fastest)
}

func (t *times) median() float64 { return median(t.middle) }

// median is the middle value, of an even number the mean of the two.
func median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// verdict judges a time against a share of the peer's: bar of it, by minima and
// by medians, or, where the machine's limit forbids that, within 15 % of the
// limit. A limit of 0 is not known.
func verdict(ours, peer *times, bar, limit float64) string {
	best, usual := ours.min() <= bar*peer.min(), ours.median() <= bar*peer.median()
	switch {
	case best && usual:
		return "yes"
	case limit > bar*peer.min() && ours.min() <= 1.15*limit:
		return "yes: limit"
	case best:
		return "minimum only"
	case usual:
		return "median only"
	}
	return "no"
}

// yes is the verdict on what is simply so or not.
func yes(met bool) string {
	if met {
		return "yes"
	}
	return "no"
}

// num formats with as many decimals as a reader can use; unknown, which is 0, as
// a dash.
func num(v float64) string {
	switch {
	case v == 0:
		return "–"
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// ratio is a/b, or 0 when b is not known.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// percent formats a share.
func percent(share float64) string {
	if share == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}
