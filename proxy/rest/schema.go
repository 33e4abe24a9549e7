package rest

import (
	"reflect"
	"strings"
	"time"

	"breakwater/proxy/control"
)

// object is a JSON object of the API's description.
type object = map[string]any

// schemas turns Go types into JSON Schema (draft 2020-12, as OpenAPI 3.1
// takes it), so that the description cannot drift from the code.
type schemas struct {
	components object // of answers, by package and type name
}

// answer describes what encoding/json writes: every field without omitempty is
// there.
func (s *schemas) answer(t reflect.Type) object {
	if t.Kind() != reflect.Struct || special(t) != nil {
		return s.of(t, s.answer)
	}
	name := t.String()
	if t.Name() == "" || strings.ContainsAny(name, "[/") {
		return s.fields(t, s.answer, true)
	}
	if _, done := s.components[name]; !done {
		s.components[name] = object{} // ends a recursion
		s.components[name] = s.fields(t, s.answer, true)
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// body describes what the strict decoder takes: any of the fields, no others,
// and null for an absent one.
func (s *schemas) body(t reflect.Type) object {
	if t == stepType {
		o := s.fields(t, s.body, false)
		o["properties"].(object)["provider"] = object{"type": "string"}
		return object{"anyOf": []any{object{"type": "string"}, o}}
	}
	if t.Kind() == reflect.Struct && special(t) == nil {
		o := s.fields(t, s.body, false)
		o["additionalProperties"] = false
		return o
	}
	return s.of(t, s.body)
}

// special describes the types that have a JSON form of their own, nil for all
// others.
func special(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[control.OptionalTime]():
		return object{"type": []string{"string", "null"}, "format": "date-time"}
	case rawType, reflect.TypeFor[control.OptionalJSON]():
		return object{} // any value; it has a strict reader of its own
	}
	return nil
}

// of describes a type that is no struct of ours; inner describes what it holds.
func (s *schemas) of(t reflect.Type, inner func(reflect.Type) object) object {
	if o := special(t); o != nil {
		return o
	}
	switch t.Kind() {
	case reflect.Pointer:
		return object{"anyOf": []any{inner(t.Elem()), object{"type": "null"}}}
	case reflect.Slice, reflect.Array:
		return object{"type": "array", "items": inner(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": inner(t.Elem())}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Interface:
		return object{}
	default:
		return object{"type": "integer"}
	}
}

// fields describes a struct with the fields of its embedded structs.
func (s *schemas) fields(t reflect.Type, inner func(reflect.Type) object, required bool) object {
	properties, always := object{}, []string{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		properties[name] = inner(f.Type)
		if !strings.Contains(options, "omit") {
			always = append(always, name)
		}
	}
	o := object{"type": "object", "properties": properties}
	if required && len(always) > 0 {
		o["required"] = always
	}
	return o
}
