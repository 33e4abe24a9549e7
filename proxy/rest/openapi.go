package rest

import (
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"breakwater/build"
	"breakwater/resilience/lease"
)

// shape is what a route takes and gives, for its description.
type shape struct {
	query  []param
	in     any    // zero value of the body's type; nil has none
	status int    // of a success; 0 means 200
	out    []any  // zero values of the answers' types; none has no JSON body
	media  string // of an answer that is not JSON
}

// param is a parameter in the query.
type param struct{ name, kind, about string }

var (
	limitParam  = param{"limit", "integer", "at most so many rows"}
	offsetParam = param{"offset", "integer", "how many rows to leave out"}
)

// Document returns the OpenAPI 3.1 description of every route, made from the
// table of routes and the types that the handlers read and write.
func Document() map[string]any {
	s := &schemas{components: object{}}
	failure := s.answer(reflect.TypeFor[failureAnswer]())
	paths := object{}
	for _, rt := range routes {
		item, ok := paths[rt.Path].(object)
		if !ok {
			item = object{}
			paths[rt.Path] = item
		}
		item[strings.ToLower(rt.Method)] = s.operation(rt, shapes[rt.Method+" "+rt.Path], failure)
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Breakwater management API", "version": build.Version,
			"description": "Everything the windows can do. Each write needs the content type application/json.",
		},
		"servers":  []any{object{"url": "/"}},
		"security": []any{object{"bearer": []string{}}, object{"key": []string{}}},
		"paths":    paths,
		"components": object{
			"schemas": s.components,
			"securitySchemes": object{
				"bearer": object{"type": "http", "scheme": "bearer", "description": "the management token, or an API key with the scope manage"},
				"key":    object{"type": "apiKey", "in": "header", "name": "X-Breakwater-Key", "description": "the same in a header of its own"},
			},
		},
	}
}

func (s *schemas) operation(rt Route, sh shape, failure object) object {
	op := object{
		"operationId": operationID(rt), "summary": rt.About,
		"responses": object{
			status(sh.status): s.success(rt, sh),
			"default":         object{"description": "refused or failed", "content": jsonContent(failure)},
		},
	}
	if rt.shared() {
		op["responses"].(object)["304"] = object{"description": "not changed since the answer with the ETag in If-None-Match"}
	}
	switch {
	case rt.Public:
		op["security"] = []any{}
	case rt.Client:
		op["description"] = "Asks for an API key with the scope lease:exclusive, not for the management token. The owner goes into the header " + lease.OwnerHeader + "."
	}
	if list := parameters(rt, sh); len(list) > 0 {
		op["parameters"] = list
	}
	if sh.in != nil {
		op["requestBody"] = object{"content": jsonContent(s.body(reflect.TypeOf(sh.in)))}
	}
	return op
}

func (s *schemas) success(rt Route, sh shape) object {
	o := object{"description": rt.About}
	switch {
	case sh.media != "":
		o["content"] = object{sh.media: object{"schema": object{"type": "string"}}}
	case len(sh.out) == 1:
		o["content"] = jsonContent(s.answer(reflect.TypeOf(sh.out[0])))
	case len(sh.out) > 1:
		var any []object
		for _, v := range sh.out {
			any = append(any, s.answer(reflect.TypeOf(v)))
		}
		o["content"] = jsonContent(object{"anyOf": any})
	}
	return o
}

func jsonContent(schema object) object {
	return object{"application/json": object{"schema": schema}}
}

func status(code int) string {
	if code == 0 {
		code = http.StatusOK
	}
	return strconv.Itoa(code)
}

// inPath finds the parameters in a pattern.
var inPath = regexp.MustCompile(`\{(\w+)\}`)

func parameters(rt Route, sh shape) []object {
	var out []object
	for _, m := range inPath.FindAllStringSubmatch(rt.Path, -1) {
		out = append(out, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, p := range sh.query {
		out = append(out, object{"name": p.name, "in": "query", "description": p.about, "schema": object{"type": p.kind}})
	}
	return out
}

// operationID names a route for generated clients, as in getProvidersId.
func operationID(rt Route) string {
	var id strings.Builder
	id.WriteString(strings.ToLower(rt.Method))
	for word := range strings.FieldsFuncSeq(strings.TrimPrefix(rt.Path, "/api"), func(r rune) bool { return strings.ContainsRune("/-{}.", r) }) {
		id.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return id.String()
}

func (a *api) openAPI(*http.Request) (int, any, error) { return http.StatusOK, a.document(), nil }
