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

const searchInputSchema = `{
  "type": "object",
  "properties": {
    "query": {"type": "string", "minLength": 1, "maxLength": 8192, "description": "A full question or sentence, 1 to 8192 characters."},
    ` + limitProperty + `,
    "min_score": {"type": "number", "minimum": -1, "maximum": 1, "default": 0.5, "description": "Leave out notes below this cosine. Lower it when nothing is found."},
    "scope": {"type": "string", "enum": ["auto", "notes", "blocks"], "default": "auto", "description": "auto: the better of a note and its sections; notes: whole notes; blocks: sections."},
    ` + folderProperty + `,
    "include_text": {"type": "boolean", "default": true, "description": "Quote the passage that matched, up to 1200 characters a note."}
  },
  "required": ["query"],
  "additionalProperties": false
}`

const searchOutputSchema = `{
  "type": "object",
  "properties": {
    "query": {"type": "string"},
    "mode": {"type": "string"},
    "model": {"type": "string"},
    "scope": {"type": "string"},
    "folder": ` + stringArray + `,
    "results": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "path": {"type": "string"},
          "score": {"type": "number"},
          "matched": {"type": "string", "enum": ["note", "block", "frontmatter"]},
          "section": {"type": "string", "description": "\"\" is the note's beginning."},
          "lines": {"type": "array", "items": {"type": "integer"}, "description": "First and last, 1-based."},
          "stale": {"type": "boolean"},
          "excerpt": {"type": "string"},
          "excerpt_missing": {"type": "string"}
        },
        "required": ["path", "score", "matched", "section"]
      }
    },
    ` + scoredOutputs + `
  },
  "required": ["query", "mode", "model", "scope", "results", "coverage"]
}`

const relatedInputSchema = `{
  "type": "object",
  "properties": {
    ` + pathProperty + `,
    ` + limitProperty + `,
    "min_score": {"type": "number", "minimum": -1, "maximum": 1, "default": 0, "description": "Leave out notes below this cosine."},
    ` + folderProperty + `
  },
  "required": ["path"],
  "additionalProperties": false
}`

const relatedOutputSchema = `{
  "type": "object",
  "properties": {
    "path": {"type": "string"},
    "mode": {"type": "string"},
    "model": {"type": "string"},
    "folder": ` + stringArray + `,
    "related": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "path": {"type": "string"},
          "score": {"type": "number"},
          "matched": {"type": "string", "enum": ["note", "block"]},
          "section": {"type": "string"},
          "lines": {"type": "array", "items": {"type": "integer"}, "description": "First and last, 1-based."},
          "stale": {"type": "boolean"}
        },
        "required": ["path", "score", "matched"]
      }
    },
    ` + scoredOutputs + `
  },
  "required": ["path", "mode", "model", "related", "coverage"]
}`

const noteInputSchema = `{
  "type": "object",
  "properties": {
    ` + pathProperty + `,
    "max_chars": {"type": "integer", "minimum": 1, "maximum": 400000, "default": 100000, "description": "Longest text to return, in characters (code points)."}
  },
  "required": ["path"],
  "additionalProperties": false
}`

const noteOutputSchema = `{
  "type": "object",
  "properties": {
    "path": {"type": "string"},
    "text": {"type": "string"},
    "truncated": {"type": "boolean"},
    "total_chars": {"type": "integer"},
    "warning": {"type": "string"}
  },
  "required": ["path", "text", "total_chars"]
}`

const statusInputSchema = `{"type": "object", "properties": {}, "additionalProperties": false}`

const statusOutputSchema = `{
  "type": "object",
  "properties": {
    "vault": {"type": "string"},
    "generation": {"type": "string"},
    "model": {"type": "string"},
    "fingerprint": {"type": "string"},
    "dims": {"type": "integer"},
    "configured_model": {"type": "string"},
    "query_embedder": {"type": "string"},
    "query_embedder_ready": {"type": "boolean"},
    "model_matches_query_embedder": {"type": "boolean"},
    "query_embedder_proof": {"type": "object", "properties": {"verdict": {"type": "string"}, "compared": {"type": "integer"}, "cosine": {"type": "number"}, "reason": {"type": "string"}}},
    "refusal": {"type": "string"},
    "behind": {"type": "string"},
    "embedded_notes": {"type": "integer"},
    "embedded_blocks": {"type": "integer"},
    "stale_notes": {"type": "integer"},
    "stale_blocks": {"type": "integer"},
    "notes_missing_on_disk": {"type": "integer"},
    "notes_not_indexed": {"type": "integer"},
    "freshness": ` + counts + `,
    "blocks_total": {"type": "integer"},
    "blocks_waiting": {"type": "integer"},
    "notes_without_vector": ` + counts + `,
    "folders": {"type": "object", "additionalProperties": {"type": "object", "properties": {"notes": {"type": "integer"}, "blocks": {"type": "integer"}}}},
    "folders_left_out": {"type": "integer"},
    "shards": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "bytes": {"type": "integer"}}}},
    "inline_files": {"type": "integer"},
    "ghost_block_records": {"type": "integer"},
    "multifiles": {"type": "object", "additionalProperties": {"type": "object", "properties": {"bytes": {"type": "integer"}, "rows": {"type": "integer"}, "referenced": {"type": "integer"}}}},
    "embedding_files_in_use": ` + counts + `,
    "records": {"type": "integer"},
    "deletion_tombstones_applied": {"type": "integer"},
    "unresolvable_pointers": {"type": "integer"},
    "refused_references": ` + tallied + `,
    "quarantined_vectors": ` + tallied + `,
    "normalised_vectors": ` + counts + `,
    "skipped_lines": {"type": "object", "properties": {"count": {"type": "integer"}, "first": ` + stringArray + `}},
    "ignored_files": {"type": "object", "properties": {"count": {"type": "integer"}, "names": ` + stringArray + `}},
    "legacy_store_ignored": {"type": "string"},
    "load_retries_from_concurrent_reindex": {"type": "integer"},
    "index_loaded_at": {"type": "string"},
    "note": {"type": "string"},
    "coverage_note": {"type": "string"},
    "warnings": ` + stringArray + `
  },
  "required": ["vault", "model", "embedded_notes", "embedded_blocks", "warnings"]
}`
