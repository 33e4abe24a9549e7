package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"breakwater/proxy/client/facadetest"
)

// described is the document as a reader gets it.
var described = sync.OnceValue(func() object {
	raw, err := json.Marshal(Document())
	if err != nil {
		panic(err)
	}
	var doc object
	if err := json.Unmarshal(raw, &doc); err != nil {
		panic(err)
	}
	return doc
})

func at(v any, path ...string) any {
	for _, p := range path {
		m, _ := v.(object)
		v = m[p]
	}
	return v
}

func TestEveryRouteIsDescribed(t *testing.T) {
	var want, got []string
	for _, rt := range Routes() {
		want = append(want, rt.Method+" "+rt.Path)
	}
	slices.Sort(want)
	if shaped := slices.Sorted(maps.Keys(shapes)); !slices.Equal(shaped, want) {
		t.Errorf("shapes\n%v\nroutes\n%v", shaped, want)
	}
	for path, item := range at(described(), "paths").(object) {
		for method := range item.(object) {
			got = append(got, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("described\n%v\nroutes\n%v", got, want)
	}
}

func TestDocumentIsWellFormed(t *testing.T) {
	doc := described()
	if at(doc, "openapi") != "3.1.0" || at(doc, "info", "version") == "" || at(doc, "info", "title") == "" {
		t.Errorf("head %v %v", at(doc, "openapi"), at(doc, "info"))
	}
	ids := map[string]bool{}
	for path, item := range at(doc, "paths").(object) {
		for method, op := range item.(object) {
			name := method + " " + path
			id, _ := at(op, "operationId").(string)
			if id == "" || ids[id] || at(op, "summary") == "" {
				t.Errorf("%s: operationId %q is missing or came twice, or there is no summary", name, id)
			}
			ids[id] = true
			for _, m := range inPath.FindAllStringSubmatch(path, -1) {
				if !slices.ContainsFunc(at(op, "parameters").([]any), func(p any) bool {
					return at(p, "name") == m[1] && at(p, "in") == "path" && at(p, "required") == true
				}) {
					t.Errorf("%s: the parameter %s is not declared", name, m[1])
				}
			}
			answers := maps.Clone(at(op, "responses").(object))
			delete(answers, "304")
			if len(answers) != 2 || answers["default"] == nil {
				t.Errorf("%s: answers %v", name, answers)
			}
		}
	}
	public := at(doc, "paths", "/api/monitoring/health", "get", "security")
	if list, ok := public.([]any); !ok || len(list) != 0 {
		t.Errorf("the public route asks for %v", public)
	}
	resolve(t, doc, doc)
}

// resolve checks that every reference leads somewhere.
func resolve(t *testing.T, doc object, v any) {
	switch v := v.(type) {
	case object:
		if ref, ok := v["$ref"].(string); ok && at(doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...) == nil {
			t.Errorf("%s leads nowhere", ref)
		}
		for _, inner := range v {
			resolve(t, doc, inner)
		}
	case []any:
		for _, inner := range v {
			resolve(t, doc, inner)
		}
	}
}

func TestDocumentIsServed(t *testing.T) {
	b := newBench(t)
	body := b.run(t, scenario{method: "GET", path: "/api/openapi.json", status: 200, want: []string{`"openapi":"3.1.0"`, `"/api/providers/{id}/test"`}, calls: []string{}})
	raw, err := json.Marshal(described())
	if err != nil || strings.TrimSpace(body) != string(raw) {
		t.Errorf("the served document is another one: %v", err)
	}
	b.run(t, scenario{method: "GET", path: "/api/openapi.json", header: map[string]string{"Authorization": ""}, status: 401, want: []string{"AUTH_001"}})
}

// conforms holds an answer to the description; every scenario goes through it.
func conforms(t *testing.T, s scenario, got answer) {
	t.Helper()
	a := newAPI(Options{Facade: facadetest.New()})
	_, pattern := a.mux.Handler(httptest.NewRequestWithContext(t.Context(), s.method, s.path, nil))
	method, path, _ := strings.Cut(pattern, " ")
	responses := at(described(), "paths", path, strings.ToLower(method), "responses")
	if responses == nil {
		return // no route: 404 or 405
	}
	code := "default"
	if got.status < 400 {
		code = fmt.Sprint(got.status)
	}
	if at(responses, code) == nil {
		t.Errorf("%s: the status %d is not described", pattern, got.status)
		return
	}
	schema, _ := at(responses, code, "content", "application/json", "schema").(object)
	if schema == nil || got.header.Get("Content-Type") != "application/json" || got.body == "" {
		return
	}
	var v any
	decodeInto(t, got.body, &v)
	if err := fits(v, schema); err != nil {
		t.Errorf("%s %d: %v", pattern, got.status, err)
	}
}

// fits checks a value against the part of JSON Schema that schemas writes.
// Fields that are not described are wrong, too.
func fits(v any, schema object) error {
	if ref, ok := schema["$ref"].(string); ok {
		schema = at(described(), strings.Split(strings.TrimPrefix(ref, "#/"), "/")...).(object)
	}
	if options, ok := schema["anyOf"].([]any); ok {
		var last error
		for _, o := range options {
			if last = fits(v, o.(object)); last == nil {
				return nil
			}
		}
		return last
	}
	want, typed := schema["type"]
	if !typed {
		return nil
	}
	switch v := v.(type) {
	case object:
		return fitsObject(v, schema)
	case []any:
		for i, item := range v {
			if err := fits(item, schema["items"].(object)); err != nil {
				return fmt.Errorf("%d: %w", i, err)
			}
		}
		return is("array", want)
	case string:
		if schema["format"] == "date-time" {
			if _, err := time.Parse(time.RFC3339Nano, v); err != nil {
				return err
			}
		}
		return is("string", want)
	case bool:
		return is("boolean", want)
	case float64:
		if want == "number" {
			return nil
		}
		return is("integer", want)
	default:
		return is("null", want)
	}
}

func is(got string, want any) error {
	if got != want {
		return fmt.Errorf("%s in place of %v", got, want)
	}
	return nil
}

func fitsObject(v, schema object) error {
	if extra, ok := schema["additionalProperties"].(object); ok {
		for name, inner := range v {
			if err := fits(inner, extra); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return is("object", schema["type"])
	}
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, ok := v[name.(string)]; !ok {
			return fmt.Errorf("%s is missing", name)
		}
	}
	for name, inner := range v {
		property, ok := at(schema, "properties", name).(object)
		if !ok {
			return fmt.Errorf("%s is not described", name)
		}
		if err := fits(inner, property); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return is("object", schema["type"])
}

// The description of every body is what the strict decoder takes: its fields
// and no others.
func TestBodiesAreWhatTheDecoderTakes(t *testing.T) {
	for name, sh := range shapes {
		method, path, _ := strings.Cut(name, " ")
		schema := at(described(), "paths", path, strings.ToLower(method), "requestBody", "content", "application/json", "schema")
		if (sh.in == nil) != (schema == nil) {
			t.Errorf("%s: body %v", name, schema)
		}
		if sh.in != nil && method == http.MethodGet {
			t.Errorf("%s takes a body", name)
		}
		if sh.in != nil && at(schema, "properties") != nil && at(schema, "additionalProperties") != false {
			t.Errorf("%s: the description allows unknown fields", name)
		}
	}
	if at(described(), "paths", "/api/providers/{id}", "patch", "requestBody", "content", "application/json", "schema", "properties", "providerSpecificData", "properties", "baseUrl") == nil {
		t.Error("nested and embedded fields are not described")
	}
}
