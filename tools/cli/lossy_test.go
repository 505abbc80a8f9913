package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// stuck is a pipe that nobody reads.
type stuck chan struct{}

func (s stuck) Write(p []byte) (int, error) { <-s; return len(p), nil }

// P7: all that is written comes, in order; and a writer that takes nothing holds
// up neither who writes nor who closes.
func TestLossy(t *testing.T) {
	var out bytes.Buffer
	l := NewLossy(&out)
	var want strings.Builder
	for i := range 100 {
		fmt.Fprintln(l, i)
		fmt.Fprintln(&want, i)
	}
	l.Close()
	if out.String() != want.String() {
		t.Errorf("what came is %q", out.String())
	}
	fmt.Fprintln(l, "too late, which is no mistake")
	s := make(stuck)
	defer close(s)
	l = NewLossy(s)
	start := time.Now()
	for range 100_000 {
		if n, err := fmt.Fprintln(l, "text"); n != 5 || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	l.Close()
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("that took %v", took)
	}
}
