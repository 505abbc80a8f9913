package cli

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"smart-connections-mcp/tools"
)

// Command is one row of the subcommand table.
type Command struct {
	Name, Args, Summary string
	TakesArgs           bool   // positional arguments are allowed; several are joined with spaces
	Missing             string // what to say when there is none; "" when none are needed
}

// Choose finds the subcommand that args begin with and returns its index and
// the other arguments; arguments that are empty or begin with a flag mean the
// first. The error is a UsageError, or flag.ErrHelp after the list was written to
// out.
func Choose(commands []Command, args []string, out io.Writer) (chosen int, rest []string, err error) {
	var names []string
	for i, c := range commands {
		if len(args) > 0 && c.Name == args[0] {
			return i, args[1:], nil
		}
		names = append(names, c.Name)
	}
	switch {
	case len(args) > 0 && slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]):
		help(out, commands)
		return 0, nil, flag.ErrHelp
	case len(args) == 0 || strings.HasPrefix(args[0], "-"):
		return 0, args, nil
	}
	return 0, nil, UsageError{fmt.Sprintf("unknown command %q: use one of %s, or --help", args[0], strings.Join(names, ", "))}
}

// UsageError is a mistake of the caller: one line, with the way out.
type UsageError struct{ Text string }

func (e UsageError) Error() string { return e.Text }

// Line is one command line, parsed. A field that its subcommand does not have
// keeps its default.
type Line struct {
	Vault, ModelPath, Model string
	JSON                    bool
	Serve                   bool     // demo: speak MCP
	AllTools                bool     // serve: also the tools that are of no use to a language model
	Limit                   *int     // nil: the tool's default
	MinScore                *float64 // nil: the tool's default
	Scope                   string
	Filters                 tools.Filters
	Level                   string // related: what is compared
	Unlinked                bool   // related: only notes that are not linked with it
	Sample                  string
	Seed                    uint64
	Query                   string // the positional arguments, joined
}

// Parse reads the arguments after the subcommand's name; flags and positional
// arguments may come in any order, and "--" ends the flags. The error is a
// UsageError, or flag.ErrHelp after the subcommand's help was written to out.
func Parse(c Command, args []string, out io.Writer) (Line, error) {
	var line Line
	f := flags(c, &line)
	var words []string
	for len(args) > 0 {
		err := f.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			commandHelp(out, c)
			return line, err
		}
		if err != nil {
			return line, UsageError{fmt.Sprintf("%s: %v: see smart-connections-mcp %s --help", c.Name, err, c.Name)}
		}
		rest := f.Args()
		if ended := len(args) > len(rest) && args[len(args)-len(rest)-1] == "--"; ended {
			words = append(words, rest...)
			break
		}
		if args = rest; len(args) > 0 {
			words, args = append(words, args[0]), args[1:]
		}
	}
	if !c.TakesArgs && len(words) > 0 {
		return line, UsageError{fmt.Sprintf("%s: unexpected argument %q: see smart-connections-mcp %s --help", c.Name, words[0], c.Name)}
	}
	if line.Query = strings.Join(words, " "); line.Query == "" && c.Missing != "" {
		return line, UsageError{c.Name + ": " + c.Missing}
	}
	return line, nil
}

// flags declares the flags of one subcommand.
func flags(c Command, line *Line) *flag.FlagSet {
	f := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	if c.Name != "serve" {
		f.BoolVar(&line.JSON, "json", false, "print one JSON object instead of text")
	}
	if c.Name != "version" && c.Name != "demo" {
		f.StringVar(&line.Vault, "vault", "", "the vault's `DIR` (default $SMART_VAULT_PATH)")
		f.StringVar(&line.ModelPath, "model-path", "", "`DIR` with the model's config.json, tokenizer.json and model.safetensors or onnx/model.onnx (default $SMART_MODEL_PATH, else the cache, else fetched)")
		f.StringVar(&line.Model, "model", "", "`NAME` of the embedding model, which must be the one the vault was indexed with (default $SMART_EMBED_MODEL, else the vault's own)")
	}
	switch c.Name {
	case "search", "related":
		f.Func("limit", "`N`umber of notes, 1 to 100 (default 10)", func(text string) error {
			value, err := strconv.Atoi(text)
			line.Limit = &value
			return err
		})
		f.Func("min-score", "leave out notes below this `COSINE`, -1 to 1 (default: search 0.5, related 0)", func(text string) error {
			value, err := strconv.ParseFloat(text, 64)
			line.MinScore = &value
			return err
		})
		filterFlags(f, &line.Filters)
	case "verify":
		f.StringVar(&line.Sample, "sample", "", "items to compare in each collection, `N` or all (default $SMART_VERIFY_SAMPLE, else 12)")
		f.Uint64Var(&line.Seed, "seed", 0, "seed of the sample (default: from the clock; it is printed)")
	case "measure":
		f.StringVar(&line.Sample, "sample", "", "notes to ask for by a quote, `N` or all (default 30)")
		f.Uint64Var(&line.Seed, "seed", 0, "seed of the sample (default 0, so that runs can be compared)")
	case "serve":
		f.BoolVar(&line.AllTools, "all-tools", false, "offer nearest_vectors, too, which is for programs (or SMART_TOOLS=all)")
	case "demo":
		f.BoolVar(&line.Serve, "serve", false, "speak MCP over the demo vault")
	}
	switch c.Name {
	case "search":
		f.StringVar(&line.Scope, "scope", "auto", "what is ranked: auto, notes or blocks")
	case "related":
		f.StringVar(&line.Level, "level", "auto", "what is compared: auto, notes or blocks (section by section)")
		f.BoolVar(&line.Unlinked, "unlinked", false, "only notes that neither link to it nor are linked by it")
	}
	return f
}

