package control

import (
	"slices"
	"strings"

	"breakwater/proxy/scrub"
)

// HoldsSecret reports whether a text holds the stored key of a connection. Names
// of models and of what people make are shown, logged and exported: a key that
// was pasted there by mistake would be, too (case P50).
func (s *Service) HoldsSecret(text string) bool {
	return slices.ContainsFunc(s.Routes(), func(r *Route) bool { return scrub.Mentions(text, r.key) })
}

// notPasted refuses fields, given as name and text in turn, that hold the stored
// key of a connection, or the given one, which is about to be stored.
func (s *Service) notPasted(key string, fields ...string) error {
	var bad problems
	for pair := range slices.Chunk(fields, 2) {
		if scrub.Mentions(pair[1], key) || s.HoldsSecret(pair[1]) {
			bad.add(pair[0], "must not hold a connection's key")
		}
	}
	return bad.err()
}

// words are the fields of a connection that people fill with words, by name.
func (r *ConnectionRecord) words() []string {
	return []string{
		"name", r.Name, "group", r.Group, "tags", strings.Join(r.Tags, " "),
		"defaultModel", r.DefaultModel, "models", strings.Join(r.Models, " "),
	}
}
