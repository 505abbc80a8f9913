package bert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// scoredPiece is an entry of a Unigram model's vocab.
type scoredPiece struct {
	text  string
	score float64
}

// scoredPieces reads a vocab of pairs such as ["▁the", -3.5] from sound JSON.
// There may be a quarter of a million, for which the json package takes a
// second.
func scoredPieces(list []byte) ([]scoredPiece, error) {
	// The shortest entry is ["",0], and a piece may consist of brackets.
	pieces := make([]scoredPiece, 0, min(bytes.Count(list, []byte("[")), len(list)/7))
	for list = skipTo(list[1:]); list[0] != ']'; list = skipTo(list) {
		var text []byte
		if list[0] == '[' {
			list = skipTo(list[1:])
			text = list[:stringEnd(list)]
		}
		end := bytes.IndexByte(list[len(text):], ']') + len(text)
		number := skipTo(list[len(text):end])
		score, err := strconv.ParseFloat(string(bytes.TrimRight(number, jsonSpace)), 64)
		if len(text) == 0 || err != nil {
			return nil, fmt.Errorf("entry %d is no token with its score", len(pieces))
		}
		p := scoredPiece{score: score}
		if p.text, err = unquote(text); err != nil {
			return nil, err
		}
		pieces = append(pieces, p)
		list = list[end+1:]
	}
	return pieces, nil
}

// numberedPieces reads a vocab such as {"the": 1996} from sound JSON. Of a piece
// that comes twice, the last id counts. The json package takes five times as
// long.
func numberedPieces(table []byte) (map[string]int, error) {
	// The shortest entry is "":0, and a piece may consist of colons.
	ids := make(map[string]int, min(bytes.Count(table, []byte(":")), len(table)/5))
	for table = skipTo(table[1:]); table[0] != '}'; table = skipTo(table) {
		end := stringEnd(table)
		piece, err := unquote(table[:end])
		if err != nil {
			return nil, err
		}
		number := bytes.TrimLeft(table[end:], ":"+jsonSpace)
		end = bytes.IndexAny(number, ",}"+jsonSpace)
		if ids[piece], err = strconv.Atoi(string(number[:end])); err != nil {
			return nil, fmt.Errorf("token %q has no id, but %.20s", piece, number[:end])
		}
		table = number[end:]
	}
	return ids, nil
}

const jsonSpace = " \t\r\n"

// skipTo leaves out the white space and comma before the next value.
func skipTo(list []byte) []byte { return bytes.TrimLeft(list, ","+jsonSpace) }

// stringEnd is the length of the JSON string that the text begins with, 0 if
// it begins with none.
func stringEnd(text []byte) int {
	if text[0] != '"' {
		return 0
	}
	end := 1
	for ; text[end] != '"'; end++ {
		if text[end] == '\\' {
			end++
		}
	}
	return end + 1
}

// unquote is the value of a JSON string.
func unquote(quoted []byte) (text string, err error) {
	if plain := quoted[1 : len(quoted)-1]; bytes.IndexByte(plain, '\\') < 0 && utf8.Valid(plain) {
		return string(plain), nil
	}
	err = json.Unmarshal(quoted, &text)
	return text, err
}
