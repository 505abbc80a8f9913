package links

import (
	"strings"
	"testing"
	"time"
)

// hostile are patterns that, repeated, cost a naive reader the square of their length.
var hostile = []string{
	"[[", "[[a", "[[a ", "[", "![", "]", "[]", "](", "[a](", "[a](b", "[a](b ", "[a](b \"", "[a](b '", "[a](b (", "[a](b \"c' ", "[a](<", "[a](<b", "[a](b)",
	"![[a]]", "[[a]]", "[![", "[![a](b)](c) ", "[[[", "]]", "]]]", "(", ")", "((", "[a]((", "[a](b(c)",
	"`", "``` `` ` ", "`a``b```c````d", "\\", "\\`", "\\[", "\\``", "~~~\n", "```\n", "```\na\n", "> ", ">", "> ```\n", "- ", "- - \n", "1. ", "  - a\n", "- a\n\n  ",
	"#", "# ", "#a ", "#a", "# a\n", "##\n", "a\n=\n", "-\n", "=\n", "---\n", "* * *\n", "_ ",
	"<!--", "<!-- ", "<!--\n", "<!-- -->", "a <!-- ", "<a", "<a:", "<a:b>", "a <!-- \n\n", "$", "$a", "$a $", "$$", "$$\n", "$$\n\n", "a $$\n\n", "$1", "a$",
	"^", " ^a", " ^a\n", "%%", "%", "%20", "[a](%20", "| a ", "| a\n", "|", "\t", " ", "    a\n\n", "\n", "\r\n", "\r", "é", "#é", "\u2028",
	"---\na: [[b]]\n", "[[a|", "[[a#", "![a|1](b) ", "[a\n", "[[\n", "[a](\n", "[a](b\n", "![a",
}

// Four times the text takes about four times the time. What grows with the square takes
// sixteen times as long, and has taken half a second and more.
func TestScanHostile(t *testing.T) {
	befores := []string{"", "[[", "- a\n  ", "> ", strings.Repeat("- ", 100) + "a\n", strings.Repeat("![", 100)}
	if testing.Short() {
		befores = befores[:1]
	}
	for _, pattern := range hostile {
		for _, before := range befores {
			small, large := timeScan(before, pattern, 1<<16), timeScan(before, pattern, 1<<18)
			for try := 0; try < 20 && large > 8*small+100*time.Millisecond; try++ { // others use the machine too
				large = min(large, timeScan(before, pattern, 1<<18))
			}
			if large > 8*small+100*time.Millisecond {
				t.Errorf("Scan of %.20q and many %q took %v, of a fourth %v", before, pattern, large, small)
			}
		}
	}
}

func timeScan(before, pattern string, size int) time.Duration {
	text := before + strings.Repeat(pattern, size/len(pattern))
	start := time.Now()
	Scan("a.md", text)
	return time.Since(start)
}
