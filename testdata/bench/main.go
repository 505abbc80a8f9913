// Command bench measures this program and its peer, onnxruntime in Node, in turn
// on one machine, and prints how they compare as Markdown tables:
//
//	go run ./testdata/bench            all of it, about ten minutes
//	go run ./testdata/bench -quick     a look, about two
//	go run ./testdata/bench -only initialize,memory,peak     what needs no Node
//
// Run it from the project's root, with the test data at ../shared beside it. It
// sets itself up in a work folder: a copy of ../shared/bench with its Node
// packages, the models as ONNX, our binaries, the probe of the machine's peak.
// SMART_SIMD chooses our kernels. It judges by the reach that was set for the
// project, and ends with 0 whatever the tables say.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// shared is the test data, from the project's root.
const shared = "../shared"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// part is one table or two, chosen by name.
type part struct {
	name    string
	needs   func(*bench, context.Context) error // sets up what the part runs
	measure func(*bench, context.Context) error // measures and prints
}

// parts are all there are, in the order of the report. Peak is last: what the
// rounds of embed learned of the machine goes into it.
var parts = []part{
	{"embed", (*bench).needEmbed, (*bench).embed},
	{"batch", (*bench).needEmbed, (*bench).batch},
	{"cold", (*bench).needCold, (*bench).coldStart},
	{"initialize", (*bench).needIndex, (*bench).initialize},
	{"memory", (*bench).needIndex, (*bench).memory},
	{"peak", (*bench).needPeak, (*bench).showPeak},
}

// options are the flags.
type options struct {
	only, models         []string
	lengths, threads     []int
	rounds, starts, cold int
	slice                time.Duration
	index, work, lock    string
	blocks               int
}

// quickly are the values of flags that -quick sets where none is given.
var quickly = map[string]string{"rounds": "2", "slice": "100ms", "starts": "5", "cold": "3", "lengths": "8,32,128,512", "models": "synth-bge-micro-3l"}

func parseOptions(args []string, errOut io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(errOut)
	o.define(f)
	quick := f.Bool("quick", false, "fewer rounds and lengths, the small model only")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: use flags, -help lists them", f.Arg(0))
	}
	given := map[string]bool{}
	f.Visit(func(g *flag.Flag) { given[g.Name] = true })
	for name, value := range quickly {
		if *quick && !given[name] {
			if err := f.Set(name, value); err != nil {
				return o, err
			}
		}
	}
	return o, o.check()
}

// define gives the options their defaults and flags.
func (o *options) define(f *flag.FlagSet) {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	o.only, o.models = names, []string{"synth-bge-micro-3l", "all-MiniLM-L6-v2"}
	o.lengths, o.threads = []int{8, 16, 32, 64, 128, 256, 512}, []int{1, 2}
	f.Func("only", "parts to run, of "+strings.Join(names, ","), words(&o.only, names))
	f.Func("models", "folders of ../shared/models (default "+strings.Join(o.models, ",")+")", words(&o.models, nil))
	f.Func("lengths", "tokens of the embedded texts (default 8,16,32,64,128,256,512)", numbers(&o.lengths))
	f.Func("threads", "numbers of threads (default 1,2)", numbers(&o.threads))
	f.IntVar(&o.rounds, "rounds", 5, "times that ours and the peer's slices of embed and batch take turns")
	f.DurationVar(&o.slice, "slice", 300*time.Millisecond, "time for one length in one slice, each side")
	f.IntVar(&o.starts, "starts", 20, "process starts of initialize")
	f.IntVar(&o.cold, "cold", 7, "process starts of cold, each side")
	f.StringVar(&o.index, "index", "", "vault with bge-micro-v2 vectors for initialize and memory (default: one is generated)")
	f.IntVar(&o.blocks, "blocks", 115_000, "blocks of the generated vault")
	f.StringVar(&o.work, "work", defaultWork(), "folder for what is built, copied and generated; delete it to start anew")
	f.StringVar(&o.lock, "lock", "", "file that the flock command holds during each slice, where several people measure")
}

// check refuses numbers that no measurement can come of.
func (o options) check() error {
	for name, n := range map[string]int{"rounds": o.rounds, "starts": o.starts, "cold": o.cold, "blocks": o.blocks, "slice": int(o.slice)} {
		if n < 1 {
			return fmt.Errorf("-%s must be above 0", name)
		}
	}
	return nil
}

// words parses a list with commas; known, if not nil, are all that may be in it.
func words(to *[]string, known []string) func(string) error {
	return func(s string) error {
		*to = strings.Split(s, ",")
		for _, word := range *to {
			if word == "" || known != nil && !slices.Contains(known, word) {
				return fmt.Errorf("%q is none of them", word)
			}
		}
		return nil
	}
}

// numbers parses a list of numbers above 0 with commas.
func numbers(to *[]int) func(string) error {
	return func(s string) error {
		*to = nil
		for word := range strings.SplitSeq(s, ",") {
			n, err := strconv.Atoi(word)
			if err != nil || n < 1 {
				return fmt.Errorf("%q is no number above 0", word)
			}
			*to = append(*to, n)
		}
		return nil
	}
}

func defaultWork() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "smart-connections-bench")
}

// bench is one run: what was asked for, where things are, what was learned.
type bench struct {
	options
	out, log io.Writer // tables; progress
	compiled map[string]bool
	others   []float64 // processors that other programs kept busy, by slice
	peak     peak      // the best of every round
	index    string    // vault of initialize and memory, once it is there
}

// run measures the chosen parts. All is set up before anything is measured.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	o, err := parseOptions(args, log)
	if err != nil {
		return err
	}
	b := &bench{options: o, out: out, log: log, index: o.index, compiled: map[string]bool{}}
	if err := b.openWork(); err != nil {
		return err
	}
	chosen := slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return !slices.Contains(o.only, p.name) })
	for _, p := range chosen {
		if err := p.needs(b, ctx); err != nil {
			return fmt.Errorf("setting up %s: %w", p.name, err)
		}
	}
	begun := time.Now()
	b.showMachine(ctx)
	for _, p := range chosen {
		if err := p.measure(b, ctx); err != nil {
			return fmt.Errorf("measuring %s: %w", p.name, err)
		}
	}
	b.say("\nMeasured in %s; load average after it: %s.", time.Since(begun).Round(time.Second), loadAverage())
	b.showOthers()
	return nil
}

// showOthers tells how busy other programs kept the machine, and when that was
// too much for the figures to be quoted.
func (b *bench) showOthers() {
	if len(b.others) == 0 {
		return
	}
	usual := median(b.others)
	b.say("While slices ran, other programs kept %.2f of the machine's %d processors busy (median; at worst %.2f).", usual, runtime.NumCPU(), slices.Max(b.others))
	if usual > 0.2 {
		b.say("**That is too much: do not quote these figures, least of all those of 2 threads, whose waiting for each other costs the peer most.**")
	}
}

// say writes a line of the report.
func (b *bench) say(format string, a ...any) { fmt.Fprintf(b.out, format+"\n", a...) }

// progress writes a line for the person who waits.
func (b *bench) progress(format string, a ...any) { fmt.Fprintf(b.log, format+"\n", a...) }
