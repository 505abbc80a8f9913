package smartenv

import (
	"reflect"
	"testing"
)

func TestDecodeRecord(t *testing.T) {
	ref := func(fingerprint, file string, row int64, hash string) []reference {
		return []reference{{fingerprint: fingerprint, file: file, row: row, readHash: hash}}
	}
	for _, c := range []struct {
		name, value string
		want        record
	}{
		{"empty", `{}`, record{}},
		{"whole", `{"class_name":"SmartSource","key":"other.md","path":"other.md","blocks":{"#x":[1,2]},
			"last_read":{"hash":"h1","at":5},"last_import":{"mtime":12,"size":"34","at":1,"hash":"h1"},
			"embedding":{"history":[],"default":{"mf_a":{"file":"mf_a","file_i":3,"read_hash":"h1","at":9}}}}`,
			record{hash: "h1", imported: stamp{12, 34, "h1"}, refs: ref("mf_a", "mf_a", 3, "h1")}},
		{"odd types", `{"last_read":"x","last_import":[1],"embedding":7,"blocks_data":"none"}`, record{}},
		{"null members", `{"last_read":null,"last_import":{"at":0,"hash":null,"mtime":0,"size":0},"embedding":null,"blocks_data":null}`, record{}},
		{"last member wins", `{"last_read":{"hash":"a"},"last_read":{"hash":"b"}}`, record{hash: "b"}},
		{"no default", `{"embedding":{"history":[{"file":"mf_a","file_i":1}],"error":"boom"}}`, record{}},
		{"row no integer", `{"embedding":{"default":{"mf_a":{"file":"mf_a","file_i":1.5,"read_hash":"h"}}}}`, record{refs: ref("mf_a", "mf_a", -1, "h")}},
		{"row a string", `{"embedding":{"default":{"mf_a":{"file":"mf_a","file_i":"1","read_hash":"h"}}}}`, record{refs: ref("mf_a", "mf_a", -1, "h")}},
		{"row negative", `{"embedding":{"default":{"mf_a":{"file":"mf_a","file_i":-2,"read_hash":"h"}}}}`, record{refs: ref("mf_a", "mf_a", -1, "h")}},
		{"row missing", `{"embedding":{"default":{"mf_a":{"file":"mf_a","read_hash":"h"}}}}`, record{refs: ref("mf_a", "mf_a", -1, "h")}},
		{"reference no object", `{"embedding":{"default":{"mf_a":null,"mf_b":5}}}`, record{}},
		{"flat", `{"embedding":{"default":{"type":"default","file":"mf_a","file_i":4,"read_hash":"h","at":2}}}`, record{refs: ref("mf_a", "mf_a", 4, "h")}},
		{"flat with fingerprint", `{"embedding":{"default":{"model_fingerprint":"mf_m","file":"mf_a","file_i":4,"read_hash":"h"}}}`, record{refs: ref("mf_m", "mf_a", 4, "h")}},
	} {
		got := newDecoder().record("n.md", []byte(c.value))
		c.want.path = "n.md"
		if !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: record = %+v, want %+v", c.name, *got, c.want)
		}
	}
}

// A flat reference of the beta versions wins for its model; for other models the
// newest entry of the history serves, the later one among equals.
func TestDecodeFlatHistory(t *testing.T) {
	const value = `{"embedding":{
		"default":{"file":"mf_now","file_i":9,"read_hash":"h9","at":1},
		"history":[
			{"type":"default","file":"mf_old","file_i":1,"read_hash":"h1","at":10},
			{"type":"default","file":"mf_old","file_i":2,"read_hash":"h2","at":20},
			{"type":"default","file":"mf_old","file_i":3,"read_hash":"h3","at":20},
			{"type":"default","file":"mf_old","file_i":4,"read_hash":"h4","at":5},
			{"type":"other","file":"mf_old","file_i":5,"read_hash":"h5","at":99},
			{"type":"default","file":"mf_now","file_i":6,"read_hash":"h6","at":99},
			17, null, {"type":"default"}]}}`
	got := newDecoder().record("n.md", []byte(value)).refs
	want := []reference{
		{fingerprint: "mf_old", file: "mf_old", row: 3, readHash: "h3"},
		{fingerprint: "mf_now", file: "mf_now", row: 9, readHash: "h9"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("references = %+v, want %+v", got, want)
	}
}

func TestDecodeBlocks(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        []block
	}{
		{"plain", `{"#A":{"lines":[1,3],"size":5,"last_read":{"hash":"h"},"should_embed":true}}`,
			[]block{{key: "#A", start: 1, end: 3, hash: "h", shouldEmbed: true}}},
		{"array value", `{"#A":[2,4]}`, []block{{key: "#A", start: 2, end: 4}}},
		{"falsy values", `{"#A":null,"#B":false,"#C":0,"#D":"","#E":{}}`, []block{{key: "#E"}}},
		{"removed again", `{"#A":{"lines":[1,2]},"#A":null}`, []block{}},
		{"full key", `{"n.md#A":{"lines":[1,2]}}`, []block{{key: "#A", start: 1, end: 2}}},
		{"short wins over full", `{"#A":[1,2],"n.md#A":[5,6]}`, []block{{key: "#A", start: 1, end: 2}}},
		{"short wins over earlier full", `{"n.md#A":[5,6],"#A":[1,2]}`, []block{{key: "#A", start: 1, end: 2}}},
		{"foreign keys", `{"A":[1,2],"m.md#A":[1,2],"":[1,2]}`, nil},
		{"null end", `{"#A":{"lines":[1,null]}}`, []block{{key: "#A", start: 1}}},
		{"short range", `{"#A":{"lines":[7]},"#B":{"lines":[]},"#C":{"lines":"1-2"},"#D":{"lines":[3,2]},"#E":{"lines":[0,2]},"#F":{"lines":["1","2"]}}`,
			[]block{{key: "#A", start: 7}, {key: "#B"}, {key: "#C"}, {key: "#D", start: 3}, {key: "#E"}, {key: "#F"}}},
		{"huge range", `{"#A":{"lines":[1,99999999999999]}}`, []block{{key: "#A", start: 1}}},
		{"no range given", `{"#A":{"text":null,"length":0}}`, []block{{key: "#A"}}},
	} {
		got := newDecoder().record("n.md", []byte(`{"blocks_data":`+c.value+`}`)).blocks
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: blocks = %+v, want %+v", c.name, got, c.want)
		}
	}
}
