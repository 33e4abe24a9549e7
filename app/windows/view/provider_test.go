package view

import (
	"encoding/json"
	"strings"
	"testing"

	"breakwater/proxy/control"
)

func TestProviderPatchReplacesMapsWhole(t *testing.T) {
	r := resilience(t, `{"providerQuotaOverrides":{"openai":{"rpm":60,"rateLimitCooldownSeconds":45},"glm":{"concurrency":2}},"quotaPreflight":{"providerWindowDefaults":{"claude":{"five_hour":5}}}}`)
	for name, c := range map[string]struct{ provider, patch, want string }{
		"another figure":       {"openai", `{"own":{"concurrency":4}}`, `{"providerQuotaOverrides":{"glm":{"concurrency":2},"openai":{"concurrency":4,"rateLimitCooldownSeconds":45,"rpm":60}}}`},
		"automatic removes it": {"openai", `{"own":{"rateLimitCooldownSeconds":null}}`, `{"providerQuotaOverrides":{"glm":{"concurrency":2},"openai":{"rpm":60}}}`},
		"the last one":         {"glm", `{"own":{"concurrency":null}}`, `{"providerQuotaOverrides":{"openai":{"rateLimitCooldownSeconds":45,"rpm":60}}}`},
		"a first one":          {"groq", `{"own":{"rateLimitCooldownSeconds":15}}`, `{"providerQuotaOverrides":{"glm":{"concurrency":2},"groq":{"rateLimitCooldownSeconds":15},"openai":{"rateLimitCooldownSeconds":45,"rpm":60}}}`},
		"windows":              {"openai", `{"own":{"windows":{"week":3}}}`, `{"quotaPreflight":{"providerWindowDefaults":{"claude":{"five_hour":5},"openai":{"week":3}}}}`},
		"windows taken back":   {"claude", `{"own":{"windows":null}}`, `{"quotaPreflight":{"providerWindowDefaults":{}}}`},
		"what is no change":    {"claude", `7`, `7`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(ProviderPatch(r, c.provider, json.RawMessage(c.patch))); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

func TestProviderCardReadsAndChecks(t *testing.T) {
	r := resilience(t, `{"providerQuotaOverrides":{"openai":{"rpm":60,"rateLimitCooldownSeconds":45}},"quotaPreflight":{"providerWindowDefaults":{"claude":{"seven_day":2,"five_hour":5}}}}`)
	card, v := ProviderCard(), ProviderValues(r, "openai")
	delay := card.Rows[0].Knobs[0]
	if v.Shown(delay) != "45" || v.Origin(delay) != "set here" || v.Shown(card.Rows[2].Knobs[0]) != "" {
		t.Error(v)
	}
	if o := delay.Offered("45"); o[len(o)-1].Word != "45 s" || len(delay.Offered("3600")) != len(delay.Options) || len(delay.Offered("")) != 10 {
		t.Error(o)
	}
	if o := delay.Options; o[0].Word != "Automatic" || o[1].Word != "15 s" || o[3].Word != "1 min" || o[9].Word != "1 h" {
		t.Error(o)
	}
	if got := FiguresLine(r, "openai"); got != "Retry delay 45 s · Requests per minute 60" {
		t.Error(got)
	}
	if got := FiguresLine(r, "claude"); got != "Quota cut-off by window five_hour=5, seven_day=2" {
		t.Error(got)
	}
	if got := OwnFigures(r, control.Snapshot{Connections: []control.Connection{{Provider: "openai", ProviderName: "OpenAI"}}}); len(got) != 2 || got[0].Word != "claude" || got[1].Word != "OpenAI" {
		t.Error(got)
	}
	patch, errs := card.Patch(v, map[string]string{"own.rateLimitCooldownSeconds": "", "own.rpm": "", "own.concurrency": "3", "own.windows": "week=4"})
	if want := `{"own":{"concurrency":3,"rateLimitCooldownSeconds":null,"rpm":null,"windows":{"week":4}}}`; string(patch) != want || errs != nil {
		t.Errorf("%s %v", patch, errs)
	}
	for _, bad := range []string{"week", "week=", "=4", "week=101", "week=-1", "week=x"} {
		if _, errs := card.Patch(v, map[string]string{"own.windows": bad}); len(errs) != 1 {
			t.Errorf("%q is taken", bad)
		}
	}
	if _, errs := card.Patch(v, map[string]string{"own.rpm": "0"}); len(errs) != 1 {
		t.Error("no request a minute is taken")
	}
}

// shownElsewhere names the settings that no card holds, each with the reason.
var shownElsewhere = map[string]string{
	"waitForCooldown.budgetMs":              "derived; a patch may not hold it",
	"quotaPreflight.providerWindowDefaults": "on the page of each provider",
	"providerQuotaOverrides":                "on the page of each provider",
	"origins":                               "shown beside each value",
	"providerErrorRules":                    "the section of error rules",
	"providerErrorDefaults":                 "the section of error rules",
	"comboDefaults":                         "a card of its own, layerCard",
	"providerOverrides":                     "on the page of each provider",
	"modelFacts":                            "the list of models, FactRows",
	"revision":                              "guards against lost changes",
	// Controls of the general settings, which a test of the windows looks for.
	"notifications": "general", "theme": "general", "language": "general", "requireApiKey": "general", "clientProfiles": "general",
	"allowedOrigins": "general", "autoDisableBannedAccounts": "general", "activityLimit": "general",
	"notify": "general", "textScale": "general", "reducedMotion": "general", "tables": "the tables remember their columns themselves",
	"claudeBaseUrl": "network", "egressProbeUrl": "network", "caFile": "network",
}

func TestEverySettingHasACardOrAReason(t *testing.T) {
	known := map[string]bool{}
	for _, c := range append(ResilienceCards(), LockoutCard(), SessionsCard()) {
		for _, k := range c.Knobs() {
			if known[k.Path] {
				t.Error(k.Path, "has two knobs")
			}
			known[k.Path] = true
		}
	}
	all := flatten(control.Resilience{})
	for path := range flatten(control.AllSettings{}) {
		all[path] = nil
	}
	for path := range all {
		if section, _, _ := strings.Cut(path, "."); !known[path] && shownElsewhere[path] == "" && shownElsewhere[section] == "" {
			t.Errorf("%s has neither a card nor a reason", path)
		}
	}
	for path := range known {
		if _, ok := all[path]; !ok && path != "connectionCooldown.oauth.useUpstream429BreakerHints" && path != "connectionCooldown.apikey.useUpstream429BreakerHints" {
			t.Errorf("no setting is called %s", path)
		}
	}
}

func TestSessionsCardTakesValuesBack(t *testing.T) {
	var a control.AllSettings
	a.SessionAffinityTTLMs = 90_000
	v, card := SessionValues(a), SessionsCard()
	if k := card.Rows[0].Knobs[0]; v.Shown(k) != "90" || !v.Stored(k) {
		t.Error(v)
	}
	p, err := SessionPatch(Back("sessionAffinityTtlMs"))
	if err != nil || *p.SessionAffinityTTLMs != 0 || p.DisableSessionStickiness != nil {
		t.Errorf("%+v %v", p, err)
	}
	if p, err = SessionPatch(Back("disableSessionStickiness")); err != nil || *p.DisableSessionStickiness {
		t.Errorf("%+v %v", p, err)
	}
	if _, err = SessionPatch(json.RawMessage(`{"sessionAffinityTtlMs":"x"}`)); err == nil {
		t.Error("a word is taken for a time")
	}
}

func TestKnobOfAModel(t *testing.T) {
	k := Knob{Path: "m", Kind: KnobModel}
	for s, ok := range map[string]bool{"groq/llama": true, " nvidia/openai/x ": true, "llama": false, "/x": false, "x/": false, "": false} {
		if _, wrong := k.value(s); (wrong == "") != ok {
			t.Errorf("%q: %q", s, wrong)
		}
	}
}
