package smartenv

import "testing"

// The fingerprints of the plugin's own models, as its code computes them.
func TestFingerprintGoldens(t *testing.T) {
	var goldens []struct {
		Provider  string `json:"provider_key"`
		Name      string `json:"model_key"`
		Dims      int    `json:"dims"`
		MaxTokens int    `json:"max_tokens"`
		Space     string `json:"embedding_space_id"`
		Current   string `json:"current"`
		Legacy    string `json:"legacy"`
	}
	readJSON(t, shared(t, "golden", "plugin", "fingerprints.json"), &goldens)
	if len(goldens) == 0 {
		t.Fatal("no goldens")
	}
	for _, g := range goldens {
		m := Model{g.Provider, g.Name, g.Space, g.Dims, g.MaxTokens}
		if got := m.Fingerprint(); got != g.Current {
			t.Errorf("%s: fingerprint = %s, want %s", g.Name, got, g.Current)
		}
		if known, ok := knownModel(g.Current); !ok || known != m {
			t.Errorf("knownModel(%s) = %+v, %v, want %+v", g.Current, known, ok, m)
		}
		m.Space = ""
		if got := m.Fingerprint(); got != g.Legacy {
			t.Errorf("%s: legacy fingerprint = %s, want %s", g.Name, got, g.Legacy)
		}
		if known, ok := knownModel(g.Legacy); !ok || known != m {
			t.Errorf("knownModel(%s) = %+v, %v, want %+v", g.Legacy, known, ok, m)
		}
	}
}

// These names were seen in vaults, or stand in the plugin's own lists.
func TestFingerprint(t *testing.T) {
	for want, m := range map[string]Model{
		"mf_ccarbz":  {"transformers", "TaylorAI/bge-micro-v2", "", 384, 512},
		"mf_1cz2sqz": {"transformers", "Snowflake/snowflake-arctic-embed-m", "", 768, 512},
		"mf_1ep8yrs": {"transformers", "TaylorAI/gte-tiny", "", 384, 512},
		"mf_1iyekf6": {"transformers", "onnx-community/embeddinggemma-300m-ONNX", "", 768, 2048},
		"mf_1aukbhx": {"transformers", "Mihaiii/Ivysaur", "", 384, 512},
		"mf_d96pf9":  {"transformers", "andersonbcdefg/bge-small-4096", "", 384, 4096},
		"mf_txq8zw":  {"transformers", "Xenova/bge-small-en-v1.5", "", 384, 512},
		"mf_vkvrls":  {"transformers", "Xenova/jina-embeddings-v2-base-zh", "", 768, 8192},
		"mf_17atwvz": {"transformers", "Xenova/jina-embeddings-v2-small-en", "", 512, 8192},
		"mf_q826iq":  {"transformers", "nomic-ai/nomic-embed-text-v1.5", "", 768, 2048},
		"mf_1i44tsh": {"transformers", "nomic-ai/nomic-embed-text-v1", "", 768, 2048},
		"mf_jj8asn":  {"openai", "text-embedding-3-small", "", 512, 8191},
		"mf_pfv2zo":  {"openai", "text-embedding-3-small", "", 1536, 8191},
		"mf_dwszwr":  {"openai", "text-embedding-3-large", "", 256, 8191},
		"mf_170hphv": {"openai", "text-embedding-3-large", "", 512, 8191},
		"mf_1r09knk": {"openai", "text-embedding-3-large", "", 3072, 8191},
		"mf_1imrs9e": {"openai", "text-embedding-ada-002", "", 1536, 8191},
		"mf_1emu9kb": {"transformers", "builtin/mini-2l-128", "", 128, 512},
		"mf_egpmak":  {"transformers", "Xenova/all-MiniLM-L6-v2", "", 384, 512},
	} {
		if got := m.Fingerprint(); got != want {
			t.Errorf("%+v: fingerprint = %s, want %s", m, got, want)
		}
		if known, ok := knownModel(want); ok && known != m {
			t.Errorf("knownModel(%s) = %+v, want %+v", want, known, m)
		}
	}
	if m, ok := knownModel("mf_nothing"); ok {
		t.Errorf("knownModel(mf_nothing) = %+v, want none", m)
	}
}

func TestJSString(t *testing.T) {
	for text, want := range map[string]string{
		`plain/é "q" \`:  `"plain/é \"q\" \\"`,
		"<a>&\u2028":     "\"<a>&\u2028\"",
		"\b\f\n\r\t\x01": `"\b\f\n\r\t\u0001"`,
	} {
		if got := jsString(text); got != want {
			t.Errorf("jsString(%q) = %s, want %s", text, got, want)
		}
	}
}
