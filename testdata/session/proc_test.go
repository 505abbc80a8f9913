package session

import "testing"

func TestStatus(t *testing.T) {
	const status = "Name:\tsmart\nVmHWM:\t  528000 kB\nVmRSS:\t   30000 kB\nThreads:\t7\n"
	for field, want := range map[string]float64{"VmHWM": 540.672, "VmRSS": 30.72} {
		if got, err := statusSize(status, field); err != nil || got != want {
			t.Errorf("statusSize(%s) = %v, %v, want %v", field, got, err, want)
		}
	}
	if _, err := statusSize(status, "Threads"); err == nil {
		t.Error("statusSize took a count for a size")
	}
}
