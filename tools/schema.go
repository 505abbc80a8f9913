package tools

// The schemas are written by hand, because clients refuse much of what JSON
// Schema allows: no type unions, no $ref, no combinators, no null. A test holds
// that, that limits, defaults and names agree with the code, and that all of it
// stays small, since every session pays for it. Of an answer a schema names what it
// always has on the first level; what the fields mean stands in the tool's
// description, what there is beside them in the Go type.

// Parts that tools share.
const (
	limitProperty = `"limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10}`

	pathProperty = `"path": {"type": "string", "minLength": 1, "description": "As other tools return it, e.g. \"Garden/Roses.md\"."}`

	object      = `{"type": "object"}`
	objectArray = `{"type": "array", "items": {"type": "object"}}`
	stringArray = `{"type": "array", "items": {"type": "string"}}`
)
