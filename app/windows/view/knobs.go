package view

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"breakwater/proxy/control"
)

// KnobKind says how a knob is set.
type KnobKind uint8

// The kinds of knobs.
const (
	KnobNumber KnobKind = iota
	KnobSwitch
	KnobTri   // on, off, or left to the provider
	KnobCodes // a list of statuses
	KnobChoice
	KnobModel // provider/model
	KnobPairs // a list of name=percent
	KnobJSON  // further keys
)

// Knob is one value of the resilience settings as a person sets it.
type Knob struct {
	Path   string // where it lives, dotted: the name that errors carry
	Kind   KnobKind
	Unit   string
	Scale  int64 // stored per shown, 1000 for seconds kept as milliseconds
	Lo, Hi int64 // bounds, as shown
	// Least is the lower bound where that is a fraction.
	Least float64
	// Options are what a choice offers.
	Options []Option
	// Blank says what an empty field stands for; without it a number is needed.
	Blank string
}

// KnobRow is one line of a card: a knob for each column.
type KnobRow struct {
	Label, Note string
	Knobs       []Knob
}

// KnobCard is a group of knobs with what they are about: scope, trigger and
// effect.
type KnobCard struct {
	Key          string
	Title, About string
	Columns      []string // titles, where there is more than one
	Rows         []KnobRow
	pairs        []knobPair
}

// knobPair are two knobs that must stay in order.
type knobPair struct {
	low, high string // paths
	strict    bool   // they may not be equal
	message   string
}

// Knobs returns the card's knobs in their order.
func (c KnobCard) Knobs() []Knob {
	var out []Knob
	for _, r := range c.Rows {
		out = append(out, r.Knobs...)
	}
	return out
}

// KnobValues are the values in force and where each comes from.
type KnobValues struct {
	values  map[string]any
	origins map[string]string
}

// ResilienceValues takes the values out of the resilience settings.
func ResilienceValues(r control.Resilience) KnobValues {
	v := KnobValues{values: flatten(r.Settings), origins: map[string]string{}}
	for path, o := range r.Origins {
		v.origins[path] = string(o)
	}
	return v
}

// lockoutDefaults are the built-in figures of the model lockout (settings sheet
// §1.1). The guide's settings do not tell origins, so a value that differs from
// these is taken for stored.
var lockoutDefaults = map[string]string{
	"modelLockout.enabled": "false", "modelLockout.errorCodes": "403, 404, 429, 502, 503, 504", "modelLockout.baseCooldownMs": "120",
	"modelLockout.maxCooldownMs": "1800", "modelLockout.maxBackoffSteps": "10", "modelLockout.useExponentialBackoff": "true",
}

// LockoutValues takes the values out of the guide's settings.
func LockoutValues(g control.Guide) KnobValues {
	v := KnobValues{values: flatten(map[string]any{"modelLockout": g.ModelLockout}), origins: map[string]string{}}
	for _, k := range LockoutCard().Knobs() {
		v.origins[k.Path] = "stored"
		if v.Shown(k) == lockoutDefaults[k.Path] {
			v.origins[k.Path] = "default"
		}
		if told := g.GuideOrigins[k.Path]; told != "" {
			v.origins[k.Path] = string(told)
		}
	}
	return v
}

// SessionValues takes the values of the conversations' card out of all settings.
// They have no origins: one that is not nothing was set here.
func SessionValues(a control.AllSettings) KnobValues {
	v := KnobValues{values: flatten(a), origins: map[string]string{}}
	for _, k := range SessionsCard().Knobs() {
		if s := v.Shown(k); s != "0" && s != "false" {
			v.origins[k.Path] = "stored"
		}
	}
	return v
}

// SessionPatch turns a change of the conversations' card into one of all
// settings, where nothing takes a value back.
func SessionPatch(patch json.RawMessage) (control.AllSettingsPatch, error) {
	var doc map[string]any
	if err := json.Unmarshal(patch, &doc); err != nil {
		return control.AllSettingsPatch{}, err
	}
	for _, k := range SessionsCard().Knobs() {
		if v, given := doc[k.Path]; given && v == nil {
			doc[k.Path] = any(0)
			if k.Kind == KnobSwitch {
				doc[k.Path] = false
			}
		}
	}
	var out control.AllSettingsPatch
	err := json.Unmarshal(encode(doc), &out)
	return out, err
}

// flatten returns the leaves of a value's JSON form by dotted path.
func flatten(v any) map[string]any {
	out, doc := map[string]any{}, map[string]any{}
	if raw, err := json.Marshal(v); err == nil {
		_ = json.Unmarshal(raw, &doc)
	}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			out[at] = v
			return
		}
		for key, v := range m {
			walk(strings.TrimPrefix(at+"."+key, "."), v)
		}
	}
	walk("", doc)
	return out
}

// Shown returns the value of a knob as its control shows it: a figure, "true",
// "false", a list, or nothing for a tri-state that is left to the provider.
func (v KnobValues) Shown(k Knob) string {
	switch x := v.values[k.Path].(type) {
	case string:
		return x
	case bool:
		return strconv.FormatBool(x)
	case float64:
		return strconv.FormatFloat(x/float64(max(k.Scale, 1)), 'f', -1, 64)
	case []any:
		words := make([]string, len(x))
		for i, one := range x {
			n, _ := one.(float64)
			words[i] = strconv.Itoa(int(n))
		}
		return strings.Join(words, ", ")
	}
	return ""
}

// Stored reports whether the value is the user's own, which can be taken back.
func (v KnobValues) Stored(k Knob) bool { return v.origins[k.Path] == "stored" }

