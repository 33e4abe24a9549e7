package simulator

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// shellTools are names under which agents offer a shell, the best first.
var shellTools = []string{"bash", "shell", "exec_command", "shell_command", "run_command", "run_terminal_cmd", "execute_command"}

// command is what the simulator runs in a shell tool: harmless everywhere.
const command = "echo hi"

// pickTool fills in what the call leaves open: a shell if one is offered, else
// the first tool, with arguments that fit its schema.
func (q *request) pickTool(want *Tool) (Tool, bool) {
	var t Tool
	if want != nil {
		t = *want
	}
	var schema gjson.Result
	if found, ok := q.findTool(t.Name); ok {
		t.Name, schema = found.name, found.schema
	}
	if t.Name == "" {
		return Tool{}, false
	}
	if t.Arguments == "" {
		t.Arguments = string(text(example(schema, "", 0)))
	}
	return t, true
}

func (q *request) findTool(name string) (offered, bool) {
	if name != "" {
		for _, t := range q.tools {
			if t.name == name {
				return t, true
			}
		}
		return offered{}, false
	}
	for _, want := range shellTools {
		for _, t := range q.tools {
			if strings.EqualFold(t.name, want) {
				return t, true
			}
		}
	}
	if len(q.tools) > 0 {
		return q.tools[0], true
	}
	return offered{}, false
}

// maxSchemaDepth ends the reading of schemas that nest too deep.
const maxSchemaDepth = 6

// example makes a value that fits a JSON schema, with only the required
// properties.
func example(schema gjson.Result, name string, depth int) any {
	if e := schema.Get("enum.0"); e.Exists() {
		return json.RawMessage(e.Raw)
	}
	typ := schema.Get("type")
	kind := typ.Str
	if typ.IsArray() {
		kind = typ.Get("0").Str
	}
	switch kind {
	case "string":
		return exampleText(name)
	case "integer", "number":
		return 1
	case "boolean":
		return false
	case "null":
		return nil
	case "array":
		if name == "command" || name == "cmd" {
			return arr{"echo", "hi"}
		}
		return arr{}
	}
	out := obj{}
	if depth >= maxSchemaDepth {
		return out
	}
	schema.Get("required").ForEach(func(_, key gjson.Result) bool {
		prop := schema.Get("properties").Get(gjson.Escape(key.Str))
		out = append(out, key.Str, example(prop, key.Str, depth+1))
		return true
	})
	return out
}

func exampleText(name string) string {
	switch strings.ToLower(name) {
	case "command", "cmd", "script":
		return command
	case "description":
		return "Say hi"
	}
	return "hi"
}
