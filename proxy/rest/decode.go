package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"breakwater/proxy/control"
)

// isWrite reports whether the method changes something.
func isWrite(method string) bool {
	return method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions
}

// checkContentType refuses a write that is not JSON. A write without any body
// may do without a type, but not with another one: forms of foreign pages
// always name theirs.
func checkContentType(r *http.Request) error {
	if !isWrite(r.Method) {
		return nil
	}
	header := r.Header.Get("Content-Type")
	if header == "" && r.ContentLength == 0 {
		return nil
	}
	media, params, err := mime.ParseMediaType(header)
	if err != nil || media != "application/json" {
		return errContentType
	}
	if set := params["charset"]; set != "" && !strings.EqualFold(set, "utf-8") {
		return errCharset
	}
	return nil
}

// readBody returns the whole body, at most MaxBody bytes.
func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength > MaxBody && r.Header.Get("Expect") != "" {
		return nil, errTooLarge // before anything is read: the client is not told to go on
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, errEncoding
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
	if err != nil {
		return nil, control.Invalid("body", "The request body could not be read")
	}
	if len(data) > MaxBody {
		return nil, errTooLarge
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), nil // some editors and shells begin with it
}

// decode reads the body's JSON object into dst, a pointer to a struct, and
// refuses unknown, doubled and mistyped fields, naming every one. ignored
// fields may come and mean nothing. An empty body is refused.
func decode(r *http.Request, dst any, ignored ...string) error {
	data, err := readBody(r)
	if err != nil {
		return err
	}
	return decodeObject(data, dst, ignored)
}

// decodeSettings is decode for a change of settings, in which null stands for
// the default.
func decodeSettings(r *http.Request, dst *control.AllSettingsPatch) error {
	data, err := readBody(r)
	if err != nil {
		return err
	}
	return (&strict{defaults: control.SettingDefault}).read(data, dst)
}

// decodeOptional is decode for routes whose body may be empty.
func decodeOptional(r *http.Request, dst any) error {
	data, err := readBody(r)
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return err
	}
	return decodeObject(data, dst, nil)
}

// badJSON tells that a body is no JSON.
const badJSON = "Invalid JSON body"

func decodeObject(data []byte, dst any, ignored []string) error {
	return (&strict{ignored: ignored}).read(data, dst)
}

func (s *strict) read(data []byte, dst any) error {
	if !json.Valid(data) {
		return control.Invalid("body", badJSON)
	}
	if err := checkDepth(data); err != nil {
		return err
	}
	s.object("", data, reflect.ValueOf(dst).Elem())
	return s.err()
}

// strict decodes objects field by field, so that every wrong field is named
// and names are taken literally (encoding/json folds case and lets the last of
// two equal names win).
type strict struct {
	ignored []string
	// defaults, when there is any, tells what null at a path stands for.
	defaults func(path string) (json.RawMessage, bool)
	merge
}

func (s *strict) add(path, message string) {
	if path == "" {
		path = "body"
	}
	s.merge.add(path, message)
}

func (s *strict) object(path string, data []byte, dst reflect.Value) {
	members, ok := split(data)
	if !ok {
		s.add(path, "Expected object")
		return
	}
	fields := fieldsOf(dst.Type())
	seen := map[string]bool{}
	for _, m := range members {
		at := m.name
		if path != "" {
			at = path + "." + m.name
		}
		index, ok := fields[m.name]
		switch {
		case seen[m.name]:
			s.add(at, "Given twice")
		case ok:
			s.value(at, m.value, dst.FieldByIndex(index))
		case path != "" || !slices.Contains(s.ignored, m.name):
			s.add(at, "Unknown field")
		}
		seen[m.name] = true
	}
}