// Origin returns in words where the value comes from.
func (v KnobValues) Origin(k Knob) string {
	switch v.origins[k.Path] {
	case "stored":
		return T("set here")
	case "env":
		return T("from the environment")
	}
	return T("default")
}

// Typed returns what a field holds after s was typed: what no value begins with
// is dropped, and what is too large becomes the largest.
func (k Knob) Typed(s string) string {
	keep := "0123456789"
	switch {
	case k.Kind == KnobModel || k.Kind == KnobPairs || k.Kind == KnobJSON:
		return s
	case k.Kind == KnobCodes:
		keep += ", "
	case k.Scale > 1:
		keep += "."
	}
	out := strings.Map(func(r rune) rune {
		if strings.ContainsRune(keep, r) {
			return r
		}
		return -1
	}, strings.ReplaceAll(s, ",", comma(k)))
	if k.Kind == KnobCodes {
		return out
	}
	if whole, rest, ok := strings.Cut(out, "."); ok {
		rest = strings.ReplaceAll(rest, ".", "")
		out = whole + "." + rest[:min(3, len(rest))]
	}
	if f, err := strconv.ParseFloat(out, 64); err == nil && f > float64(k.Hi) {
		return strconv.FormatInt(k.Hi, 10)
	}
	return out
}

// comma is what a typed comma stands for: the decimal point of a figure.
func comma(k Knob) string {
	if k.Kind == KnobCodes {
		return ","
	}
	return "."
}

// value reads what is shown, or says what is wrong with it.
func (k Knob) value(s string) (any, string) {
	switch k.Kind {
	case KnobSwitch:
		return s == "true", ""
	case KnobTri:
		if s == "" {
			return nil, ""
		}
		return s == "true", ""
	case KnobCodes:
		codes := []int{}
		for _, w := range Words(s) {
			n, err := strconv.Atoi(w)
			if err != nil || n < 100 || n > 599 {
				return nil, T("Statuses from 100 to 599, separated by commas.")
			}
			if !slices.Contains(codes, n) {
				codes = append(codes, n)
			}
		}
		if len(codes) == 0 || len(codes) > 20 {
			return nil, T("1 to 20 statuses.")
		}
		return codes, ""
	case KnobChoice:
		return choiceValue(s), ""
	case KnobModel:
		return modelValue(s)
	case KnobPairs:
		return pairsValue(s)
	case KnobJSON:
		return jsonValue(s)
	}
	if s == "" && k.Blank != "" {
		return nil, ""
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < k.lowest() || f > float64(k.Hi) {
		return nil, k.Range()
	}
	return int64(math.Round(f * float64(max(k.Scale, 1)))), ""
}

func (k Knob) lowest() float64 { return max(float64(k.Lo), k.Least) }

// Range returns the bounds in words.
func (k Knob) Range() string {
	if k.Least > 0 {
		return Tf("More than 0, up to %d %s.", k.Hi, k.Unit)
	}
	if k.Unit != "" {
		return Tf("From %d to %d %s.", k.Lo, k.Hi, k.Unit)
	}
	return Tf("From %d to %d.", k.Lo, k.Hi)
}

// Patch returns the change from the values in force to what is shown in the
// card's controls, by path, or what is wrong with it. Without a change it is
// nil.
func (c KnobCard) Patch(v KnobValues, shown map[string]string) (json.RawMessage, []control.FieldError) {
	var errs []control.FieldError
	doc := map[string]any{}
	for _, k := range c.Knobs() {
		s, ok := shown[k.Path]
		if !ok || s == v.Shown(k) {
			continue
		}
		value, wrong := k.value(s)
		if wrong != "" {
			errs = append(errs, control.FieldError{Field: k.Path, Message: wrong})
			continue
		}
		put(doc, k.Path, value)
	}
	if len(errs) == 0 {
		errs = c.checkPairs(v, shown)
	}
	if len(errs) > 0 || len(doc) == 0 {
		return nil, errs
	}
	return encode(doc), nil
}

func (c KnobCard) checkPairs(v KnobValues, shown map[string]string) []control.FieldError {
	figure := func(path string) float64 {
		for _, k := range c.Knobs() {
			if k.Path != path {
				continue
			}
			s, ok := shown[path]
			if !ok {
				s = v.Shown(k)
			}
			f, _ := strconv.ParseFloat(s, 64)
			return f
		}
		return 0
	}
	var errs []control.FieldError
	for _, p := range c.pairs {
		low, high := figure(p.low), figure(p.high)
		if low > high || p.strict && low == high && high > 1 {
			errs = append(errs, control.FieldError{Field: p.low, Message: p.message})
		}
	}
	return errs
}

// Back returns the change that takes stored values back.
func Back(paths ...string) json.RawMessage {
	doc := map[string]any{}
	for _, p := range paths {
		put(doc, p, nil)
	}
	return encode(doc)
}

// Touches reports whether a patch changes the value at a path.
func Touches(patch json.RawMessage, path string) bool {
	_, ok := flatten(patch)[path]
	return ok
}

// Inner returns the part of a patch below one key.
func Inner(patch json.RawMessage, key string) json.RawMessage {
	var doc map[string]json.RawMessage
	_ = json.Unmarshal(patch, &doc)
	return doc[key]
}

func put(doc map[string]any, path string, v any) {
	key, rest, more := strings.Cut(path, ".")
	if !more {
		doc[key] = v
		return
	}
	sub, ok := doc[key].(map[string]any)
	if !ok {
		sub = map[string]any{}
		doc[key] = sub
	}
	put(sub, rest, v)
}

func encode(doc map[string]any) json.RawMessage {
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil // there is nothing in it that JSON does not know
	}
	return raw
}
