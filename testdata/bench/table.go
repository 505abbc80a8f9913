package main

import (
	"fmt"
	"io"
	"strings"
)

// table is a Markdown table.
type table struct {
	head []string
	rows [][]string
}

func newTable(head ...string) *table { return &table{head: head} }

// add appends a row. Floats are formatted by num.
func (t *table) add(cells ...any) {
	var row []string
	for _, cell := range cells {
		if v, ok := cell.(float64); ok {
			cell = num(v)
		}
		row = append(row, fmt.Sprint(cell))
	}
	t.rows = append(t.rows, row)
}

// write prints the table below a heading.
func (t *table) write(w io.Writer, heading string) {
	fmt.Fprintf(w, "\n### %s\n\n", heading)
	line := func(cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.head)
	rule := make([]string, len(t.head))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, row := range t.rows {
		line(row)
	}
}
