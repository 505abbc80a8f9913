package property

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	maxYAML  = 64 << 10 // bytes of YAML that are read at all
	maxAlias = 64 << 10 // bytes that the values grow by when aliases become what they stand for
	maxDepth = 64       // lists and maps in each other
)

var (
	errBomb = fmt.Errorf("its aliases (\"*name\") make it grow by more than %d KB: write the values out", maxAlias>>10)
	errDeep = fmt.Errorf("lists and maps stand in each other more than %d deep: make it flatter", maxDepth)

	yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	lateLine = regexp.MustCompile(`^did not find expected (?:<|node content|key|'-' indicator|',' or )`) // of its parser, which counts from 0
	noLine   = regexp.MustCompile(`^(?:unknown anchor|control characters|invalid )`)
)

// Parse reads the YAML of a frontmatter. Its error says in a sentence, with the
// line in the note, what is wrong; a document whose aliases would blow it up is
// refused.
//
// An unquoted [[Note]], a list of a list to YAML, is the text that was meant. Only
// decimal numbers that a float64 holds exactly as far as anyone can tell are
// numbers: a long identifier, 007, 1_000 and .inf stay the text they are.
func Parse(text string) (props Properties, err error) {
	if len(text) > maxYAML {
		return nil, fmt.Errorf("the properties are %d KB long: at most %d KB are read", len(text)>>10, maxYAML>>10)
	}
	defer func() { // the library has panicked on odd input before
		if r := recover(); r != nil {
			props, err = nil, fmt.Errorf("the YAML of the properties cannot be read: %v", r)
		}
	}()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, inNote(err)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	top := doc.Content[0]
	if top.Kind == yaml.ScalarNode && top.ShortTag() == "!!null" {
		return nil, nil
	}
	if top.Kind != yaml.MappingNode {
		return nil, at(top, errors.New("the properties must be lines of \"name: value\""))
	}
	c := converter{left: len(text) + maxAlias} // a node is never longer than its text
	props, err = c.fields(top, 0)
	return props, err
}

// inNote turns an error of the library into one that counts lines as the note does,
// where one line of dashes stands above the YAML.
func inNote(err error) error {
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	what := err.Error()[len(m[0]):]
	if m[1] == "" && noLine.MatchString(what) {
		return errors.New(what)
	}
	line, _ := strconv.Atoi(cmp.Or(m[1], "1"))
	if m[1] != "" && lateLine.MatchString(what) {
		line++
	}
	return fmt.Errorf("line %d: %s", line+1, what)
}

// at adds the line in the note to an error.
func at(n *yaml.Node, err error) error { return fmt.Errorf("line %d: %w", n.Line+1, err) }

// converter makes plain data of nodes, in which an alias still stands for what it
// names: left is what may still come of them.
type converter struct{ left int }

func (c *converter) value(n *yaml.Node, depth int) (any, error) {
	if c.left -= 1 + len(n.Value); c.left < 0 {
		return nil, at(n, errBomb)
	}
	if depth > maxDepth { // an anchor that contains itself ends here too
		return nil, at(n, errDeep)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return c.value(n.Alias, depth+1)
	case yaml.MappingNode:
		return c.fields(n, depth)
	case yaml.SequenceNode:
		if text, ok := wikilink(n); ok {
			return text, nil
		}
		list := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			v, err := c.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	return scalar(n), nil
}

func (c *converter) fields(n *yaml.Node, depth int) (map[string]any, error) {
	fields := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return nil, at(n.Content[i], errors.New("a name must be a text: put it in quotes"))
		}
		if c.left -= len(key.Value); c.left < 0 {
			return nil, at(key, errBomb)
		}
		if _, twice := fields[key.Value]; twice {
			return nil, at(key, fmt.Errorf("%q is there twice: keep one", key.Value))
		}
		v, err := c.value(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		fields[key.Value] = v
	}
	return fields, nil
}

// scalar is the value that a scalar node writes.
func scalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		if b, err := strconv.ParseBool(strings.ToLower(n.Value)); err == nil {
			return b
		}
	case "!!int", "!!float":
		if f, ok := number(n.Value); ok {
			return f
		}
	}
	return n.Value
}

// number reads a decimal number of which nothing is lost in a float64 and in a
// JSON text.
func number(s string) (f float64, ok bool) {
	digits := strings.TrimLeft(s, "+-")
	if strings.Trim(s, "0123456789.eE+-") != "" || len(digits) > 1 && digits[0] == '0' && digits[1] != '.' {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	const exact = 1 << 53
	return f, err == nil && (math.Abs(f) < exact || strings.ContainsAny(s, ".eE"))
}

// wikilink recognises "[[Note]]" without quotes, as people write it.
func wikilink(n *yaml.Node) (text string, ok bool) {
	if n.Style&yaml.FlowStyle == 0 || len(n.Content) != 1 {
		return "", false
	}
	inner := n.Content[0]
	adjacent := inner.Line == n.Line && inner.Column == n.Column+1
	if inner.Kind != yaml.SequenceNode || len(inner.Content) == 0 || !adjacent {
		return "", false
	}
	var parts []string // of a name with commas
	for _, part := range inner.Content {
		if part.Kind != yaml.ScalarNode || part.Style != 0 {
			return "", false
		}
		parts = append(parts, part.Value)
	}
	return "[[" + strings.Join(parts, ", ") + "]]", true
}
