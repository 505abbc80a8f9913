package smartenv

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"smart-connections-mcp/smartenv/disk"
)

// Settings are the plugin's settings that decide what it embeds. Everything is
// read leniently: a number may be a string, anything may be missing
// (format section 10).
type Settings struct {
	MinChars         int      // blocks shorter than this (UTF-16 units) are not embedded
	NoteMinBytes     int      // notes of this many bytes or fewer get no vector of their own
	EmbedBlocks      bool     // whether the plugin queues blocks for embedding
	ExcludedHeadings []string // headings whose only effect is that blank lines leave the note's embed input

	modelKey   string   // embedding_models.default_model_key
	olderModel Model    // smart_sources.embed_model: provider and name only; see config.inlineModel
	exclusions []string // globs of paths the plugin leaves out
	closed     []string // folders it leaves out as a whole
}

func defaultSettings() Settings {
	return Settings{
		MinChars:     200,
		NoteMinBytes: 200,
		EmbedBlocks:  true,
		exclusions:   exclusionGlobs([]string{"Untitled"}, nil, nil),
	}
}

// errNoObject says that a settings file holds no complete JSON object.
var errNoObject = errors.New("not a complete JSON object")

// parseSettings reads smart_env.json.
func parseSettings(data []byte) (Settings, error) {
	data = trimBlanks(data)
	if !validJSON(data) || data[0] != '{' {
		return Settings{}, errNoObject
	}
	r := settingsReader{
		scanner:  &scanner{text: data},
		Settings: defaultSettings(),
		files:    csvOrList{csv: []string{"Untitled"}},
	}
	r.members(r.member)
	if r.skipIgnored {
		r.ignored = csvOrList{}
	}
	r.exclusions = exclusionGlobs(r.files.value(), r.folders.value(), r.ignored.value())
	r.closed = r.folders.value()
	return r.Settings, nil
}

// A settingsReader gathers the settings while it goes through the file.
type settingsReader struct {
	*scanner
	Settings
	files, folders, ignored csvOrList // what is excluded
	skipIgnored             bool
}

// member reads a member of the whole.
func (r *settingsReader) member(name []byte) {
	switch string(name) {
	case sourcesCollection:
		r.members(r.sourceSetting)
	case blocksCollection:
		r.members(r.blockSetting)
	case modelsCollection:
		r.members(func(name []byte) {
			if string(name) == "default_model_key" {
				r.modelKey = r.str()
				return
			}
			r.skip()
		})
	case "gitignore_exclusions":
		r.ignored.read(r.scanner)
	case "skip_excluding_gitignore":
		r.skipIgnored = r.truth()
	default:
		r.skip()
	}
}

func (r *settingsReader) sourceSetting(name []byte) {
	switch string(name) {
	case "min_chars":
		readCount(r.scanner, &r.NoteMinBytes)
	case "embed_model":
		r.olderModel = readOlderModel(r.scanner)
	case "excluded_headings":
		r.ExcludedHeadings = readList(r.scanner)
	case "file_exclusions":
		r.files.csv = readList(r.scanner)
	case "file_exclusions_list":
		r.files.read(r.scanner)
	case "folder_exclusions":
		r.folders.csv = readList(r.scanner)
	case "folder_exclusions_list":
		r.folders.read(r.scanner)
	case "skip_excluding_gitignore":
		r.skipIgnored = r.truth()
	default:
		r.skip()
	}
}

func (r *settingsReader) blockSetting(name []byte) {
	switch string(name) {
	case "embed_blocks":
		r.EmbedBlocks = r.truth()
	case "min_chars":
		readCount(r.scanner, &r.MinChars)
	default:
		r.skip()
	}
}

// readCount reads a number ≥ 0 into n and leaves n alone when there is none.
func readCount(s *scanner, n *int) {
	if v, ok := s.lenientInteger(); ok && 0 <= v && v < 1<<31 {
		*n = int(v)
	}
}

// A csvOrList is a setting in its two forms: an array, which wins when it is
// there, or one string with commas.
type csvOrList struct {
	csv, list []string
	isList    bool
}

func (c *csvOrList) read(s *scanner) {
	c.isList = s.peek() == '['
	c.list = readList(s)
}

func (c *csvOrList) value() []string {
	if c.isList {
		return c.list
	}
	return c.csv
}

// readList reads an array of strings or one string with commas; entries are
// trimmed and empty ones dropped.
func readList(s *scanner) []string {
	var list []string
	add := func(entry string) {
		if entry = strings.TrimFunc(entry, isBlank); entry != "" {
			list = append(list, entry)
		}
	}
	if s.peek() == '[' {
		s.elements(func() { add(s.str()) })
		return list
	}
	for entry := range strings.SplitSeq(s.str(), ",") {
		add(entry)
	}
	return list
}

// readOlderModel reads {"adapter": A, A: {"model_key": K}} as versions from the end
// of 2024 on have it, or {"model_key": K} of those before. A is the provider.
func readOlderModel(s *scanner) (m Model) {
	var direct string
	byAdapter := map[string]string{}
	s.members(func(name []byte) {
		switch {
		case string(name) == "adapter":
			m.Provider = s.str()
		case string(name) == "model_key":
			direct = s.str()
		case s.peek() == '{':
			adapter := string(name)
			s.members(func(name []byte) {
				if string(name) == "model_key" {
					byAdapter[adapter] = s.str()
					return
				}
				s.skip()
			})
		default:
			s.skip()
		}
	})
	if m.Name = byAdapter[m.Provider]; m.Name == "" {
		m.Name = direct
		if known := inlineModel("", direct, 0); known.Provider != "" {
			m.Provider = known.Provider // the name is older than the adapter
		}
	}
	return m
}

