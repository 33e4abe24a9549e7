package view

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"breakwater/proxy/control"
)

// Paths of the figures of a provider's card. They stand for the entry of one
// provider in maps that are stored whole.
const (
	ownFigures = "own"
	ownWindows = "own.windows"
)

func delayWord(seconds int64) string {
	switch {
	case seconds%3600 == 0:
		return Tf("%d h", seconds/3600)
	case seconds%60 == 0:
		return Tf("%d min", seconds/60)
	}
	return Tf("%d s", seconds)
}

// retryDelays are the choices of the retry delay (settings sheet §6.2).
func retryDelays() []Option {
	out := []Option{{Word: T("Automatic")}}
	for _, s := range []int64{15, 30, 60, 120, 300, 600, 900, 1800, 3600} {
		out = append(out, Option{ID: strconv.FormatInt(s, 10), Word: delayWord(s)})
	}
	return out
}

// ProviderCard returns the card of the figures that one provider has of its own.
func ProviderCard() KnobCard {
	own := func(name string, lo, hi int64) Knob {
		return Knob{Path: ownFigures + "." + name, Lo: lo, Hi: hi, Blank: T("Automatic")}
	}
	return KnobCard{
		Key: "provider", Title: T("Figures of its own"),
		About: T("All connections of this provider. What is empty or automatic is left to the general settings."),
		Rows: []KnobRow{
			{
				Label: T("Retry delay"), Note: T("How long a connection rests after a rate limit that names no time. The provider's own hint comes first."),
				Knobs: []Knob{{Path: ownFigures + ".rateLimitCooldownSeconds", Kind: KnobChoice, Options: retryDelays()}},
			},
			{Label: T("Requests per minute"), Note: T("For each connection."), Knobs: []Knob{own("rpm", 1, 1_000_000)}},
			{Label: T("Requests at a time"), Note: T("For each connection."), Knobs: []Knob{own("concurrency", 1, 100_000)}},
			{Label: T("Requests at a time, in all"), Note: T("Over all connections of the provider; 0 does not limit them."), Knobs: []Knob{own("providerConcurrency", 0, 100_000)}},
			{
				Label: T("Quota cut-off by window"), Note: T("Percent left at which a connection is passed over while the quota cut-off is on, as in five_hour=5, seven_day=2."),
				Knobs: []Knob{{Path: ownWindows, Kind: KnobPairs}},
			},
		},
	}
}

// ProviderValues returns the figures of one provider.
func ProviderValues(r control.Resilience, provider string) KnobValues {
	v := KnobValues{values: map[string]any{}, origins: map[string]string{}}
	put := func(path string, value any) { v.values[path], v.origins[path] = value, "stored" }
	o := r.ProviderQuotaOverrides[provider]
	for name, n := range map[string]*int64{
		"rpm": o.RPM, "concurrency": o.Concurrency, "providerConcurrency": o.ProviderConcurrency, "rateLimitCooldownSeconds": o.RateLimitCooldownSeconds,
	} {
		if n != nil {
			put(ownFigures+"."+name, float64(*n))
		}
	}
	if w := r.QuotaPreflight.ProviderWindowDefaults[provider]; len(w) > 0 {
		put(ownWindows, pairs(w))
	}
	return v
}

// ProviderPatch turns a change of the provider's card into a change of the
// resilience settings, in which the maps are replaced whole.
func ProviderPatch(r control.Resilience, provider string, patch json.RawMessage) json.RawMessage {
	var change struct {
		Own map[string]json.RawMessage `json:"own"`
	}
	if json.Unmarshal(patch, &change) != nil {
		return patch // the proxy says what is wrong with it
	}
	doc := map[string]any{}
	if windows, given := change.Own["windows"]; given {
		delete(change.Own, "windows")
		doc["quotaPreflight"] = map[string]any{"providerWindowDefaults": entryIn(r.QuotaPreflight.ProviderWindowDefaults, provider, windows)}
	}
	if len(change.Own) > 0 {
		entry := objectOf(r.ProviderQuotaOverrides[provider])
		for name, value := range change.Own {
			if string(value) == "null" {
				delete(entry, name)
			} else {
				entry[name] = value
			}
		}
		raw := encode(entry)
		if len(entry) == 0 {
			raw = nil
		}
		all := objectOf(r.ProviderQuotaOverrides)
		doc["providerQuotaOverrides"] = withEntry(all, provider, raw)
	}
	return encode(doc)
}

func entryIn(m map[string]map[string]int64, provider string, value json.RawMessage) map[string]any {
	if string(value) == "null" {
		value = nil
	}
	return withEntry(objectOf(m), provider, value)
}

func withEntry(all map[string]any, provider string, value json.RawMessage) map[string]any {
	if value == nil {
		delete(all, provider)
	} else {
		all[provider] = value
	}
	return all
}

// objectOf returns a value's JSON form as a map.
func objectOf(v any) map[string]any {
	out := map[string]any{}
	if raw, err := json.Marshal(v); err == nil && string(raw) != "null" {
		_ = json.Unmarshal(raw, &out)
	}
	return out
}

// OwnFigures names the providers that have figures of their own, with what they
// have in words, in the order of their names.
func OwnFigures(r control.Resilience, s control.Snapshot) []Option {
	names := map[string]string{}
	for _, c := range s.Connections {
		names[c.Provider] = c.ProviderName
	}
	var out []Option
	ids := map[string]bool{}
	for id := range r.ProviderQuotaOverrides {
		ids[id] = true
	}
	for id := range r.QuotaPreflight.ProviderWindowDefaults {
		ids[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		word := names[id]
		if word == "" {
			word = id
		}
		out = append(out, Option{ID: id, Word: word})
	}
	return out
}

// FiguresLine sums a provider's own figures up in one line.
func FiguresLine(r control.Resilience, provider string) string {
	v := ProviderValues(r, provider)
	var out []string
	for _, row := range ProviderCard().Rows {
		k := row.Knobs[0]
		s := v.Shown(k)
		if s == "" {
			continue
		}
		if k.Kind == KnobChoice {
			n, _ := strconv.ParseInt(s, 10, 64)
			s = delayWord(n)
		}
		out = append(out, row.Label+" "+s)
	}
	return strings.Join(out, " · ")
}

// ProviderSentence is the header of a provider's page.
func ProviderSentence(s control.Snapshot, provider string, now time.Time) Sentence {
	name, all, serving := provider, 0, 0
	for _, c := range s.Connections {
		if c.Provider != provider {
			continue
		}
		name, all = c.ProviderName, all+1
		if c.State.Available() {
			serving++
		}
	}
	parts := []string{Tf("%d of %d serving", serving, all)}
	for _, b := range s.Breakers {
		if b.Provider == provider {
			parts = append(parts, Tf("breaker %s", BreakerBadge(b, now).Text()))
		}
	}
	return Sentence{Title: name, Sub: strings.Join(parts, " · ")}
}
