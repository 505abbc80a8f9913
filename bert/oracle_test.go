package bert

import (
	"math"
	"testing"

	"gorgonia.org/tensor"

	"smart-connections-mcp/simd"
)

// oracle is BERT once more, in float64, with gorgonia's products and softmax:
// slow, exact far beyond float32, and sharing no arithmetic with the model.
type oracle struct {
	t      *testing.T
	c      Config
	params map[string]*tensor.Dense
}

// vector is the mean-pooled unit vector of ids.
func (o oracle) vector(ids []int) []float64 {
	T, H, D := len(ids), o.c.Hidden, o.c.head()
	x := make([]float64, 0, T*H) // [T×H]
	word, position, kind := o.param("embeddings.word_embeddings.weight"), o.param("embeddings.position_embeddings.weight"), o.param("embeddings.token_type_embeddings.weight")
	for t, id := range ids {
		for h := range H {
			x = append(x, word[id*H+h]+position[t*H+h]+kind[h])
		}
	}
	o.norm(x, "embeddings.LayerNorm")
	for i := range o.c.Layers {
		layer := "encoder.layer." + string(rune('0'+i)) + "."
		q := o.linear(x, T, layer+"attention.self.query")
		k := o.linear(x, T, layer+"attention.self.key")
		v := o.linear(x, T, layer+"attention.self.value")
		context := make([]float64, T*H)
		for at := 0; at < H; at += D {
			scores := o.product(block(q, T, H, at, D), transpose(block(k, T, H, at, D), T, D), T, D, T)
			for j := range scores {
				scores[j] /= math.Sqrt(float64(D))
			}
			read := o.product(o.softmax(scores, T), block(v, T, H, at, D), T, T, D)
			for t := range T {
				copy(context[t*H+at:][:D], read[t*D:])
			}
		}
		accumulate(x, o.linear(context, T, layer+"attention.output.dense"))
		o.norm(x, layer+"attention.output.LayerNorm")
		inner := o.linear(x, T, layer+"intermediate.dense")
		for j, v := range inner {
			inner[j] = v / 2 * (1 + math.Erf(v/math.Sqrt2))
		}
		accumulate(x, o.linear(inner, T, layer+"output.dense"))
		o.norm(x, layer+"output.LayerNorm")
	}
	return unitMean(x, H)
}

func (o oracle) param(name string) []float64 {
	var out []float64
	for _, v := range wide(o.params[name]) {
		out = append(out, float64(v))
	}
	return out
}

// linear is x·wᵀ + b.
func (o oracle) linear(x []float64, T int, name string) []float64 {
	w, b := o.param(name+".weight"), o.param(name+".bias")
	out, in := len(b), len(w)/len(b)
	y := o.product(x, transpose(w, out, in), T, in, out)
	for i := range y {
		y[i] += b[i%out]
	}
	return y
}

func (o oracle) product(a, b []float64, n, k, m int) []float64 {
	o.t.Helper()
	c, err := tensor.MatMul(
		tensor.New(tensor.WithShape(n, k), tensor.WithBacking(a)),
		tensor.New(tensor.WithShape(k, m), tensor.WithBacking(b)))
	if err != nil {
		o.t.Fatal(err)
	}
	return c.Data().([]float64)
}

// softmax is taken over each row of [T×T].
func (o oracle) softmax(scores []float64, T int) []float64 {
	o.t.Helper()
	c, err := tensor.SoftMax(tensor.New(tensor.WithShape(T, T), tensor.WithBacking(scores)), 1)
	if err != nil {
		o.t.Fatal(err)
	}
	return c.Data().([]float64)
}

func (o oracle) norm(x []float64, name string) {
	gamma, beta := o.param(name+".weight"), o.param(name+".bias")
	H := len(gamma)
	for row := 0; row < len(x); row += H {
		var mean, variance float64
		for _, v := range x[row : row+H] {
			mean += v / float64(H)
		}
		for _, v := range x[row : row+H] {
			variance += (v - mean) * (v - mean) / float64(H)
		}
		for h := range H {
			x[row+h] = (x[row+h]-mean)/math.Sqrt(variance+float64(o.c.Eps))*gamma[h] + beta[h]
		}
	}
}

func accumulate(x, y []float64) {
	for i := range x {
		x[i] += y[i]
	}
}

func transpose(a []float64, rows, cols int) []float64 {
	out := make([]float64, len(a))
	for r := range rows {
		for c := range cols {
			out[c*rows+r] = a[r*cols+c]
		}
	}
	return out
}

// block copies width columns of a [rows×stride], from column at.
func block(a []float64, rows, stride, at, width int) []float64 {
	var out []float64
	for r := range rows {
		out = append(out, a[r*stride+at:][:width]...)
	}
	return out
}

func unitMean(x []float64, H int) []float64 {
	sum := make([]float64, H)
	for i, v := range x {
		sum[i%H] += v
	}
	var norm float64
	for _, v := range sum {
		norm += v * v
	}
	for i := range sum {
		sum[i] /= math.Sqrt(norm)
	}
	return sum
}

// The model against exact arithmetic, on short texts of every class; and, to
// see whose rounding a difference from the goldens is, onnxruntime too.
func TestEmbedOracle(t *testing.T) {
	skipShort(t)
	for _, f := range fixtures[:2] {
		t.Run(f.name, func(t *testing.T) {
			c := f.checkpoint(t)
			m, o := build(t, c, Profile{}), oracle{t, c.Config, c.Params}
			var ours, theirs float64
			compared := 0
			for i, g := range f.goldens(t) {
				if len(g.IDs) > 64 || i%6 != 0 {
					continue
				}
				exact := make([]float32, m.Dims())
				for j, v := range o.vector(g.IDs) {
					exact[j] = float32(v)
				}
				d := worst(embedIDs(t, m, g.Text), exact)
				if d > vectorTolerance {
					t.Errorf("%s: the vector is %.2g off exact arithmetic, want at most %g", g.ID, d, vectorTolerance)
				}
				ours, theirs = max(ours, d), max(theirs, worst(g.Vec, exact))
				compared++
			}
			t.Logf("%d vectors on %s, worst %.3g off exact arithmetic (onnxruntime %.3g)", compared, simd.Active(), ours, theirs)
			if compared < 50 {
				t.Error("too few texts")
			}
		})
	}
}
