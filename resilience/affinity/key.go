package affinity

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	maxKey  = 180  // characters of a key that is stored as it stands
	maxText = 4096 // characters of the first user text that count
)

// Own are the guide's session headers, the strongest first. They and nothing
// of them ever go upstream (guide, "Afinidad de sesión").
var Own = []string{"x-codex-session-id", "x-session-id", "x-omniroute-session"}

// Clients are the session headers of clients themselves, read after Own and
// forwarded (rulings 24 and 47).
var Clients = []string{"x-claude-code-session-id", "session-id", "x-session-affinity"}

// Body holds what a request's body says of its session.
type Body struct {
	MetadataSession string // metadata.session_id, else metadata.sessionId
	Conversation    string // conversation_id
	Session         string // session_id
	PromptCache     string // prompt_cache_key
	FirstUserText   string // of the input or the messages
}

// Key returns what a session is known by, or nothing: the first header that is
// not blank, then the body's fields, then a hash of the first user text. header
// looks a header up by its lower-case name.
func Key(header func(name string) string, b Body) string {
	for _, list := range [][]string{Own, Clients} {
		for _, name := range list {
			if v := strings.TrimSpace(header(name)); v != "" {
				return form("header", v)
			}
		}
	}
	for _, f := range []struct{ prefix, value string }{
		{"metadata", b.MetadataSession},
		{"conversation", b.Conversation},
		{"session", b.Session},
		{"prompt-cache", b.PromptCache},
	} {
		if v := strings.TrimSpace(f.value); v != "" {
			return form(f.prefix, v)
		}
	}
	text := strings.TrimSpace(b.FirstUserText)
	if text == "" {
		return ""
	}
	return "input:sha256:" + digest(first(text, maxText))
}

// form is the key as it is kept: short and harmless values as they are, all
// others hashed.
func form(prefix, value string) string {
	if key := prefix + ":" + value; len(key) <= maxKey && plain(value) {
		return key
	}
	return prefix + ":sha256:" + digest(value)
}

func plain(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '.', c == '_', c == ':', c == '-':
		default:
			return false
		}
	}
	return true
}

// first returns the first n characters.
func first(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// Hash is the key of a pin in the store: no session id is written to disk.
func Hash(provider, key string) string { return digest(provider + ":" + key) }
