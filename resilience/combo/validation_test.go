package combo

import (
	"encoding/json"
	"testing"
)

func TestResponseValidation(t *testing.T) {
	const doc = `{"choices":[{"message":{"content":"yes","calls":[]}}],"n":3,"blank":" "}`
	read := func() any {
		var v any
		if err := json.Unmarshal([]byte(doc), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	on := func(p map[string]any) *ResponseValidation {
		return &ResponseValidation{Predicates: []map[string]any{p}}
	}
	for _, tt := range []struct {
		name string
		v    *ResponseValidation
		want bool
	}{
		{"nothing asked", &ResponseValidation{}, true},
		{"long enough", &ResponseValidation{MinLength: 8}, true},
		{"too short", &ResponseValidation{MinLength: 9}, false},
		{"blanks do not count", &ResponseValidation{MinLength: 10}, false},
		{"forbidden", &ResponseValidation{Forbidden: []string{"cannot"}}, false},
		{"forbidden but absent", &ResponseValidation{Forbidden: []string{"sorry", ""}}, true},
		{"required", &ResponseValidation{Required: []string{"I", "cannot"}}, true},
		{"required but absent", &ResponseValidation{Required: []string{"sorry"}}, false},
		{"exists", on(map[string]any{"path": "choices[0].message.content", "exists": true}), true},
		{"does not exist", on(map[string]any{"path": "choices[1]", "exists": true}), false},
		{"must not exist", on(map[string]any{"path": "choices[1]", "exists": false}), true},
		{"not empty", on(map[string]any{"path": "choices", "nonEmpty": true}), true},
		{"an empty list", on(map[string]any{"path": "choices[0].message.calls", "nonEmpty": true}), false},
		{"a blank text", on(map[string]any{"path": "blank", "nonEmpty": true}), false},
		{"equals", on(map[string]any{"path": "n", "equals": 3.0}), true},
		{"equals another", on(map[string]any{"path": "n", "equals": 4.0}), false},
		{"not equal", on(map[string]any{"path": "n", "notEquals": 4.0}), true},
		{"not equal to what is not there", on(map[string]any{"path": "m", "notEquals": 4.0}), true},
		{"a path alone asks for existence", on(map[string]any{"path": "m"}), false},
		{"an index that is none", on(map[string]any{"path": "choices[x]"}), false},
		{"a bracket that is open", on(map[string]any{"path": "choices[0"}), false},
		{"a name in a list", on(map[string]any{"path": "choices.message"}), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if why, ok := tt.v.Check(" I cannot ", func() any { return read() }); ok != tt.want || ok != (why == "") {
				t.Errorf("got %v, %q", ok, why)
			}
		})
	}
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"a.b[0].c", "[0]", "a[", "a]", "..", "[[0]]", "a[-1]", ""} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, path string) {
		at(map[string]any{"a": []any{map[string]any{"b": 1.0}}}, path)
	})
}
