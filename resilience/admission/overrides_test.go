package admission

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOverrideCases(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	long := strings.Repeat("m", 129)
	for _, c := range []struct {
		name, in string
		want     Overrides
	}{
		{
			"case 53", `{"rpm":100,"tpm":50000,"tpd":1000000,"minTime":100,"maxConcurrent":5}`,
			Overrides{RPM: n(100), TPM: n(50000), TPD: n(1000000), MinTimeMs: n(100), MaxConcurrent: n(5)},
		},
		{"case 54 null", `null`, Overrides{}},
		{"case 54 empty", `{}`, Overrides{}},
		{"case 54 zeros", `{"rpm":0,"maxConcurrent":0}`, Overrides{RPM: n(0), MaxConcurrent: n(0)}},
		{"case 55", `{"rpm":"120"}`, Overrides{RPM: n(120)}},
		{"case 58", `{"modelConcurrency":{"glm-5":1,"glm-4.7":3}}`, Overrides{ModelConcurrency: map[string]int{"glm-5": 1, "glm-4.7": 3}}},
		{"case 58 null", `{"modelConcurrency":null}`, Overrides{}},
		{"the waits", `{"maxWaitMs":120000,"executionMaxWaitMs":600000,"rpd":10000000}`, Overrides{MaxWaitMs: n(120000), ExecutionMaxWaitMs: n(600000), RPD: n(10000000)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var v any
			if err := json.Unmarshal([]byte(c.in), &v); err != nil {
				t.Fatal(err)
			}
			got, problems := ParseOverrides(v)
			if len(problems) > 0 || cmp.Diff(c.want, got) != "" {
				t.Errorf("problems %v, %s", problems, cmp.Diff(c.want, got))
			}
			if b, err := json.Marshal(got); err == nil { // what is stored reads the same
				var v any
				if err := json.Unmarshal(b, &v); err != nil {
					t.Fatal(err)
				}
				if again, _ := ParseOverrides(v); cmp.Diff(got, again) != "" {
					t.Error(cmp.Diff(got, again))
				}
			}
		})
	}
	for name, list := range map[string][]string{
		"case 56": {`{"rpm":-1}`, `{"rpm":1.5}`, `{"rpm":1000001}`, `{"tpm":100000001}`},
		"case 57": {`"bad"`, `42`, `[1]`},
		"case 59": {
			`{"modelConcurrency":{"m":0}}`, `{"modelConcurrency":{"m":-1}}`, `{"modelConcurrency":{"m":1.5}}`, `{"modelConcurrency":{"m":""}}`,
			`{"modelConcurrency":{"m":10001}}`, `{"modelConcurrency":{"` + long + `":1}}`, `{"modelConcurrency":{"":1}}`, `{"modelConcurrency":[1]}`,
		},
		"strict": {`{"rpm":""}`, `{"rpm":" "}`, `{"rpm":"many"}`, `{"rpm":null}`, `{"rpm":true}`, `{"rps":1}`, `{"rpm":1,"tpm":-1}`, `{"rpm":1e300}`},
	} {
		for _, in := range list {
			t.Run(name+" "+in[:min(len(in), 40)], func(t *testing.T) {
				var v any
				if err := json.Unmarshal([]byte(in), &v); err != nil {
					t.Fatal(err)
				}
				got, problems := ParseOverrides(v)
				if len(problems) != 1 || cmp.Diff(Overrides{}, got) != "" {
					t.Errorf("taken as %+v, problems %v", got, problems)
				}
			})
		}
	}
	for v, want := range map[any]int64{json.Number("5"): 5, 6: 6, int64(7): 7} {
		if got, problems := ParseOverrides(map[string]any{"rpm": v}); len(problems) > 0 || *got.RPM != want {
			t.Errorf("%v: %v", v, problems)
		}
	}
}
