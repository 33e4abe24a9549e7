// Package i18n holds the product's words: translations, the one vocabulary of
// states, and how times are said, for tray, notifications and windows.
package i18n

import (
	"encoding/json"
	"fmt"
	"path"
	"sort"
	"strings"
	"sync/atomic"

	"breakwater/assets"
)

// Catalog translates texts into one language. The English text is the key.
type Catalog struct {
	lang  string
	texts map[string]string
}

var current atomic.Pointer[Catalog]

func init() { current.Store(&Catalog{lang: "en"}) }

// Load returns the catalogue of a language ("es", "es-MX", "es_ES.UTF-8").
// An unknown language gives English; the error is for a damaged file only.
func Load(lang string) (*Catalog, error) {
	tag := base(lang)
	b, err := assets.Translations.ReadFile("i18n/" + tag + ".json")
	if tag == "" || err != nil {
		return &Catalog{lang: "en"}, nil
	}
	texts := map[string]string{}
	if err := json.Unmarshal(b, &texts); err != nil {
		return &Catalog{lang: "en"}, fmt.Errorf("translation %s: %w", tag, err)
	}
	return &Catalog{lang: tag, texts: texts}, nil
}

// Use makes T speak a language; an unknown one gives English.
func Use(lang string) error {
	c, err := Load(lang)
	current.Store(c)
	return err
}

// Lang returns the two-letter code of the language that T speaks.
func Lang() string { return current.Load().lang }

// T returns text in the chosen language, formatted with args when there are
// any. A text without a translation stays English.
func T(text string, args ...any) string { return current.Load().T(text, args...) }

// T is the function T in this catalogue's language.
func (c *Catalog) T(text string, args ...any) string {
	if t := c.texts[text]; t != "" {
		text = t
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// N returns the text for a number of things: one for a single thing, as the
// language counts, and other for any other number. It is formatted with args.
func N(n int, one, other string, args ...any) string {
	if single(n) {
		return T(one, args...)
	}
	return T(other, args...)
}

// single reports whether n is said in the singular. All languages there are
// have two forms, and the first for 1 alone (CLDR, cardinals of en, es and mr;
// the third form of Spanish, for millions, is written like the second).
func single(n int) bool { return n == 1 }

// Lang returns the catalogue's two-letter language code.
func (c *Catalog) Lang() string { return c.lang }

// Languages returns the codes of all languages there are, sorted.
func Languages() []string {
	files, err := assets.Translations.ReadDir("i18n")
	if err != nil {
		return []string{"en"}
	}
	var out []string
	for _, f := range files {
		out = append(out, strings.TrimSuffix(path.Base(f.Name()), ".json"))
	}
	sort.Strings(out)
	return out
}

// System returns the language that the environment asks for, as POSIX has it:
// LC_ALL before LC_MESSAGES before LANG. It is empty where none is set.
func System(getenv func(string) string) string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := getenv(name); v != "" {
			if b := base(v); b != "c" && b != "posix" {
				return b
			}
			return ""
		}
	}
	return ""
}

// base cuts a locale name to its language.
func base(locale string) string {
	if i := strings.IndexAny(locale, "-_.@"); i >= 0 {
		locale = locale[:i]
	}
	locale = strings.ToLower(strings.TrimSpace(locale))
	for _, r := range locale {
		if r < 'a' || r > 'z' {
			return ""
		}
	}
	return locale
}
