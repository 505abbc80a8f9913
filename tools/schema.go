package tools

// The schemas are written by hand, because clients refuse much of what JSON
// Schema allows: no type unions, no $ref, no combinators, no null. A test holds
// that, that limits, defaults and names agree with the code, and that all of it
// stays small, since every session pays for it. Of an answer a schema names the
// fields of the first level; what they mean, and what is in them, stands in the
// tool's description, not a second time here.

// Parts that tools share.
const (
	limitProperty = `"limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10}`

	pathProperty = `"path": {"type": "string", "minLength": 1, "description": "As other tools return it, e.g. \"Garden/Roses.md\"."}`

	folderProperty = `"folder": {
      "type": "array",
      "items": {"type": "string"},
      "description": "Only notes below one of these folders, e.g. [\"Projects/Garden\"]. Leave out unless the user names a folder."
    }`

	object      = `{"type": "object"}`
	objectArray = `{"type": "array", "items": {"type": "object"}}`
	stringArray = `{"type": "array", "items": {"type": "string"}}`

	// The end of an answer that ranks.
	scoredOutputs = `"reason": {"type": "string"},
    "scoped_out": ` + object + `,
    "coverage": ` + object + `,
    "warning": {"type": "string"},
    "truncated": {"type": "boolean"},
    "next_step": {"type": "string"}`
)