// A modelRecord is one line of embedding_models.ajson, reduced to the model's
// identity: such records may hold API keys, which are never kept.
type modelRecord struct {
	model   Model
	created int64
}

// parseModels replays embedding_models.ajson: the newest record of every key.
// complete is false when a line could not be read.
func parseModels(data []byte) (models map[string]modelRecord, complete bool) {
	models, complete = map[string]modelRecord{}, true
	eachLine(data, func(line []byte) {
		e, ok, err := parseLine(line)
		if err != nil {
			complete = false
			return
		}
		if !ok || e.collection != modelsCollection {
			return
		}
		if e.value == nil {
			delete(models, e.key)
			return
		}
		models[e.key] = decodeModel(e.value)
	})
	return models, complete
}

// maxDims is more than any embedding model has; a greater number is a mistake.
const maxDims = 1 << 16

// decodeModel reads a model record; what is missing has the plugin's defaults,
// and what the plugin's built-in list knows better comes from there.
func decodeModel(value []byte) modelRecord {
	var rec modelRecord
	var dims, dimensions int
	m := Model{}
	s := &scanner{text: value}
	s.members(func(name []byte) {
		switch string(name) {
		case "provider_key":
			m.Provider = s.str()
		case "model_key":
			m.Name = s.str()
		case "dims":
			readCount(s, &dims)
		case "dimensions":
			readCount(s, &dimensions)
		case "max_tokens":
			readCount(s, &m.MaxTokens)
		case "embedding_space_id":
			m.Space = s.str()
		case "created_at":
			rec.created, _ = s.lenientInteger()
		default:
			s.skip()
		}
	})
	m.Dims = dims
	if dims == 0 {
		m.Dims = dimensions
	}
	if m.Dims > maxDims {
		m.Dims = 0
	}
	rec.model = completeModel(m)
	return rec
}

func completeModel(m Model) Model {
	standard := defaultModel()
	if m.Provider == "" {
		m.Provider = standard.Provider
	}
	if m.Name == "" {
		m.Name = standard.Name
	}
	if m.Provider != standard.Provider {
		return m
	}
	for _, known := range catalogue[:builtInModels] {
		if known.Name == m.Name {
			return known
		}
	}
	if m.Dims == 0 {
		m.Dims = standard.Dims
	}
	if m.MaxTokens == 0 {
		m.MaxTokens = standard.MaxTokens
	}
	return m
}

// configuredModel picks the model the plugin would use (format section 3.1):
// the one the settings name, else the one created last, else the default.
func configuredModel(modelKey string, models map[string]modelRecord) Model {
	if rec, ok := models[modelKey]; ok {
		return rec.model
	}
	newest, at := defaultModel(), int64(-1)
	for _, rec := range models {
		if rec.created > at || rec.created == at && rec.model.Fingerprint() < newest.Fingerprint() {
			newest, at = rec.model, rec.created
		}
	}
	return newest
}

// A config is what the two settings files say.
type config struct {
	settings   Settings
	model      Model
	hasRecords bool // there are model records

	unread []string // which of the files could not be read, or are not there
	fault  error    // why the system did not read one that is there
}

// inlineModel is the model that an inline index is configured for (format section
// 3.1): that of the model records, as in a packed one, or, before there were any,
// that of smart_sources.embed_model. All models were used plainly then, so it has
// no Space.
func (c config) inlineModel() Model {
	if c.hasRecords || c.settings.modelKey != "" {
		return inlineModel(c.model.Provider, c.model.Name, c.model.Dims)
	}
	m := c.settings.olderModel
	return inlineModel(m.Provider, cmp.Or(m.Name, defaultModel().Name), 0)
}

// readConfig reads smart_env.json and the model records. A file that is not there
// counts as empty. incomplete says in words what could not be read for now; the
// plugin rewrites both files in place, so that usually passes.
func readConfig(in folder) (c config, incomplete string) {
	c.settings = defaultSettings()
	read := func(name string) ([]byte, error) {
		data, err := in.read(name)
		if err != nil {
			c.unread = append(c.unread, name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.fault = err
		}
		return data, err
	}
	data, err := read(settingsFile)
	if err == nil {
		c.settings, err = parseSettings(data)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.settings = defaultSettings()
		incomplete = fmt.Sprintf("smart_env.json: %v", disk.Cause(err))
	}
	data, err = read(modelsFile)
	models, complete := parseModels(data)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		incomplete = fmt.Sprintf("embedding_models.ajson: %v", disk.Cause(err))
	case err == nil && len(trimBlanks(data)) == 0:
		incomplete = "embedding_models.ajson: it is empty"
	case !complete && models[c.settings.modelKey] == (modelRecord{}):
		incomplete = "embedding_models.ajson: damaged line, and no record of the configured model"
	}
	c.model, c.hasRecords = configuredModel(c.settings.modelKey, models), len(models) > 0
	return c, incomplete
}