// filterFlags declares what narrows a ranking.
func filterFlags(f *flag.FlagSet, in *tools.Filters) {
	add := func(list *[]string) func(string) error {
		return func(text string) error {
			*list = append(*list, text)
			return nil
		}
	}
	f.Func("folder", "only notes below this `FOLDER`; may be repeated", add(&in.Folder))
	f.Func("exclude-folder", "no notes below this `FOLDER`; may be repeated", add(&in.ExcludeFolder))
	f.Func("tag", "only notes with this `TAG`, or one below it; may be repeated", add(&in.Tags))
	f.Func("filter", "only notes whose property has this value, as `NAME=VALUE`; may be repeated", func(text string) error {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return errors.New("pass NAME=VALUE, such as status=open")
		}
		if in.Properties == nil {
			in.Properties = map[string]any{}
		}
		in.Properties[name] = value
		return nil
	})
	f.StringVar(&in.ModifiedAfter, "modified-after", "", "only notes changed on this `DATE` or later, such as 2026-01-31")
	f.StringVar(&in.ModifiedBefore, "modified-before", "", "only notes changed before this `DATE`")
}

// SearchInput is the question that the line asks; what a subcommand has no flag
// for keeps the default of the tool.
func (l Line) SearchInput() tools.SearchInput {
	in := tools.DefaultSearch(l.Query)
	in.Filters = l.Filters
	in.Scope = cmp.Or(l.Scope, in.Scope)
	if l.Limit != nil {
		in.Limit = *l.Limit
	}
	if l.MinScore != nil {
		in.MinScore = *l.MinScore
	}
	return in
}

// RelatedInput is the note whose neighbours the line asks for.
func (l Line) RelatedInput() tools.RelatedInput {
	in := tools.DefaultRelated(l.Query)
	in.Filters = l.Filters
	in.Level, in.UnlinkedOnly = cmp.Or(l.Level, in.Level), l.Unlinked
	if l.Limit != nil {
		in.Limit = *l.Limit
	}
	if l.MinScore != nil {
		in.MinScore = *l.MinScore
	}
	return in
}

// Value is a setting as a flag or the environment gives it; a placeholder that
// the client left unexpanded counts as unset.
func Value(text string) string {
	if text = strings.TrimSpace(text); strings.HasPrefix(text, "${user_config.") {
		return ""
	}
	return text
}

// Sample reads the size of a sample: a number from 1, or all, which is 0.
func Sample(text string) (int, error) {
	if text == "all" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, UsageError{fmt.Sprintf("sample is %q: pass a number from 1, or all", text)}
	}
	return n, nil
}

// help lists the subcommands.
func help(out io.Writer, commands []Command) {
	fmt.Fprint(out, `Semantic search over an Obsidian vault, from the embeddings that the Smart
Connections plugin has computed. Read-only: nothing is written into the vault.

Usage: smart-connections-mcp [command] [flags]

`)
	for _, c := range commands {
		fmt.Fprintf(out, "  %-18s %s\n", strings.TrimSpace(c.Name+" "+c.Args), c.Summary)
	}
	fmt.Fprint(out, `
Environment:
  SMART_VAULT_PATH     the vault's folder, for every command but demo and version
  SMART_MODEL_PATH     folder with the model's files, instead of cache and download
  SMART_MODEL_CACHE    where fetched models are kept
  SMART_EMBED_MODEL    name of the model; refused when it is not the vault's own
  SMART_VERIFY_SAMPLE  items that verify compares in each collection (12)
  SMART_TOOLS          all: serve offers nearest_vectors, too
  SMART_SIMD           generic, avx2, avx512 or neon: force one kind of kernels
  HF_ENDPOINT          the hub that models are fetched from

Exit codes: 0 fine, 1 the command or its check failed, 2 wrong usage or no vault.
Flags of a command: smart-connections-mcp COMMAND --help
`)
}

// commandHelp describes one subcommand and its flags.
func commandHelp(out io.Writer, c Command) {
	var line Line
	fmt.Fprintf(out, "%s: %s\n\nUsage: smart-connections-mcp %s [flags]\n\n", c.Name, c.Summary, strings.TrimSpace(c.Name+" "+c.Args))
	f := flags(c, &line)
	f.SetOutput(out)
	f.PrintDefaults()
}
