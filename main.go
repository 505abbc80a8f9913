// Command smart-connections-mcp gives AI clients semantic search over an
// Obsidian vault, from the embeddings that the Smart Connections plugin has
// already computed. Started by an MCP client it speaks MCP on stdio; started by
// a person it has subcommands. It never writes into a vault.
package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"smart-connections-mcp/bert"
	"smart-connections-mcp/simd"
	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/measure"
	"smart-connections-mcp/smartenv/note"
	"smart-connections-mcp/smartenv/verify"
	"smart-connections-mcp/tools"
	"smart-connections-mcp/tools/cli"
	"smart-connections-mcp/weights"
	"smart-connections-mcp/weights/embedder"
)

// version is set by the release build: -ldflags "-X main.version=1.2.3".
var version = "0.1.0-dev"

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the command ran, and it or its check failed
	exitUsage  = 2 // wrong arguments, or no vault
)

func main() {
	out, log := os.Stdout, cli.NewLossy(os.Stderr)
	os.Stdout = os.Stderr          // at once: where the protocol is spoken, nothing else may print
	signal.Ignore(syscall.SIGPIPE) // a write then fails, and what is temporary is removed
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], streams{os.Stdin, out, log}, os.Getenv)
	stop()
	log.Close()
	os.Exit(code)
}

// streams are the process's own; tests replace them.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// subcommand is a row of the table and the code behind it.
type subcommand struct {
	cli.Command
	run func(ctx context.Context, a *app) error
}

// subcommands are all there are; the first is the default.
func subcommands() []subcommand {
	return []subcommand{
		{cli.Command{Name: "serve", Summary: "speak MCP on stdin and stdout (the default)"}, serve},
		{cli.Command{Name: "search", Args: "QUERY", TakesArgs: true, Summary: "notes nearest to a question",
			Missing: `a question is missing: smart-connections-mcp search "how do I prune roses"`}, search},
		{cli.Command{Name: "related", Args: "PATH", TakesArgs: true, Summary: "notes nearest to a note",
			Missing: `a note is missing: smart-connections-mcp related "Garden/Roses.md"`}, related},
		{cli.Command{Name: "status", Summary: "what the index holds, and what is wrong with it"}, status},
		{cli.Command{Name: "verify", Args: "[QUERY]", TakesArgs: true, Summary: "re-embed stored items and compare; with QUERY also rank"}, verifyIndex},
		{cli.Command{Name: "measure", Summary: "what the vectors cover, whether they find it, and how fast"}, measureVault},
		{cli.Command{Name: "demo", Args: "[QUESTION]", TakesArgs: true, Summary: "the whole job on a built-in vault, offline"}, demo},
		{cli.Command{Name: "version", Summary: "version, platform and kernels"}, showVersion},
	}
}

// errCheckFailed ends a command whose report is already printed.
var errCheckFailed = errors.New("the check failed")

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, s streams, getenv func(string) string) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(s.err, "smart-connections-mcp: internal error: %v: this is a bug\n%s", p, debug.Stack())
			code = exitFailed
		}
	}()
	err := execute(ctx, args, s, getenv)
	var usage cli.UsageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errCheckFailed), errors.Is(err, syscall.EPIPE): // who read the output has gone
		return exitFailed
	}
	fmt.Fprintln(s.err, "smart-connections-mcp:", cli.Clean(strings.ReplaceAll(err.Error(), "\n", "; ")))
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

func execute(ctx context.Context, args []string, s streams, getenv func(string) string) error {
	table := subcommands()
	var rows []cli.Command
	for _, c := range table {
		rows = append(rows, c.Command)
	}
	chosen, args, err := cli.Choose(rows, args, s.out)
	if err != nil {
		return err
	}
	line, err := cli.Parse(rows[chosen], args, s.out)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	a := &app{streams: s, Line: line, getenv: getenv, log: log}
	defer a.close()
	if err := simd.Use(a.env("SMART_SIMD")); err != nil {
		return cli.UsageError{Text: "SMART_SIMD: " + err.Error()}
	}
	return table[chosen].run(ctx, a)
}

// app is one run of the program.
type app struct {
	streams
	cli.Line
	getenv func(string) string
	log    *slog.Logger

	vault    *note.Vault
	index    *smartenv.Index
	options  smartenv.Options // of index
	embedder *embedder.Shared
	cleanup  []func()
}

func (a *app) close() {
	for _, undo := range slices.Backward(a.cleanup) {
		undo()
	}
}

