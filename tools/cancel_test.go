package tools

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"smart-connections-mcp/smartenv"
)

// P5: whatever a call waits for or does, its work ends soon after it is cancelled;
// so it does when the session ends. What is begun for later calls, too, goes on.
func TestCancelledWorkEnds(t *testing.T) {
	block := func(s *Server, begun chan struct{}) { // weights that take long
		s.embedder = func(ctx context.Context, _ smartenv.Model) (Embedder, error) {
			begun <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}
	full := func(s *Server, begun chan struct{}) { // processors that are all at work
		for range cap(s.cpu) {
			s.cpu <- struct{}{}
		}
		begun <- struct{}{}
	}
	for _, tt := range []struct {
		name, arguments string
		tool            tool
		prepare         func(s *Server, begun chan struct{})
	}{
		{"search in a download", `{"query":"rose"}`, searchNotes(), block},
		{"search behind others", `{"query":"rose"}`, searchNotes(), full},
		{"related behind others", `{"path":"Garden/Roses.md"}`, relatedNotes(), full},
		{"connections behind others", `{"path":"Garden/Roses.md"}`, connectionGraph(), full},
		{"search in the embedding", `{"query":"rose"}`, searchNotes(), func(s *Server, begun chan struct{}) {
			s.embedder = func(context.Context, smartenv.Model) (Embedder, error) {
				return embedderFunc(func(ctx context.Context, _ string) ([]float32, error) {
					begun <- struct{}{}
					for ctx.Err() == nil { // as a model does between two layers
						runtime.Gosched()
					}
					return nil, ctx.Err()
				}), nil
			}
		}},
		{"search in the proof", `{"query":"rose"}`, searchNotes(), func(s *Server, begun chan struct{}) {
			s.embedder = func(context.Context, smartenv.Model) (Embedder, error) { return unproved{begun}, nil }
		}},
	} {
		for _, ended := range []string{"call", "session"} {
			t.Run(tt.name+", "+ended, func(t *testing.T) {
				s := serverOf(t, vaultNotes())
				begun, stopped := make(chan struct{}, 10), make(chan struct{})
				tt.prepare(s, begun)
				run := tt.tool.run
				tt.tool.run = func(ctx context.Context, s *Server, a *args) (any, error) {
					defer close(stopped)
					return run(ctx, s, a)
				}
				life, end := context.WithCancel(t.Context())
				defer end()
				call, cancel := context.WithCancel(t.Context())
				defer cancel()
				answered := make(chan error, 1)
				go func() {
					_, err := s.answer(life, call, tt.tool, []byte(tt.arguments))
					answered <- err
				}()
				<-begun
				time.Sleep(5 * time.Millisecond)
				start := time.Now()
				if ended == "call" {
					cancel()
				} else {
					end()
				}
				select {
				case <-stopped:
				case <-time.After(proofPatience / 2): // less than anything that is waited for
					t.Fatal("the work goes on")
				}
				t.Logf("the work has ended after %v", time.Since(start))
				if err := <-answered; err == nil || ended == "call" && !errors.Is(err, context.Canceled) {
					t.Errorf("answer = %v, want an error", err)
				}
			})
		}
	}
}

// unproved embeds queries at once, and documents never.
type unproved struct{ begun chan struct{} }

func (unproved) Embed(ctx context.Context, text string) ([]float32, error) {
	return wordEmbedder{}.Embed(ctx, text)
}

func (u unproved) EmbedDocument(ctx context.Context, _ string) ([]float32, error) {
	u.begun <- struct{}{}
	time.Sleep(2 * proofPatience)
	return nil, errNotProved
}
