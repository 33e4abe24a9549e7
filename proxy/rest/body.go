package rest

import (
	"bytes"
	"encoding/json"
	"strings"

	"breakwater/proxy/control"
)

// maxDepth is how deep the values of a body may lie in each other. Nothing of
// ours goes so far, and readers of what is stored have limits of their own.
const maxDepth = 64

// checkDepth refuses valid JSON that is nested too deeply.
func checkDepth(data []byte) error {
	depth, text, escaped := 0, false, false
	for _, c := range data {
		switch {
		case escaped:
			escaped = false
		case text:
			escaped, text = c == '\\', c != '"'
		case c == '"':
			text = true
		case c == '[', c == '{':
			if depth++; depth > maxDepth {
				return control.Invalid("body", "Nested more than %d levels deep", maxDepth)
			}
		case c == ']', c == '}':
			depth--
		}
	}
	return nil
}

// doubled returns the members of valid JSON that are given twice in one object,
// by their paths, without those inside of lists.
func doubled(path string, data []byte) (found []string) {
	members, _ := split(data)
	seen := map[string]bool{}
	for _, m := range members {
		at := strings.TrimPrefix(path+"."+m.name, ".")
		if seen[m.name] {
			found = append(found, at)
		}
		seen[m.name] = true
		if bytes.HasPrefix(m.value, []byte("{")) {
			found = append(found, doubled(at, m.value)...)
		}
	}
	return found
}

// checkTree refuses a body for a reader of its own that would take the last of
// two members of the same name.
func checkTree(data []byte) error {
	if !json.Valid(data) {
		return nil // its reader says so
	}
	if err := checkDepth(data); err != nil {
		return err
	}
	var m merge
	for _, field := range doubled("", data) {
		m.add(field, "Given twice")
	}
	return m.err()
}
