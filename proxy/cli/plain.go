package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"breakwater/proxy/control"
)

// strictly reads JSON into dst and refuses fields that dst does not have: a
// typing error must not pass for a change. Mistakes are told in plain words;
// what is the word for one field.
func strictly(raw []byte, dst any, what string) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(dst); err != nil {
		return plainly(err, raw, what)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		line := 1 + bytes.Count(raw[:dec.InputOffset()], []byte("\n"))
		return fmt.Errorf("something follows the JSON, from line %d on", line)
	}
	return nil
}

// printable takes out of a text what would move the cursor or start another
// line: names and reasons may come from anywhere.
func printable(text string) string {
	return without(text, "")
}

// harmless is printable for texts of several lines.
func harmless(text string) string { return without(text, "\n\t") }

func without(text, but string) string {
	return strings.Map(func(r rune) rune {
		if !strings.ContainsRune(but, r) && (unicode.IsControl(r) || r == '\u2028' || r == '\u2029') {
			return '?'
		}
		return r
	}, text)
}

// plainly puts what the JSON reader found into words for people.
func plainly(err error, raw []byte, what string) error {
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		path := strings.Split(wrong.Field, ".")
		// The reader names embedded types too, which are nobody's fields.
		path = slices.DeleteFunc(path, func(p string) bool { return p == "" || unicode.IsUpper(rune(p[0])) })
		field := strings.Join(path, ".")
		if field == "" {
			field = "the whole"
		}
		given, ok := valueAt(raw, path)
		if !ok {
			given = wrong.Value // its kind
		}
		return fmt.Errorf("%s: expected %s, got %s", field, kindOf(wrong.Type), given)
	}
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		line := 1 + bytes.Count(raw[:min(int(bad.Offset), len(raw))], []byte("\n"))
		return fmt.Errorf("this is not JSON, from line %d on", line)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON ends too early")
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("there is no %s %s", what, name)
	}
	return errors.New("this cannot be read: " + strings.TrimPrefix(err.Error(), "json: "))
}

// kindOf names a type for people.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Pointer:
		return kindOf(t.Elem())
	default:
		return "another value"
	}
}

// withGiven adds to a refusal what was given for each of its fields.
func withGiven(err error, raw []byte) error {
	bad, ok := errors.AsType[*control.InvalidError](err)
	if !ok {
		return err
	}
	out := &control.InvalidError{}
	for _, f := range bad.Fields {
		if given, ok := valueAt(raw, strings.Split(f.Field, ".")); ok {
			f.Message += ", got " + given
		}
		out.Fields = append(out.Fields, f)
	}
	return out
}

// valueAt shows what was given at a path, shortened.
func valueAt(raw []byte, path []string) (string, bool) {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return "", false
	}
	for _, part := range path {
		m, _ := v.(map[string]any)
		inner, ok := m[part]
		if !ok {
			return "", false
		}
		v = inner
	}
	return shown(v), true
}

// shown is a value of JSON in words.
func shown(v any) string {
	name := map[bool]string{true: "null"}[v == nil]
	switch v.(type) {
	case string:
		name = "the text "
	case json.Number:
		name = "the number "
	case []any:
		name = "the list "
	case map[string]any:
		name = "the object "
	case bool:
		name = "the value "
	}
	text, err := json.Marshal(v)
	if err != nil || v == nil {
		return name
	}
	const most = 60
	if len(text) > most {
		text = append(text[:most], "…"...)
	}
	return name + string(text)
}

// failure is an error as JSON.
type failure struct {
	Error failureBody `json:"error"`
}

type failureBody struct {
	Message string               `json:"message"`
	Details []control.FieldError `json:"details,omitempty"`
}

// SayError prints an error, and a hint behind it for people, as JSON where JSON
// is asked for, without what may be a secret among the arguments.
func SayError(w io.Writer, err error, hint string, args []string, asJSON bool) {
	if !asJSON {
		fmt.Fprintf(w, "breakwater: %s%s\n", harmless(Hush(err.Error(), args)), hint)
		return
	}
	out := failure{failureBody{Message: Hush(err.Error(), args)}}
	if invalid, ok := errors.AsType[*control.InvalidError](err); ok {
		for _, f := range invalid.Fields {
			f.Message = hush(f.Message, args)
			out.Error.Details = append(out.Error.Details, f)
		}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(out) // the terminal may be gone
}
