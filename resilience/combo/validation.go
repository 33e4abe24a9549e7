package combo

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Check reports whether an answer satisfies what the combo asks of one, and if
// not, what is wrong with it (combos sheet §2.4). text is what the assistant
// said; doc is the answer decoded from JSON, read only where a predicate needs
// it.
func (v *ResponseValidation) Check(text string, doc func() any) (problem string, ok bool) {
	if n := utf8.RuneCountInString(strings.TrimSpace(text)); n < v.MinLength {
		return fmt.Sprintf("%d characters are fewer than minContentLength", n), false
	}
	for _, s := range v.Forbidden {
		if s != "" && strings.Contains(text, s) {
			return "a forbidden text is in it", false
		}
	}
	for _, s := range v.Required {
		if !strings.Contains(text, s) {
			return "a required text is missing", false
		}
	}
	if len(v.Predicates) == 0 {
		return "", true
	}
	root := doc()
	for _, p := range v.Predicates {
		path, _ := p["path"].(string)
		if !holds(p, at(root, path)) {
			return "the predicate on " + path + " does not hold", false
		}
	}
	return "", true
}

// missing stands for a path that leads nowhere.
type missing struct{}

// at follows a path of names with dots and indices in brackets; nothing in it
// is evaluated.
func at(v any, path string) any {
	for path != "" {
		if path[0] == '[' {
			index, rest, ok := strings.Cut(path[1:], "]")
			list, isList := v.([]any)
			n, err := strconv.Atoi(index)
			if !ok || !isList || err != nil || n < 0 || n >= len(list) {
				return missing{}
			}
			v, path = list[n], strings.TrimPrefix(rest, ".")
			continue
		}
		end := strings.IndexAny(path, ".[")
		name, rest := path, ""
		if end >= 0 {
			name, rest = path[:end], strings.TrimPrefix(path[end:], ".")
		}
		object, isObject := v.(map[string]any)
		next, found := object[name]
		if !isObject || !found {
			return missing{}
		}
		v, path = next, rest
	}
	return v
}

// holds applies one predicate. A predicate that names no test asks for
// existence.
func holds(p map[string]any, v any) bool {
	_, gone := v.(missing)
	ok := true
	known := false
	if want, given := p["exists"].(bool); given {
		known, ok = true, ok && gone != want
	}
	if want, given := p["nonEmpty"].(bool); given {
		known, ok = true, ok && empty(v) != want
	}
	if want, given := p["equals"]; given {
		known, ok = true, ok && !gone && reflect.DeepEqual(v, want)
	}
	if want, given := p["notEquals"]; given {
		known, ok = true, ok && (gone || !reflect.DeepEqual(v, want))
	}
	return ok && (known || !gone)
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil, missing:
		return true
	case string:
		return strings.TrimSpace(v) == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}