func (a *app) env(name string) string { return cli.Value(a.getenv(name)) }

func serve(ctx context.Context, a *app) error {
	server, err := a.open()
	if err != nil {
		return err
	}
	return server.Serve(ctx, a.in, a.out)
}

func search(ctx context.Context, a *app) error {
	return ask(a, cli.Search, func(s *tools.Server) (tools.SearchOutput, error) { return s.Search(ctx, a.SearchInput()) })
}

func related(ctx context.Context, a *app) error {
	return ask(a, cli.Related, func(s *tools.Server) (tools.RelatedOutput, error) { return s.Related(ctx, a.RelatedInput()) })
}

func status(ctx context.Context, a *app) error {
	return ask(a, cli.Status, func(s *tools.Server) (tools.StatusOutput, error) { return s.Status(ctx) })
}

// ask opens the vault, has one question answered and prints the answer.
func ask[T any](a *app, show func(io.Writer, T), question func(*tools.Server) (T, error)) error {
	server, err := a.open()
	if err != nil {
		return err
	}
	answer, err := question(server)
	if err != nil {
		return err
	}
	return a.print(answer, func() { show(a.out, answer) })
}

// verification is what verify and demo print as JSON.
type verification struct {
	verify.Report
	Ranking *tools.SearchOutput `json:"ranking,omitempty"`
}

// verifyIndex re-embeds a sample of what the index holds; with a query it also
// prints the live ranking.
func verifyIndex(ctx context.Context, a *app) error {
	sample, err := cli.Sample(cmp.Or(a.Sample, a.env("SMART_VERIFY_SAMPLE"), "12"))
	if err != nil {
		return err
	}
	server, err := a.open()
	if err != nil {
		return err
	}
	var out verification
	if out.Report, err = a.compare(ctx, verify.Options{Sample: sample, Seed: cmp.Or(a.Seed, uint64(time.Now().UnixNano()))}); err != nil {
		return err
	}
	if a.Query != "" {
		answer, err := server.Search(ctx, a.SearchInput())
		if err != nil {
			return err
		}
		out.Ranking = &answer
	}
	return a.report(out, func() {
		cli.Verify(a.out, out.Report)
		if out.Ranking != nil {
			cli.Search(a.out, *out.Ranking)
		}
	})
}

// compare verifies the open vault with the embedder of its own model.
func (a *app) compare(ctx context.Context, o verify.Options) (verify.Report, error) {
	snapshot, err := a.index.Snapshot(ctx)
	if err != nil {
		return verify.Report{}, err
	}
	if snapshot.Refusal != nil {
		return verify.Report{}, snapshot.Refusal
	}
	model, err := a.embedder.Model(ctx, snapshot.Model)
	if err != nil {
		return verify.Report{}, err
	}
	return verify.Run(ctx, a.vault, snapshot, model.EmbedDocument, o)
}

// report prints a verification and turns one that did not pass into an error.
func (a *app) report(out verification, asText func()) error {
	err := a.print(out, asText)
	if err == nil && !out.Passed {
		return errCheckFailed
	}
	return err
}

// measureVault measures the vault with the embedder of its own model, and the
// tools as a client uses them.
func measureVault(ctx context.Context, a *app) error {
	sample, err := cli.Sample(cmp.Or(a.Sample, "30"))
	if err != nil {
		return err
	}
	return ask(a, cli.Measure, func(server *tools.Server) (measure.Report, error) {
		return measure.Run(ctx, measure.Subject{
			Vault:   a.vault,
			Index:   a.index,
			Options: a.options,
			Load:    a.measurable,
			Steps:   func(s *smartenv.Snapshot) []measure.Step { return cli.Steps(server, s) },
		}, measure.Options{Sample: sample, Seed: a.Seed, Progress: cli.Progress(a.err)})
	})
}

// measurable loads a model anew, as measure needs it.
func (a *app) measurable(ctx context.Context, id smartenv.Model) (measure.Model, error) {
	model, err := (&embedder.Shared{Source: a.embedder.Source}).Model(ctx, id)
	if err != nil {
		return measure.Model{}, err
	}
	profile, _ := bert.ProfileFor(id.Space) // known, or there would be no model
	return measure.Model{Fit: measure.Behind(profile.DocumentPrefix, model.Fit), Embed: model.Embed}, nil
}

//go:embed all:testdata/demo/vault
var demoVault embed.FS

// demoQuestion is what a person would ask whose boiler has lost pressure, which
// the note that answers it is about.
const demoQuestion = "why are my radiators cold"

