package setup

import (
	"fmt"
	"maps"
	"math"
	"reflect"
)

// lookup returns what stands under a path, nil for nothing.
func lookup(tree map[string]any, p path) any {
	var at any = tree
	for _, name := range p {
		m, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = m[name]
	}
	return at
}

// withValue returns a tree with one more value, or another one.
func withValue(tree map[string]any, p path, plain string) (map[string]any, error) {
	out := maps.Clone(tree)
	if out == nil {
		out = map[string]any{}
	}
	if len(p) == 1 {
		out[p[0]] = plain
		return out, nil
	}
	below, ok := out[p[0]].(map[string]any)
	if _, there := out[p[0]]; there && !ok {
		return nil, fmt.Errorf("%s is not what was expected there", p[0])
	}
	below, err := withValue(below, p[1:], plain)
	out[p[0]] = below
	return out, err
}

// without returns a tree without one value or branch.
func without(tree map[string]any, p path) map[string]any {
	out := maps.Clone(tree)
	if len(p) == 1 {
		delete(out, p[0])
		return out
	}
	if below, ok := out[p[0]].(map[string]any); ok {
		out[p[0]] = without(below, p[1:])
	}
	return out
}

// pruned returns a tree without the branches above p that are empty: formats
// differ in whether an empty one is still written.
func pruned(tree map[string]any, p path) map[string]any {
	for n := len(p) - 1; n > 0; n-- {
		if m, ok := lookup(tree, p[:n]).(map[string]any); ok && len(m) == 0 {
			tree = without(tree, p[:n])
		}
	}
	return tree
}

// same reports whether two documents mean the same; not-a-number equals itself.
func same(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			w, ok := y[k]
			if !ok || !same(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !same(x[i], y[i]) {
				return false
			}
		}
		return true
	case float64:
		y, ok := b.(float64)
		return ok && (x == y || math.IsNaN(x) && math.IsNaN(y))
	}
	return reflect.DeepEqual(a, b)
}