func (s *strict) value(path string, data []byte, dst reflect.Value) {
	if dst.Type() == stepType {
		s.step(path, data, dst)
		return
	}
	// A type that reads itself may have a meaning for null.
	if u, ok := reflect.TypeAssert[json.Unmarshaler](dst.Addr()); ok && dst.Type() != rawType {
		if u.UnmarshalJSON(data) != nil {
			s.add(path, "Expected a time such as 2030-01-02T15:04:05Z")
		}
		return
	}
	if string(data) == "null" && s.defaults != nil {
		if value, ok := s.defaults(path); ok {
			data = value
		}
	}
	if string(data) == "null" {
		return // absent
	}
	t := dst.Type()
	if t.Kind() == reflect.Pointer {
		fresh := reflect.New(t.Elem())
		s.value(path, data, fresh.Elem())
		dst.Set(fresh)
		return
	}
	switch {
	case t == rawType: // has a strict reader of its own
		dst.SetBytes(bytes.Clone(data))
	case t.Kind() == reflect.Struct:
		s.object(path, data, dst)
	case t.Kind() == reflect.Slice:
		s.array(path, data, dst)
	case t.Kind() == reflect.Map:
		s.mapping(path, data, dst)
	default:
		if err := json.Unmarshal(data, dst.Addr().Interface()); err != nil {
			s.add(path, expected(err, t))
		}
	}
}

var (
	rawType  = reflect.TypeFor[json.RawMessage]()
	stepType = reflect.TypeFor[control.ComboStep]()
)

// step reads a step of a combo, which has a lenient form of its own: a model's
// name alone will do, and provider is another word for providerId.
func (s *strict) step(path string, data []byte, dst reflect.Value) {
	fields := fieldsOf(stepType)
	members, _ := split(data)
	for _, m := range members {
		if _, ok := fields[m.name]; !ok && m.name != "provider" {
			s.add(path+"."+m.name, "Unknown field")
		}
	}
	if string(data) == "null" || json.Unmarshal(data, dst.Addr().Interface()) != nil {
		s.add(path, "Expected the name of a model, or a step")
	}
}

func (s *strict) array(path string, data []byte, dst reflect.Value) {
	var items []json.RawMessage
	if json.Unmarshal(data, &items) != nil {
		s.add(path, "Expected array")
		return
	}
	out := reflect.MakeSlice(dst.Type(), len(items), len(items))
	for i, item := range items {
		at := path + "." + strconv.Itoa(i)
		if string(item) == "null" {
			s.add(at, "Expected a value")
			continue
		}
		s.value(at, item, out.Index(i))
	}
	dst.Set(out)
}

// mapping reads an object whose members have names of the user's own.
func (s *strict) mapping(path string, data []byte, dst reflect.Value) {
	members, ok := split(data)
	if !ok {
		s.add(path, "Expected object")
		return
	}
	out := reflect.MakeMapWithSize(dst.Type(), len(members))
	for _, m := range members {
		at, key := path+"."+m.name, reflect.ValueOf(m.name)
		if out.MapIndex(key).IsValid() {
			s.add(at, "Given twice")
		}
		item := reflect.New(dst.Type().Elem()).Elem()
		s.value(at, m.value, item)
		out.SetMapIndex(key, item)
	}
	dst.Set(out)
}

func expected(err error, t reflect.Type) string {
	kind := "value"
	switch t.Kind() { // those that the facade's types have
	case reflect.String:
		kind = "string"
	case reflect.Bool:
		kind = "boolean"
	case reflect.Float32, reflect.Float64:
		kind = "number"
	case reflect.Int, reflect.Int64:
		kind = "integer"
	default:
	}
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && !strings.HasPrefix(te.Value, "number ") {
		return "Expected " + kind + ", got " + te.Value
	}
	return "Expected " + kind
}

type member struct {
	name  string
	value json.RawMessage
}

// split returns the members of a JSON object in their order, doubled ones
// included.
func split(data []byte) ([]member, bool) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var out []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, false
		}
		var m member
		m.name, _ = name.(string)
		if dec.Decode(&m.value) != nil {
			return nil, false
		}
		out = append(out, m)
	}
	return out, true
}

// fieldsOf maps JSON names to fields, those of embedded structs included.
func fieldsOf(t reflect.Type) map[string][]int {
	out := map[string][]int{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out[name] = f.Index
		}
	}
	return out
}
