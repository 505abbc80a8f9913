package main

import (
	"strconv"
	"strings"
)

// result is one line of go test -bench: what ran, under which parameters, and
// what it reported.
type result struct {
	name    string             // BenchmarkEmbed
	params  map[string]string  // the parts key=value of the name
	procs   int                // GOMAXPROCS
	metrics map[string]float64 // by unit: ns/op, texts/s
}

// level is the kind of kernels that ran.
func (r result) level() string {
	if level := r.params["impl"]; level != "" {
		return level
	}
	return r.params["simd"]
}

// tokens is the length of the text, 0 when the name does not tell.
func (r result) tokens() int {
	n, _ := strconv.Atoi(r.params["tokens"])
	return n
}

// of tells whether the benchmark's model, which may be cut short, is name.
func (r result) of(name string) bool {
	model := r.params["model"]
	return model != "" && strings.HasPrefix(name, model)
}

// parseBench reads the lines of results and skips all others.
func parseBench(out string) []result {
	var list []result
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 4 || len(fields)%2 != 0 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		if _, err := strconv.Atoi(fields[1]); err != nil {
			continue
		}
		r := parseName(fields[0])
		r.metrics = map[string]float64{}
		for i := 2; i < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				r.metrics[fields[i+1]] = v
			}
		}
		list = append(list, r)
	}
	return list
}

// parseName takes BenchmarkName/key=value/key=value-PROCS apart; without PROCS
// it is 1.
func parseName(name string) result {
	r := result{procs: 1, params: map[string]string{}}
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		if procs, err := strconv.Atoi(name[i+1:]); err == nil {
			r.procs, name = procs, name[:i]
		}
	}
	parts := strings.Split(name, "/")
	r.name = parts[0]
	for _, part := range parts[1:] {
		if key, value, ok := strings.Cut(part, "="); ok {
			r.params[key] = value
		}
	}
	return r
}
