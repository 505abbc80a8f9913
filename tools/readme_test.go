package tools

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The README's table has every tool with every argument, and no other.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Tools\n")
	section, _, _ = strings.Cut(section, "\n## ")
	quoted := regexp.MustCompile("`([a-z_]+)`")
	names := func(text string) []string {
		found := map[string]bool{}
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			found[m[1]] = true
		}
		return slices.Sorted(maps.Keys(found))
	}
	_, list, _ := strings.Cut(section, "\nFilters are ")
	list, _, _ = strings.Cut(list, ".")
	filters := names(list)
	rows := map[string][]string{}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		arguments := names(cells[3])
		if strings.Contains(cells[3], "and filters") {
			arguments = append(arguments, filters...)
			slices.Sort(arguments)
		}
		rows[names(cells[1])[0]] = arguments
	}
	for _, tool := range everything() {
		want := slices.Sorted(slices.Values(tool.arguments))
		if got, ok := rows[tool.name]; !ok || !slices.Equal(got, want) {
			t.Errorf("README: %s has %q, want %q", tool.name, got, want)
		}
		delete(rows, tool.name)
	}
	for name := range rows {
		t.Errorf("README has %s, which is no tool", name)
	}
}
