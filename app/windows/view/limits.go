package view

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"breakwater/proxy/control"
)

// LimitLine is one field of a connection's own limits in the editor.
type LimitLine struct {
	Key         string // of the draft's limits
	Field       string // the name that errors carry
	Label, Hint string
	Half        bool // shares its line with the next one
	Claude      bool // of Claude connections alone
	Login       bool // of connections with a stored login alone
}

// LimitLines returns the fields of the limits in their order (settings sheet
// §6.3).
func LimitLines() []LimitLine {
	const rates = "rateLimitOverrides."
	none := T("Empty: no limit of its own.")
	return []LimitLine{
		{Key: "group", Field: "group", Label: T("Group"), Hint: T("For your own order."), Half: true},
		{Key: "tags", Field: "tags", Label: T("Tags"), Hint: T("Separated by commas; requests may ask for them.")},
		{Key: "maxConcurrent", Field: "maxConcurrent", Label: T("Requests at a time"), Hint: none, Half: true},
		{Key: "minTime", Field: rates + "minTime", Label: T("Milliseconds between requests"), Hint: none},
		{Key: "rpm", Field: rates + "rpm", Label: T("Requests per minute"), Hint: none, Half: true},
		{Key: "rpd", Field: rates + "rpd", Label: T("Requests per day"), Hint: none},
		{Key: "tpm", Field: rates + "tpm", Label: T("Tokens per minute"), Hint: none, Half: true},
		{Key: "tpd", Field: rates + "tpd", Label: T("Tokens per day"), Hint: none},
		{Key: "models", Field: rates + "modelConcurrency", Label: T("Requests at a time, by model"), Hint: T("As in claude-opus-4-5=2, claude-haiku-4-5=8.")},
		{Key: "windows", Field: "quotaWindowThresholds", Label: T("Quota cut-off by window"), Hint: T("Percent left at which it is passed over while the quota cut-off is on, as in five_hour=5.")},
		{Key: "excluded", Field: "excludedModels", Label: T("Models left out"), Hint: T("Patterns with *, separated by commas. It is never asked for them.")},
		{Key: "validation", Field: "validationModelId", Label: T("Model of the test"), Hint: T("Empty: the list of models is asked for."), Half: true},
		{Key: "agent", Field: "customUserAgent", Label: T("User-Agent"), Hint: T("Empty: the client's own.")},
		{Key: "health", Field: "healthCheckInterval", Label: T("Minutes between looks at the login"), Hint: T("0 never looks; empty leaves it to the settings."), Login: true},
		{Key: "timeout", Field: "timeoutMs", Label: T("Longest wait for an answer to begin"), Hint: T("In seconds; empty is 600."), Claude: true},
		{Key: "organization", Field: "organizationUUID", Label: T("Organisation"), Hint: T("For the limit reset; empty lets it be found out."), Claude: true},
	}
}

// rateKeys are the limits that go together into the connection's overrides.
var rateKeys = []string{"rpm", "rpd", "tpm", "tpd", "minTime"}

// limitsOf returns the limits of a stored connection as the editor shows them.
func limitsOf(c control.Connection) map[string]string {
	figure := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	o := c.RateLimitOverrides
	out := map[string]string{
		"group": c.Group, "tags": strings.Join(c.Tags, ", "), "maxConcurrent": figure(int64(c.MaxConcurrent)), "windows": pairs(c.QuotaWindowThresholds),
		"timeout": figure(c.TimeoutMs / 1000), "organization": c.OrganizationUUID,
		"excluded": strings.Join(c.ExcludedModels, ", "), "validation": c.ValidationModel, "agent": c.UserAgent,
	}
	if n := c.HealthCheckInterval; n != nil {
		out["health"] = strconv.FormatInt(*n, 10)
	}
	for key, n := range map[string]*int64{"rpm": o.RPM, "rpd": o.RPD, "tpm": o.TPM, "tpd": o.TPD, "minTime": o.MinTimeMs} {
		if n != nil {
			out[key] = strconv.FormatInt(*n, 10)
		}
	}
	var models []string
	for _, m := range slices.Sorted(maps.Keys(o.ModelConcurrency)) {
		models = append(models, m+"="+strconv.Itoa(o.ModelConcurrency[m]))
	}
	out["models"] = strings.Join(models, ", ")
	return out
}

// rates returns the overrides that are typed, over those of a stored connection
// which have no field here. What is no number goes along as it is: the proxy
// says what it may be.
func (d Draft) rates(was control.Connection) map[string]any {
	out := objectOf(was.RateLimitOverrides)
	for _, key := range rateKeys {
		delete(out, key)
		if s := strings.TrimSpace(d.Limits[key]); s != "" {
			out[key] = s
		}
	}
	delete(out, "modelConcurrency")
	if caps := named(d.Limits["models"]); len(caps) > 0 {
		out["modelConcurrency"] = caps
	}
	return out
}

// named reads a list such as "a=1, b=2"; the figures stay as they were typed.
func named(s string) map[string]any {
	out := map[string]any{}
	for _, w := range Words(s) {
		at := strings.LastIndexByte(w, '=')
		if at < 0 {
			out[w] = ""
			continue
		}
		out[w[:at]] = w[at+1:]
	}
	return out
}

