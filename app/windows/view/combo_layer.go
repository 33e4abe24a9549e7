package view

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"breakwater/proxy/control"
)

// layerPath is where the card's knobs live, and layerRest what has no knob.
const (
	layerPath = "own"
	layerRest = layerPath + ".rest"
)

// ComboDefaultsCard returns the card of what holds for every combo that does
// not say otherwise.
func ComboDefaultsCard() KnobCard {
	return layerCard("comboDefaults", T("Combos"), T("Every combo. What a combo does not set itself holds as here; the page of a provider may differ for combos that begin with it."))
}

// ComboProviderCard returns the same card for the combos whose first step is a
// provider's.
func ComboProviderCard() KnobCard {
	return layerCard("providerOverrides", T("Combos that begin here"), T("Combos whose first step is this provider's. What is empty here holds as in the settings; a combo may still differ."))
}

func layerCard(key, title, about string) KnobCard {
	usual := T("usual")
	row := func(label, note string, k Knob) KnobRow {
		k.Path = layerPath + "." + k.Path
		if k.Blank = usual; k.Kind == KnobJSON {
			k.Blank = ""
		}
		return KnobRow{Label: label, Note: note, Knobs: []Knob{k}}
	}
	tri := func(key string) Knob { return Knob{Path: key, Kind: KnobTri} }
	return KnobCard{Key: key, Title: title, About: about, Rows: []KnobRow{
		row(T("Retries of a target"), T("Before the next one is asked; usually 1."), count("maxRetries", 0, 10)),
		row(T("Pause before a retry"), T("Usually 2 s."), seconds("retryDelayMs", 0, 60)),
		row(T("Next target before a retry"), T("Usually always: a retry comes when no other target is left."), tri("failoverBeforeRetry")),
		row(T("Pause before the next target"), T("Usually none."), seconds("fallbackDelayMs", 0, 60)),
		row(T("Further rounds"), T("Through all targets once each has failed; usually none."), count("maxSetRetries", 0, 10)),
		row(T("Pause between rounds"), T("Usually 2 s."), seconds("setRetryDelayMs", 0, 60)),
		row(T("Attempts in all"), T("For one request; usually 30."), count("maxGlobalAttempts", 1, 200)),
		row(T("Longest time for a request"), T("0 does not limit it, which is usual."), seconds("comboTimeoutMs", 0, secondsPerDay)),
		row(T("Longest time for a target"), T("0 leaves it to the connection, which is usual."), seconds("targetTimeoutMs", 0, secondsPerDay)),
		row(T("Requests at a time, by model"), T("Of strategies that queue; usually 3."), count("concurrencyPerModel", 1, 20)),
		row(T("Longest wait for a turn"), T("Usually 30 s."), seconds("queueTimeoutMs", 1, 120)),
		row(T("Ask a second target meanwhile"), T("When the first is slow; the quicker answer counts. Usually never."), tri("hedging")),
		row(T("How slow that is"), T("Usually 0.5 s."), seconds("hedgeDelayMs", 0, 60)),
		row(T("Further keys"), T(`As JSON, for what has no line here: {"judgeModel":"openai/gpt-5"}.`), Knob{Path: "rest", Kind: KnobJSON}),
	}}
}

// LayerValues returns a layer of combo settings as the card shows it.
func LayerValues(layer map[string]any) KnobValues {
	v := KnobValues{values: map[string]any{}, origins: map[string]string{}}
	rest := map[string]any{}
	for key, value := range layer {
		path := layerPath + "." + key
		if !layerKnob(path) {
			rest[key] = value
			continue
		}
		if n, ok := value.(int); ok {
			value = float64(n)
		}
		v.values[path], v.origins[path] = value, "stored"
	}
	if len(rest) > 0 {
		v.values[layerRest], v.origins[layerRest] = string(encode(rest)), "stored"
	}
	return v
}

func layerKnob(path string) bool {
	for _, k := range ComboDefaultsCard().Knobs() {
		if k.Path == path && path != layerRest {
			return true
		}
	}
	return false
}

// LayerPatch returns a layer with a change of the card in it.
func LayerPatch(layer map[string]any, patch json.RawMessage) map[string]any {
	out := maps.Clone(layer)
	if out == nil {
		out = map[string]any{}
	}
	var change struct {
		Own map[string]any `json:"own"`
	}
	if json.Unmarshal(patch, &change) != nil {
		return out // the card wrote it
	}
	rest, given := change.Own["rest"]
	delete(change.Own, "rest")
	if given {
		maps.DeleteFunc(out, func(key string, _ any) bool { return !layerKnob(layerPath + "." + key) })
		further, _ := rest.(map[string]any)
		maps.Copy(out, further)
	}
	for key, value := range change.Own {
		if value == nil {
			delete(out, key)
		} else {
			out[key] = value
		}
	}
	return out
}

// LayerError renames the fields of a refusal to those of the card; at is where
// the layer lives. What has no line of its own belongs to the further keys.
func LayerError(err error, at string) error {
	var invalid *control.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	out := &control.InvalidError{}
	for _, f := range invalid.Fields {
		if key, ok := strings.CutPrefix(f.Field, at+"."); ok {
			f.Field = layerPath + "." + key
			if !layerKnob(f.Field) {
				f.Field, f.Message = layerRest, key+" "+f.Message
			}
		}
		out.Fields = append(out.Fields, f)
	}
	return out
}

// jsonValue reads further keys; nothing is no key.
func jsonValue(s string) (any, string) {
	if strings.TrimSpace(s) == "" {
		return nil, ""
	}
	var out map[string]any
	if json.Unmarshal([]byte(s), &out) != nil {
		return nil, T("An object in JSON, with its keys in double quotes.")
	}
	for key := range out {
		if layerKnob(layerPath + "." + key) {
			return nil, Tf("%s has a line of its own above.", key)
		}
	}
	return out, ""
}
