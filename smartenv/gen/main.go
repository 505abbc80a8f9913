// Command gen indexes a vault in the plugin's packed format, with a model of
// ours. It makes the index of the demo vault, which must not come from anyone's
// real vault:
//
//	go run ./smartenv/gen -vault testdata/demo/vault
//
// It is a tool for developers of this project. The product itself never writes
// below a vault.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"smart-connections-mcp/bert"
	"smart-connections-mcp/smartenv"
	"smart-connections-mcp/smartenv/note"
	"smart-connections-mcp/weights"
	"smart-connections-mcp/weights/builtin"
)

func main() {
	vault := flag.String("vault", "", "folder of Markdown notes; its .smart-env is replaced")
	flag.Parse()
	if *vault == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := generate(context.Background(), *vault); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// generate indexes the notes of dir with the built-in model.
func generate(ctx context.Context, dir string) error {
	checkpoint, err := weights.Builtin()
	if err != nil {
		return err
	}
	profile, _ := bert.ProfileFor("")
	model, err := bert.New(checkpoint, profile)
	if err != nil {
		return err
	}
	vault, err := note.OpenVault(dir)
	if err != nil {
		return err
	}
	defer vault.Close()
	w := writer{
		vault: vault,
		model: model,
		id:    smartenv.Model{Provider: "transformers", Name: builtin.Name, Dims: model.Dims(), MaxTokens: profile.MaxTokens},
	}
	if err := w.index(ctx); err != nil {
		return err
	}
	return w.save(dir)
}