// demo does the whole job on the built-in vault: it answers a question and
// proves the agreement, or serves the vault.
func demo(ctx context.Context, a *app) error {
	dir, err := a.unpackDemo()
	if err != nil {
		return fmt.Errorf("unpacking the demo vault: %w: set TMPDIR to a folder that can be written", err)
	}
	server, err := a.connect(dir, weights.Source{}, "")
	if err != nil {
		return err
	}
	if a.Serve {
		return server.Serve(ctx, a.in, a.out)
	}
	in := tools.DefaultSearch(cmp.Or(a.Query, demoQuestion))
	in.Limit, in.MinScore = 3, 0
	answer, err := server.Search(ctx, in)
	if err != nil {
		return err
	}
	report, err := a.compare(ctx, verify.Options{Seed: 1})
	if err != nil {
		return err
	}
	return a.report(verification{report, &answer}, func() {
		cli.Search(a.out, answer)
		cli.Verify(a.out, report)
	})
}

// unpackDemo puts the built-in vault into a temporary folder, which is removed
// at the end.
func (a *app) unpackDemo() (string, error) {
	temp, err := os.MkdirTemp("", "smart-connections-")
	if err != nil {
		return "", err
	}
	a.cleanup = append(a.cleanup, func() { os.RemoveAll(temp) })
	files, err := fs.Sub(demoVault, "testdata/demo/vault")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(temp, "Demo vault")
	return dir, os.CopyFS(dir, files)
}

func showVersion(_ context.Context, a *app) error {
	platform, kernels := runtime.GOOS+"/"+runtime.GOARCH, simd.Active().String()
	facts := map[string]string{"version": version, "platform": platform, "go": runtime.Version(), "simd": kernels}
	return a.print(facts, func() {
		fmt.Fprintf(a.out, "smart-connections-mcp %s %s %s simd=%s\n", version, platform, runtime.Version(), kernels)
	})
}

// print writes the answer as one JSON object or as text.
func (a *app) print(answer any, asText func()) error {
	if !a.JSON {
		asText()
		return nil
	}
	return cli.JSON(a.out, answer)
}

// open opens the vault that flags and environment name.
func (a *app) open() (*tools.Server, error) {
	dir := cmp.Or(cli.Value(a.Vault), a.env("SMART_VAULT_PATH"))
	if dir == "" {
		return nil, cli.UsageError{Text: "no vault: pass --vault DIR or set SMART_VAULT_PATH to the folder that holds .obsidian and .smart-env"}
	}
	if local := cli.LocalPath(dir); local != dir {
		fmt.Fprintf(a.err, "smart-connections-mcp: the vault %s is read at %s\n", dir, local)
		dir = local
	}
	cache := a.env("SMART_MODEL_CACHE")
	if cache == "" {
		cache, _ = weights.DefaultCacheDir(a.getenv) // without one, a fetch says what to set
	}
	source := weights.Source{
		ModelPath: cmp.Or(cli.Value(a.ModelPath), a.env("SMART_MODEL_PATH")),
		CacheDir:  cache,
		Endpoint:  a.env("HF_ENDPOINT"),
		Log:       a.log,
	}
	if cli.IsTerminal(a.err) {
		source.Progress = a.err
	}
	return a.connect(dir, source, cmp.Or(cli.Value(a.Model), a.env("SMART_EMBED_MODEL")))
}

// connect wires vault, index, weights and tools.
func (a *app) connect(dir string, source weights.Source, model string) (*tools.Server, error) {
	vault, err := note.OpenVault(dir)
	if err != nil {
		return nil, cli.UsageError{Text: fmt.Sprintf("vault %s: %v: %s", dir, err, cli.VaultAdvice(dir))}
	}
	a.cleanup = append(a.cleanup, func() { vault.Close() })
	a.vault = vault
	a.options = smartenv.Options{Model: model, Log: a.log}
	a.index = smartenv.Open(vault, a.options)
	a.embedder = &embedder.Shared{Source: source}
	return tools.New(tools.Config{
		Vault: vault,
		Index: a.index,
		Embedder: func(ctx context.Context, m smartenv.Model) (tools.Embedder, error) {
			return a.embedder.Model(ctx, m)
		},
		EmbedderName: a.embedder.Name,
		AtHand:       a.embedder.AtHand,
		AllTools:     a.AllTools || a.env("SMART_TOOLS") == "all",
		Version:      version,
		Log:          a.log,
	}), nil
}
