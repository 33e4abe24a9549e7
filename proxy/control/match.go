package control

import (
	"path"
	"strings"
)

// matches reports whether a model's name, without any prefix, fits one of the
// glob patterns, ignoring case.
func matches(patterns []string, model string) bool {
	model = strings.ToLower(model)
	for _, pat := range patterns {
		if pat == "*" {
			return true
		}
		// A slash in a model name is no separator: both sides hide it.
		ok, err := path.Match(strings.ReplaceAll(strings.ToLower(pat), "/", "\x00"), strings.ReplaceAll(model, "/", "\x00"))
		if err == nil && ok {
			return true
		}
	}
	return false
}