// whole reads a whole number; what is none is -1, which the proxy refuses.
func whole(s string) int64 {
	if s = strings.TrimSpace(s); s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// thresholds reads the cut-offs by window as a change of those stored: a window
// that is gone is taken back.
func thresholds(s string, was map[string]int64) map[string]any {
	out := map[string]any{}
	for window := range was {
		out[window] = nil
	}
	for window, v := range named(s) {
		out[window] = v
		if n, err := strconv.ParseInt(v.(string), 10, 64); err == nil {
			out[window] = n
		}
	}
	return out
}

// limitInput fills the limits of a new connection in.
func (d Draft) limitInput(in *control.ConnectionInput, claude bool) {
	in.Group, in.Tags = strings.TrimSpace(d.Limits["group"]), tagList(d.Limits["tags"])
	in.MaxConcurrent = int(whole(d.Limits["maxConcurrent"]))
	if rates := d.rates(control.Connection{}); len(rates) > 0 {
		in.RateLimitOverrides = rates
	}
	for window, v := range thresholds(d.Limits["windows"], nil) {
		if in.QuotaWindowThresholds == nil {
			in.QuotaWindowThresholds = map[string]int64{}
		}
		n, ok := v.(int64)
		if !ok {
			n = -1 // refused by name
		}
		in.QuotaWindowThresholds[window] = n
	}
	in.ExcludedModels, in.ValidationModel, in.UserAgent = Words(d.Limits["excluded"]), strings.TrimSpace(d.Limits["validation"]), strings.TrimSpace(d.Limits["agent"])
	in.PerModelQuota = knownBy(d.PerModel)
	if s := strings.TrimSpace(d.Limits["health"]); s != "" {
		n := whole(s)
		in.HealthCheckInterval = &n
	}
	if claude {
		in.TimeoutMs, in.OrganizationUUID = 1000*whole(d.Limits["timeout"]), strings.TrimSpace(d.Limits["organization"])
	}
}

// limitPatch adds what the draft changes in the limits of a stored connection.
func (d Draft) limitPatch(out *control.ConnectionPatch, was control.Connection, claude bool) {
	old := limitsOf(was)
	differs := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(k string) bool { return strings.TrimSpace(d.Limits[k]) != old[k] })
	}
	if differs("group") {
		group := strings.TrimSpace(d.Limits["group"])
		out.Group = &group
	}
	if tags := tagList(d.Limits["tags"]); !slices.Equal(tags, was.Tags) && len(tags)+len(was.Tags) > 0 {
		out.Tags = &tags
	}
	if differs("maxConcurrent") {
		out.MaxConcurrent = control.JSONOf(whole(d.Limits["maxConcurrent"]))
	}
	if differs(append([]string{"models"}, rateKeys...)...) {
		rates := d.rates(was)
		out.RateLimitOverrides = control.JSONOf(rates)
		if len(rates) == 0 {
			out.RateLimitOverrides = control.JSONOf(nil)
		}
	}
	if differs("windows") {
		out.QuotaWindowThresholds = control.JSONOf(thresholds(d.Limits["windows"], was.QuotaWindowThresholds))
	}
	d.extraPatch(out, was, differs)
	if claude && differs("timeout") {
		ms := 1000 * whole(d.Limits["timeout"])
		out.TimeoutMs = &ms
	}
	if claude && differs("organization") {
		id := strings.TrimSpace(d.Limits["organization"])
		out.OrganizationUUID = &id
	}
}

// extraPatch adds what the draft changes beside the limits.
func (d Draft) extraPatch(out *control.ConnectionPatch, was control.Connection, differs func(keys ...string) bool) {
	trimmed := func(key string) *string {
		if !differs(key) {
			return nil
		}
		s := strings.TrimSpace(d.Limits[key])
		return &s
	}
	if models := Words(d.Limits["excluded"]); !slices.Equal(models, was.ExcludedModels) && len(models)+len(was.ExcludedModels) > 0 {
		out.ExcludedModels = &models
	}
	out.ValidationModel, out.UserAgent = trimmed("validation"), trimmed("agent")
	if s := trimmed("health"); s != nil {
		out.HealthCheckInterval = control.JSONOf(nil)
		if *s != "" {
			out.HealthCheckInterval = control.JSONOf(whole(*s))
		}
	}
	if d.PerModel != answerOf(was.PerModelQuota) {
		out.PerModelQuota = control.JSONOf(knownBy(d.PerModel))
	}
}

// The answers to a question that may be left open.
const (
	answerOpen = ""
	answerYes  = "yes"
	answerNo   = "no"
)

// PerModelOptions returns the answers to whether a used-up quota concerns one
// model only.
func PerModelOptions() []Option {
	return []Option{
		{ID: answerOpen, Word: T("As usual for this provider")},
		{ID: answerYes, Word: T("Only that model rests")},
		{ID: answerNo, Word: T("The whole connection rests")},
	}
}

func answerOf(known *bool) string {
	switch {
	case known == nil:
		return answerOpen
	case *known:
		return answerYes
	}
	return answerNo
}

func knownBy(answer string) *bool {
	if answer == answerOpen {
		return nil
	}
	yes := answer == answerYes
	return &yes
}

// tagList splits tags at commas; they may hold blanks.
func tagList(s string) []string {
	var out []string
	for t := range strings.SplitSeq(s, ",") {
		if t = strings.TrimSpace(t); t != "" {
			out = append(out, t)
		}
	}
	return out
}

// HasLimits reports whether a draft has any limit of its own.
func (d Draft) HasLimits() bool {
	if d.PerModel != answerOpen {
		return true
	}
	for _, s := range d.Limits {
		if s != "" {
			return true
		}
	}
	return false
}
