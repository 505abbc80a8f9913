package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// openWork makes the work folder, and checks that the project is where it must be.
func (b *bench) openWork() error {
	if !exists("go.mod") || !exists(filepath.Join("testdata", "bench", "setup.go")) {
		return errors.New("this is not the project's root: run go run ./testdata/bench there")
	}
	work, err := filepath.Abs(b.work)
	if err != nil {
		return err
	}
	b.work = work
	return os.MkdirAll(work, 0o755)
}

// workPath is a path in the work folder.
func (b *bench) workPath(parts ...string) string {
	return filepath.Join(append([]string{b.work}, parts...)...)
}

// needShared refuses to go on without the test data.
func needShared(name string) error {
	if path := filepath.Join(shared, name); !exists(path) {
		return fmt.Errorf("%s is missing: the test data belongs beside the project; -only initialize does without", path)
	}
	return nil
}

// tool finds a program, or says what to install.
func tool(name, from string) error {
	if _, err := exec.LookPath(name); err != nil {
		return fmt.Errorf("%s is missing: install %s, or leave parts out with -only", name, from)
	}
	return nil
}

// needEmbed sets up embed and batch: our benchmarks, the peer, the peak.
func (b *bench) needEmbed(ctx context.Context) error {
	if err := b.needPeer(ctx); err != nil {
		return err
	}
	if b.canProbe() {
		if err := b.compilePeak(ctx); err != nil {
			return err
		}
	}
	return b.compile(ctx, b.workPath("bert.test"), "test", "-c", "./bert")
}

// needCold sets up cold: our program and the peer.
func (b *bench) needCold(ctx context.Context) error {
	return errors.Join(b.needPeer(ctx), b.compileServer(ctx))
}

// needPeer copies ../shared/bench, which is not to be written, fetches its Node
// packages, and exports the models.
func (b *bench) needPeer(ctx context.Context) error {
	if err := errors.Join(needShared("bench"), tool("node", "Node 20 or later"), tool("npm", "it with Node")); err != nil {
		return err
	}
	for _, name := range []string{"ref_bench.mjs", "export_onnx.mjs", "pipe.mjs", "package.json", "package-lock.json", ".npmrc", "lib"} {
		if err := copyNew(filepath.Join(shared, "bench", name), b.workPath("node", name)); err != nil {
			return err
		}
	}
	if !exists(b.workPath("node", "node_modules", ".package-lock.json")) { // npm writes it last
		b.progress("npm ci: fetching onnxruntime and transformers.js (once)")
		if _, err := command(ctx, b.workPath("node"), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"); err != nil {
			return fmt.Errorf("fetching the peer needs a package registry: %w", err)
		}
	}
	for _, name := range b.models {
		if err := b.export(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// export writes a model as ONNX for the peer, once. What was broken off does not
// stay.
func (b *bench) export(ctx context.Context, name string) error {
	if exists(b.workPath("onnx", name)) {
		return nil
	}
	if _, err := readModel(name); err != nil {
		return err
	}
	b.progress("exporting %s as ONNX (once)", name)
	from, err := filepath.Abs(modelFolder(name))
	if err != nil {
		return err
	}
	part := b.workPath("onnx.part")
	if err := errors.Join(os.RemoveAll(part), os.MkdirAll(b.workPath("onnx"), 0o755)); err != nil {
		return err
	}
	if _, err := command(ctx, b.workPath("node"), "node", "export_onnx.mjs", from, part); err != nil {
		return err
	}
	return os.Rename(filepath.Join(part, name), b.workPath("onnx", name))
}

// copyNew copies a file, or a folder of files, unless it is there.
func copyNew(from, to string) error {
	if exists(to) {
		return nil
	}
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) && filepath.Base(from) == ".npmrc" {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

// canProbe tells whether peak.c is for this machine and can be compiled. Without
// it, embed has no shares of the peak.
func (b *bench) canProbe() bool {
	_, err := exec.LookPath("cc")
	return err == nil && runtime.GOARCH == "amd64" && runtime.GOOS == "linux"
}

// compilePeak compiles peak.c as its header says, once.
func (b *bench) compilePeak(ctx context.Context) error {
	if runtime.GOARCH != "amd64" || runtime.GOOS != "linux" {
		return errors.New("peak.c is for Linux on amd64: leave peak out with -only")
	}
	if err := errors.Join(needShared("bench"), tool("cc", "a C compiler")); err != nil {
		return err
	}
	if exists(b.workPath("peak")) {
		return nil
	}
	b.progress("compiling peak.c")
	_, err := command(ctx, "", "cc", "-O2", filepath.Join(shared, "bench", "peak.c"), "-o", b.workPath("peak"), "-lpthread")
	return err
}

// compileServer builds our program.
func (b *bench) compileServer(ctx context.Context) error {
	return b.compile(ctx, b.server(), "build", "-trimpath", "-ldflags", "-s -w", ".")
}

// server is our program.
func (b *bench) server() string { return b.workPath("smart-connections-mcp") }

// compile runs a go command that writes a binary, in every run of the program
// anew, so that never an old one is measured.
func (b *bench) compile(ctx context.Context, to, verb string, args ...string) error {
	if b.compiled[to] {
		return nil
	}
	b.progress("compiling %s", filepath.Base(to))
	if _, err := command(ctx, "", "go", append([]string{verb, "-o", to}, args...)...); err != nil {
		return err
	}
	b.compiled[to] = true
	return nil
}
