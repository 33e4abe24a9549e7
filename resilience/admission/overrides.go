package admission

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Overrides are the figures a connection has of its own, rateLimitOverrides
// (settings sheet §2.10). A nil field leaves the setting in force; 0 means no
// limit of that kind, and for the two waits that the setting is in force.
type Overrides struct {
	RPM                *int64         `json:"rpm,omitempty"`
	RPD                *int64         `json:"rpd,omitempty"`
	TPM                *int64         `json:"tpm,omitempty"`
	TPD                *int64         `json:"tpd,omitempty"`
	MinTimeMs          *int64         `json:"minTime,omitempty"`
	MaxConcurrent      *int64         `json:"maxConcurrent,omitempty"`
	MaxWaitMs          *int64         `json:"maxWaitMs,omitempty"`
	ExecutionMaxWaitMs *int64         `json:"executionMaxWaitMs,omitempty"`
	ModelConcurrency   map[string]int `json:"modelConcurrency,omitempty"`
}

// The bounds of modelConcurrency.
const (
	maxModelName = 128
	maxModelCap  = 10_000
)

type overrideField struct {
	name string
	most int64
	at   func(*Overrides) **int64
}

// overrideFields are the numbers with their upper bounds; 0 is the lower one.
var overrideFields = []overrideField{
	{"rpm", 1_000_000, func(o *Overrides) **int64 { return &o.RPM }},
	{"rpd", 10_000_000, func(o *Overrides) **int64 { return &o.RPD }},
	{"tpm", 100_000_000, func(o *Overrides) **int64 { return &o.TPM }},
	{"tpd", 10_000_000_000, func(o *Overrides) **int64 { return &o.TPD }},
	{"minTime", 60_000, func(o *Overrides) **int64 { return &o.MinTimeMs }},
	{"maxConcurrent", 10_000, func(o *Overrides) **int64 { return &o.MaxConcurrent }},
	{"maxWaitMs", 120_000, func(o *Overrides) **int64 { return &o.MaxWaitMs }},
	{"executionMaxWaitMs", 600_000, func(o *Overrides) **int64 { return &o.ExecutionMaxWaitMs }},
}

// Problem is a field of an override that was refused.
type Problem struct{ Field, Text string }

// ParseOverrides reads decoded JSON; nil is no override. Numbers may be written
// as text. Everything that is wrong is reported, and then nothing is taken.
func ParseOverrides(v any) (Overrides, []Problem) {
	var o Overrides
	if v == nil {
		return o, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return o, []Problem{{"", "must be an object"}}
	}
	var problems []Problem
	for _, key := range sortedKeys(m) {
		i := slices.IndexFunc(overrideFields, func(f overrideField) bool { return f.name == key })
		switch {
		case key == "modelConcurrency":
			problems = append(problems, o.readModels(m[key])...)
		case i < 0:
			problems = append(problems, Problem{key, "is not a known setting"})
		default:
			f := overrideFields[i]
			n, ok := wholeNumber(m[key])
			if !ok || n < 0 || n > f.most {
				problems = append(problems, Problem{key, fmt.Sprintf("must be a whole number from 0 to %d", f.most)})
				continue
			}
			*f.at(&o) = &n
		}
	}
	if len(problems) > 0 {
		return Overrides{}, problems
	}
	return o, nil
}

func (o *Overrides) readModels(v any) []Problem {
	const field = "modelConcurrency"
	if v == nil {
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return []Problem{{field, "must be an object"}}
	}
	var problems []Problem
	for _, model := range sortedKeys(m) {
		n, ok := wholeNumber(m[model])
		switch {
		case model == "" || len(model) > maxModelName:
			problems = append(problems, Problem{field, fmt.Sprintf("a model's name has 1 to %d characters", maxModelName)})
		case !ok || n < 1 || n > maxModelCap:
			problems = append(problems, Problem{field + "." + model, fmt.Sprintf("must be a whole number from 1 to %d", maxModelCap)})
		default:
			if o.ModelConcurrency == nil {
				o.ModelConcurrency = map[string]int{}
			}
			o.ModelConcurrency[model] = int(n)
		}
	}
	return problems
}

// wholeNumber reads a JSON number, or text that is one.
func wholeNumber(v any) (int64, bool) {
	var f float64
	switch v := v.(type) {
	case float64:
		f = v
	case int:
		f = float64(v)
	case int64:
		f = float64(v)
	case json.Number:
		return wholeNumber(v.String())
	case string:
		n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if err != nil {
			return 0, false
		}
		f = n
	default:
		return 0, false
	}
	if f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
