package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// FieldError is one thing that is wrong with a patch.
type FieldError struct {
	Field   string // dotted path, or "body"
	Message string
}

// PatchError tells why a patch was refused; nothing of it was applied.
type PatchError struct{ Fields []FieldError }

// Error lists the fields and what is wrong with each.
func (e *PatchError) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = f.Message
		if f.Field != "" {
			parts[i] = f.Field + " " + f.Message
		}
	}
	return strings.Join(parts, "; ")
}

// EmptyPatch is what a patch without a section is told.
const EmptyPatch = "Must provide resilience settings to update"

// Patch applies the body of PATCH /api/resilience to what is stored and
// returns what is to be stored. Unlike the normaliser it is strict: an unknown
// key, a wrong type or a value out of bounds refuses the whole patch with a
// *PatchError (settings sheet §1.3). null removes a stored leaf (ruling 52).
// Maps are replaced as a whole.
func Patch(stored, body []byte) ([]byte, error) {
	patch, err := decodeStrict(body)
	if err != nil {
		return nil, err
	}
	if len(patch) == 0 {
		return nil, &PatchError{[]FieldError{{"", EmptyPatch}}}
	}
	errs := checkTree("", patch)
	if len(errs) == 0 {
		errs = checkPairs(patch)
	}
	if len(errs) > 0 {
		return nil, &PatchError{errs}
	}
	doc := decode(stored)
	if doc == nil {
		doc = map[string]any{}
	}
	merge("", doc, patch)
	return json.Marshal(doc)
}

// decodeStrict reads a body that must be one JSON object.
func decodeStrict(body []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, &PatchError{[]FieldError{{"body", "Invalid JSON body"}}}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &PatchError{[]FieldError{{"body", "Invalid JSON body"}}}
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, &PatchError{[]FieldError{{"body", "must be an object"}}}
	}
	return m, nil
}

// find returns the leaf at a path, and whether the path leads to leaves.
func find(path string) (l *leaf, branch bool) {
	for i := range leaves {
		if leaves[i].path == path && !leaves[i].hidden {
			return &leaves[i], false
		}
		if strings.HasPrefix(leaves[i].path, path+".") {
			branch = true
		}
	}
	return nil, branch
}

// checkTree checks every key of a patch, at every level.
func checkTree(at string, patch map[string]any) []FieldError {
	var errs []FieldError
	for _, key := range sortedKeys(patch) {
		path := strings.TrimPrefix(at+"."+key, ".")
		l, branch := find(path)
		switch sub, isObject := patch[key].(map[string]any); {
		case l != nil:
			errs = append(errs, l.check(patch[key])...)
		case !branch:
			errs = append(errs, FieldError{path, "is not a known setting"})
		case !isObject:
			errs = append(errs, FieldError{path, "must be an object"})
		default:
			errs = append(errs, checkTree(path, sub)...)
		}
	}
	return errs
}

// check checks the value of one leaf.
func (l *leaf) check(v any) []FieldError {
	if v == nil {
		return nil // removes it
	}
	switch {
	case l.number != nil:
		return checkInteger(v, l.path, l.patchLo, l.patchHi)
	case l.custom != nil:
		return l.custom.check(v, l.path)
	case l.word != nil:
		w, ok := v.(string)
		switch {
		case ok && l.accepts(w):
		case l.text:
			return []FieldError{{l.path, "must be a provider and a model, as in " + l.words[0]}}
		default:
			return []FieldError{{l.path, "must be one of " + strings.Join(l.words, ", ")}}
		}
		return nil
	}
	if _, ok := v.(bool); !ok {
		return []FieldError{{l.path, "must be true or false"}}
	}
	return nil
}

// checkPairs checks what two values of one patch say together. A value that
// comes alone is clamped against the stored one by the normaliser instead.
func checkPairs(patch map[string]any) []FieldError {
	var errs []FieldError
	pair := func(a, b string) (x, y float64, ok bool) {
		av, _ := dig(patch, a)
		bv, _ := dig(patch, b)
		x, okA := av.(float64)
		y, okB := bv.(float64)
		return x, y, okA && okB
	}
	for _, class := range []string{"oauth", "apikey"} {
		at := "providerBreaker." + class + "."
		if degrade, fail, ok := pair(at+"degradationThreshold", at+"failureThreshold"); ok && fail > 1 && degrade >= fail {
			errs = append(errs, FieldError{at + "degradationThreshold", "must be less than failureThreshold"})
		}
	}
	const gate = "providerCooldown."
	if lo, hi, ok := pair(gate+"minRetryCooldownMs", gate+"maxRetryCooldownMs"); ok && hi < lo {
		errs = append(errs, FieldError{gate + "maxRetryCooldownMs", "must not be less than minRetryCooldownMs"})
	}
	return errs
}

// merge puts a checked patch into the stored document.
func merge(at string, doc, patch map[string]any) {
	for key, v := range patch {
		path := strings.TrimPrefix(at+"."+key, ".")
		if l, _ := find(path); l != nil {
			if v == nil {
				delete(doc, key)
			} else {
				doc[key] = v
			}
			continue
		}
		sub := object(doc[key])
		if sub == nil {
			sub = map[string]any{}
		}
		merge(path, sub, object(v))
		if len(sub) == 0 {
			delete(doc, key)
		} else {
			doc[key] = sub
		}
	}
}
