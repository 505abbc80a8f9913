package tools

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"weak"

	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/verify"
)

// proofPatience is how long a semantic answer waits for a proof that is being
// made. It takes a fraction of a second, once.
const proofPatience = 2 * time.Second

// A proof is what is known of whether queries are embedded as the plugin embedded
// the notes. Wrong weights and a wrong profile raise no error anywhere else.
type proof struct {
	model  smartenv.Model
	of     weak.Pointer[smartenv.Snapshot] // must not keep it
	done   chan struct{}                   // closed when what follows is known
	result verify.Agreement
	err    error // why nothing can be said
}

// proofs holds the proof of one model at a time.
type proofs struct {
	mu      sync.Mutex
	current *proof
}

// prove begins to prove the embedder on the snapshot, unless its model is already
// proved or is being proved. A proof that found nothing to compare is made again
// when there is another snapshot.
func (s *Server) prove(ctx context.Context, snap *smartenv.Snapshot, e Embedder) *proof {
	s.proofs.mu.Lock()
	defer s.proofs.mu.Unlock()
	if p := s.proofs.current; p != nil && p.model == snap.Model && (!p.ended() || p.result.Compared > 0 || p.of == weak.Make(snap)) {
		return p
	}
	p := &proof{model: snap.Model, of: weak.Make(snap), done: make(chan struct{})}
	s.proofs.current = p
	ctx = context.WithoutCancel(ctx) // it is for later calls, too
	go func() {
		defer close(p.done)
		defer func() {
			if panicked := recover(); panicked != nil {
				p.err = s.panicked("proving the model", panicked)
			}
		}()
		p.result, p.err = verify.Probe(ctx, s.vault, snap, func(ctx context.Context, text string) (vector []float32, err error) {
			err = s.compute(ctx, func() error {
				vector, err = e.EmbedDocument(ctx, text)
				return err
			})
			return vector, err
		})
		if p.err != nil {
			s.log.Warn("proving the model", "model", snap.Model.Name, "err", p.err)
		}
	}()
	return p
}

func (p *proof) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// wait returns when the proof has ended, or patience or ctx has.
func (p *proof) wait(ctx context.Context) {
	timer := time.NewTimer(proofPatience)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// The verdicts of a proof.
const (
	proofPending = "pending" // it is being made, or the weights are not loaded
	proofNone    = "nothing to compare"
	proofFailed  = "failed"
	proofAgrees  = "agrees"
	proofDiffers = "differs"
	proofRefused = "refused"
)

// verdict judges what is known by now. A nil proof is pending.
func (p *proof) verdict() string {
	switch {
	case p == nil || !p.ended():
		return proofPending
	case p.err != nil:
		return proofFailed
	case p.result.Compared == 0:
		return proofNone
	case p.result.Cosine < verify.Refused:
		return proofRefused
	case p.result.Cosine < verify.Floor:
		return proofDiffers
	}
	return proofAgrees
}

// finding says what a proof found that went wrong; "" when nothing did.
func (p *proof) finding() string {
	verdict := p.verdict()
	if verdict != proofDiffers && verdict != proofRefused {
		return ""
	}
	return fmt.Sprintf("%d stored texts, embedded again with the weights at hand, agree with their stored vectors by %.3f only (cosine; %.2f or more is expected of %s)",
		p.result.Compared, p.result.Cosine, verify.Floor, p.model.Name)
}

// warning is what every semantic answer must say; "" when there is nothing.
func (p *proof) warning() string {
	if p.verdict() != proofDiffers {
		return ""
	}
	return "Scores are doubtful: " + p.finding() + ". The plugin may have used reduced precision, or the weights are not quite its own: run smart-connections-mcp verify."
}

// refusal is why no semantic answer is given; nil when one may be.
func (p *proof) refusal() error {
	if p.verdict() != proofRefused {
		return nil
	}
	return errors.New("search by meaning is refused, since its answers would be wrong: " + p.finding() +
		"; most likely the weights are of another model: check SMART_MODEL_PATH (--model-path) and SMART_EMBED_MODEL, or delete the model's folder in the cache, and run smart-connections-mcp verify")
}

// Proof is the part of index_status that tells whether queries are embedded as
// the notes were.
type Proof struct {
	Verdict  string  `json:"verdict"`  // pending, nothing to compare, failed, agrees, differs, refused
	Compared int     `json:"compared"` // stored items that were embedded again
	Cosine   float64 `json:"cosine"`   // the middle one of their agreements, 4 decimals
	Reason   string  `json:"reason,omitempty"`
}

// proved describes the proof of a model.
func (s *Server) proved(m smartenv.Model) (out Proof, finding string) {
	s.proofs.mu.Lock()
	p := s.proofs.current
	s.proofs.mu.Unlock()
	if p != nil && p.model != m {
		p = nil
	}
	out.Verdict = p.verdict()
	switch out.Verdict {
	case proofPending:
		return out, ""
	case proofFailed:
		out.Reason = s.scrubError(p.err).Error()
	}
	out.Compared, out.Cosine = p.result.Compared, fourDecimals(float32(p.result.Cosine))
	if err := p.refusal(); err != nil {
		return out, err.Error()
	}
	return out, p.warning()
}
