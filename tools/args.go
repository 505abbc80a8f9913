package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// args decodes the arguments of one call and gathers what is wrong with them,
// so that a model can mend everything at once. Numbers may come as numeric
// strings and booleans as "true" or "false", because models send both; null
// means the default. Ranges are checked by the inputs themselves.
type args struct {
	values map[string]json.RawMessage
	wrong  []error
}

// newArgs splits the arguments of a call to tool; names are those it takes.
func newArgs(tool string, raw json.RawMessage, names []string) *args {
	a := &args{}
	if len(bytes.TrimSpace(raw)) == 0 {
		return a
	}
	if err := json.Unmarshal(raw, &a.values); err != nil {
		a.fail("arguments must be a JSON object: pass for example %s", example(names))
		return a
	}
	var unknown []string
	for name := range a.values {
		if !slices.Contains(names, name) {
			unknown = append(unknown, strconv.Quote(shorten(name, 60)))
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		takes := "no arguments"
		if len(names) > 0 {
			takes = strings.Join(names, ", ")
		}
		a.fail("unknown argument %s: %s takes %s", strings.Join(unknown[:min(len(unknown), 10)], ", "), tool, takes)
	}
	return a
}

func example(names []string) string {
	if len(names) == 0 {
		return "{}"
	}
	return fmt.Sprintf(`{%q: "…"}`, names[0])
}

func (a *args) fail(format string, v ...any) { a.wrong = append(a.wrong, fmt.Errorf(format, v...)) }

// err returns everything that was wrong, one line each, or nil.
func (a *args) err() error { return errors.Join(a.wrong...) }

// value returns the decoded value of an argument; false when it is absent or
// null, so that the default holds.
func (a *args) value(name string) (any, bool) {
	raw, ok := a.values[name]
	if !ok {
		return nil, false
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil { // only a number beyond float64 gets here
		a.fail("%s is %s: pass a value that fits", name, shorten(string(raw), 40))
		return nil, false
	}
	return v, v != nil
}

// text decodes a string into dst, which holds the default.
func (a *args) text(name string, dst *string) {
	v, ok := a.value(name)
	if !ok {
		return
	}
	s, ok := v.(string)
	if !ok {
		a.fail("%s is %s: pass a string", name, a.shown(name))
		return
	}
	*dst = s
}

// number decodes a finite number or a numeric string into dst.
func (a *args) number(name string, dst *float64) {
	v, ok := a.value(name)
	if !ok {
		return
	}
	n, ok := v.(float64)
	if s, isText := v.(string); isText {
		parsed, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		n, ok = parsed, err == nil
	}
	if !ok || math.IsNaN(n) || math.IsInf(n, 0) {
		a.fail("%s is %s: pass a number", name, a.shown(name))
		return
	}
	*dst = n
}

// numbers decodes an array of numbers into dst.
func (a *args) numbers(name string, dst *[]float64) {
	v, ok := a.value(name)
	if !ok {
		return
	}
	list, ok := v.([]any)
	numbers := make([]float64, 0, len(list))
	for _, item := range list {
		n, isNumber := item.(float64)
		ok = ok && isNumber
		numbers = append(numbers, n)
	}
	if !ok {
		a.fail("%s is %s: pass an array of numbers", name, a.shown(name))
		return
	}
	*dst = numbers
}

// integer decodes a whole number (10, 10.0, "10") into dst. A number beyond
// int32 becomes the nearest int32: no range here reaches so far, so the check
// of the range refuses it.
func (a *args) integer(name string, dst *int) {
	n := float64(*dst)
	before := len(a.wrong)
	a.number(name, &n)
	switch {
	case len(a.wrong) > before:
		a.wrong[before] = fmt.Errorf("%s is %s: pass a whole number", name, a.shown(name))
	case n != math.Trunc(n):
		a.fail("%s is %s: pass a whole number", name, a.shown(name))
	default:
		*dst = int(min(max(n, math.MinInt32), math.MaxInt32))
	}
}

// boolean decodes true, false, "true" or "false" into dst.
func (a *args) boolean(name string, dst *bool) {
	v, ok := a.value(name)
	if !ok {
		return
	}
	b, ok := v.(bool)
	if s, isText := v.(string); isText {
		s = strings.ToLower(strings.TrimSpace(s))
		b, ok = s == "true", s == "true" || s == "false"
	}
	if !ok {
		a.fail("%s is %s: pass true or false", name, a.shown(name))
		return
	}
	*dst = b
}

// texts decodes an array of strings, or a single string, into dst. Empty
// strings are left out.
func (a *args) texts(name string, dst *[]string) {
	a.places(name, dst)
	if *dst = slices.DeleteFunc(*dst, func(s string) bool { return s == "" }); len(*dst) == 0 {
		*dst = nil
	}
}

// places is texts for folders, of which "" is one: the vault's root.
func (a *args) places(name string, dst *[]string) {
	v, ok := a.value(name)
	if !ok {
		return
	}
	list, ok := v.([]any)
	if s, isText := v.(string); isText {
		list, ok = []any{s}, true
	}
	var texts []string
	for _, item := range list {
		s, isText := item.(string)
		ok = ok && isText
		texts = append(texts, s)
	}
	if !ok {
		a.fail(`%s is %s: pass an array of strings, such as ["Projects"]`, name, a.shown(name))
		return
	}
	*dst = texts
}

// object decodes an object, or a string that holds one, into dst.
func (a *args) object(name string, dst *map[string]any) {
	v, ok := a.value(name)
	if !ok {
		return
	}
	object, ok := v.(map[string]any)
	if s, isText := v.(string); isText {
		ok = json.Unmarshal([]byte(s), &object) == nil
	}
	if !ok {
		a.fail(`%s is %s: pass an object, such as {"status": "draft"}`, name, a.shown(name))
		return
	}
	*dst = object
}

// shown is an argument as the client sent it, shortened.
func (a *args) shown(name string) string { return shorten(string(a.values[name]), 40) }

// shorten cuts s to about n bytes between code points.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// integers decodes an array of whole numbers, each as integer takes it, into dst.
func (a *args) integers(name string, dst *[]int) {
	v, ok := a.value(name)
	if !ok {
		return
	}
	list, ok := v.([]any)
	numbers := make([]int, len(list))
	for i, item := range list {
		raw, _ := json.Marshal(item)
		one := args{values: map[string]json.RawMessage{name: raw}}
		one.integer(name, &numbers[i])
		ok = ok && item != nil && len(one.wrong) == 0
	}
	if !ok {
		a.fail("%s is %s: pass an array of whole numbers, such as [10, 20]", name, a.shown(name))
		return
	}
	*dst = numbers
}
