// Package tools is the MCP server: four read-only tools over one vault.
//
//	search_notes   notes by the meaning of a question   search_notes.go
//	related_notes  notes near one note                  related_notes.go
//	get_note       the text of notes                    get_note.go
//	index_status   what is searchable, and what is not  index_status.go
//
// Each tool's file holds its description for language models, its two JSON
// Schemas, its Go input and output and the code that makes one of the other.
// [Server] binds them to MCP with [Server.Serve]; the command line calls
// [Server.Search], [Server.Related], [Server.Note] and [Server.Status] directly.
//
// What every tool keeps to:
//
//   - Names and fields of the Node predecessor stay; new fields are additions.
//   - An answer is one JSON object, sent as structured content and, byte for
//     byte the same, as text. Arrays are never null. Control, direction and tag
//     characters are written as \u escapes, so that what a model reads is what
//     is there; after parsing every value is exact, and a path can be passed
//     back as it came.
//   - A listing is at most 60,000 bytes of JSON. Above that excerpts get
//     shorter, then rows are left out, and truncated and next_step say so. For
//     get_note max_chars is the limit instead: its caller named it.
//   - What a caller can mend is an error result that names the argument, what
//     it was and what to pass. Numbers may come as numeric strings, booleans as
//     "true" and "false", null is the default; an unknown argument is an error.
//   - No answer names a place outside the vault, nor the vault's own place on
//     the host. Note text stands in its own field and nowhere else.
//   - A panic becomes an error result, with the stack in the log.
//
// The transport is in tools/stdio. The package knows no file formats.
package tools
