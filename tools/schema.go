package tools

// The schemas are written by hand, because clients refuse much of what JSON
// Schema allows: no type unions, no $ref, no combinators, no null. A test holds
// that, that limits, defaults and names agree with the code, and that all of it
// stays small, since every session pays for it. What the fields of an answer
// mean stands in the tool's description, not a second time here.

// Parts that tools share.
const (
	limitProperty = `"limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10, "description": "Most notes to return."}`

	pathProperty = `"path": {"type": "string", "minLength": 1, "description": "Path of the note in the vault as returned by the other tools, e.g. \"Garden/Roses.md\"."}`

	folderProperty = `"folder": {
      "type": "array",
      "items": {"type": "string"},
      "description": "Only notes below one of these folders, e.g. [\"Projects/Garden\"] (or one string). Whole path segments from the vault's root, case ignored. Leave out unless the user names a folder."
    }`

	// Counts by name, and counts by collection ("smart_sources" are notes,
	// "smart_blocks" sections) and reason.
	counts  = `{"type": "object", "additionalProperties": {"type": "integer"}}`
	tallied = `{"type": "object", "additionalProperties": ` + counts + `}`

	stringArray = `{"type": "array", "items": {"type": "string"}}`

	scoredOutputs = `"reason": {"type": "string"},
    "scoped_out": {
      "type": "object",
      "properties": {
        "notes_hidden_by_folder": {"type": "integer"},
        "best_hidden": {"type": "object", "properties": {"path": {"type": "string"}, "score": {"type": "number"}}},
        "better_match_outside_folder": {"type": "boolean"},
        "hint": {"type": "string"}
      }
    },
    "coverage": ` + counts + `,
    "warning": {"type": "string"},
    "truncated": {"type": "boolean"},
    "next_step": {"type": "string"}`
)
