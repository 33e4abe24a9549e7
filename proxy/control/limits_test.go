package control

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"breakwater/resilience/classify"
)

func TestLimitsOfAConnection(t *testing.T) {
	s, _, _ := planned(t, conn("groq", "a"))
	edit := func(body string) (Connection, error) {
		t.Helper()
		var p ConnectionPatch
		if err := json.Unmarshal([]byte(body), &p); err != nil {
			t.Fatal(err)
		}
		return s.EditConnection(t.Context(), "a", p)
	}
	for _, c := range []struct{ name, body, want string }{
		{"case 53", `{"rateLimitOverrides":{"rpm":100,"tpm":50000,"tpd":1000000,"minTime":100,"maxConcurrent":5}}`, `{"rateLimitOverrides":{"rpm":100,"tpm":50000,"tpd":1000000,"minTime":100,"maxConcurrent":5}}`},
		{"case 54 zeros", `{"rateLimitOverrides":{"rpm":0,"tpm":0}}`, `{"rateLimitOverrides":{"rpm":0,"tpm":0}}`},
		{"case 54 nothing", `{"rateLimitOverrides":{}}`, `{}`},
		{"case 55", `{"rateLimitOverrides":{"rpm":"120"}}`, `{"rateLimitOverrides":{"rpm":120}}`},
		{"case 58", `{"rateLimitOverrides":{"modelConcurrency":{"glm-5":1,"glm-4.7":3}}}`, `{"rateLimitOverrides":{"modelConcurrency":{"glm-4.7":3,"glm-5":1}}}`},
		{"case 54 null", `{"rateLimitOverrides":null}`, `{}`},
		{"a cap, tags and a group", `{"maxConcurrent":4,"tags":[" eu ","fast","eu"],"group":" Team "}`, `{"maxConcurrent":4,"tags":["eu","fast"],"group":"Team"}`},
		{"no cap any more", `{"maxConcurrent":null,"tags":[],"group":""}`, `{}`},
		{"thresholds", `{"quotaWindowThresholds":{"session":10,"weekly":5}}`, `{"quotaWindowThresholds":{"session":10,"weekly":5}}`},
		{"one of them cleared", `{"quotaWindowThresholds":{"session":null,"monthly":0}}`, `{"quotaWindowThresholds":{"monthly":0,"weekly":5}}`},
		{"all of them cleared", `{"quotaWindowThresholds":null}`, `{}`},
		{"rotation", `{"rotationOverrides":{"rateLimitResetSeconds":60,"rotateOn400":true,"error429Threshold":3}}`, `{"rotationOverrides":{"rateLimitResetSeconds":60,"rotateOn400":true,"error429Threshold":3}}`},
		{"rotation cleared", `{"rotationOverrides":{}}`, `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := edit(c.body)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(got.Limits)
			if err != nil || string(raw) != c.want {
				t.Errorf("%s, want %s; %v", raw, c.want, err)
			}
			if strings.Contains(c.body, `"rpm":100`) && !got.RateLimitProtection {
				t.Error("figures of its own do not put the connection under the queue")
			}
		})
	}
	for _, c := range []struct{ name, body, field string }{
		{"case 56 negative", `{"rateLimitOverrides":{"rpm":-1}}`, "rateLimitOverrides.rpm"},
		{"case 56 broken", `{"rateLimitOverrides":{"rpm":1.5}}`, "rateLimitOverrides.rpm"},
		{"case 56 too many", `{"rateLimitOverrides":{"rpm":1000001}}`, "rateLimitOverrides.rpm"},
		{"case 56 tokens", `{"rateLimitOverrides":{"tpm":100000001}}`, "rateLimitOverrides.tpm"},
		{"case 57 text", `{"rateLimitOverrides":"bad"}`, "rateLimitOverrides"},
		{"case 57 number", `{"rateLimitOverrides":42}`, "rateLimitOverrides"},
		{"case 57 list", `{"rateLimitOverrides":[1]}`, "rateLimitOverrides"},
		{"case 59 zero", `{"rateLimitOverrides":{"modelConcurrency":{"m":0}}}`, "rateLimitOverrides.modelConcurrency.m"},
		{"case 59 text", `{"rateLimitOverrides":{"modelConcurrency":{"m":""}}}`, "rateLimitOverrides.modelConcurrency.m"},
		{"case 59 long name", `{"rateLimitOverrides":{"modelConcurrency":{"` + strings.Repeat("x", 129) + `":1}}}`, "rateLimitOverrides.modelConcurrency"},
		{"a cap of text", `{"maxConcurrent":"4"}`, "maxConcurrent"},
		{"a negative cap", `{"maxConcurrent":-1}`, "maxConcurrent"},
		{"a threshold over 100", `{"quotaWindowThresholds":{"session":101}}`, "quotaWindowThresholds.session"},
		{"a threshold in words", `{"quotaWindowThresholds":{"session":"low"}}`, "quotaWindowThresholds.session"},
		{"thresholds that are none", `{"quotaWindowThresholds":[]}`, "quotaWindowThresholds"},
		{"a long window", `{"quotaWindowThresholds":{"` + strings.Repeat("w", 65) + `":1}}`, "quotaWindowThresholds"},
		{"an empty tag", `{"tags":[""]}`, "tags"},
		{"a long group", `{"group":"` + strings.Repeat("g", 101) + `"}`, "group"},
		{"negative seconds", `{"rotationOverrides":{"error500WindowSeconds":-1}}`, "rotationOverrides"},
		{"too many errors", `{"rotationOverrides":{"error502Threshold":1001}}`, "rotationOverrides"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, _ := s.Route("a")
			_, err := edit(c.body)
			inv, ok := errors.AsType[*InvalidError](err)
			if !ok || inv.Fields[0].Field != c.field {
				t.Errorf("%v, want a refusal of %s", err, c.field)
			}
			if after, _ := s.Route("a"); after != before {
				t.Error("a refused patch changed the connection")
			}
		})
	}
}

func TestLimitsReachWhatUsesThem(t *testing.T) {
	s, _, _ := planned(t)
	c, err := s.AddConnection(t.Context(), ConnectionInput{
		Provider: "groq", Name: "a", APIKey: "k", MaxConcurrent: 2, RateLimitOverrides: map[string]any{"rpm": "7", "modelConcurrency": map[string]any{"m": 3.0}},
		QuotaWindowThresholds: map[string]int64{"weekly": 30}, RotationOverrides: RotationOverrides{RateLimitResetSeconds: 9, RotateOn500: new(false), Error429Threshold: 2, Error400WindowSeconds: 5},
		Tags: []string{"eu"},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, _ := s.Route(c.ID)
	if caps := s.Caps(r); caps.Account != 2 || caps.Models["m"] != 3 {
		t.Errorf("caps %+v", caps)
	}
	if !s.Queues().Protected(c.ID) || *r.Record.RateLimitOverrides.RPM != 7 {
		t.Errorf("overrides %+v", r.Record.RateLimitOverrides)
	}
	want := classify.Overrides{
		RateLimitResetSeconds: 9, On500: classify.RuleOverride{On: new(false)}, On429: classify.RuleOverride{Threshold: 2}, On400: classify.RuleOverride{WindowSeconds: 5},
	}
	if diff := cmp.Diff(want, r.Conn.Config().Rotation); diff != "" {
		t.Error(diff)
	}
	if r.QuotaAccount().Thresholds["weekly"] != 30 {
		t.Errorf("preflight of %+v", r.QuotaAccount())
	}
	if p := s.Planner(); p.World.Accounts("groq")[0].Tags[0] != "eu" {
		t.Error("combos do not see the tags")
	}
	b, err := s.Export(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	in := b.Connections[0]
	if in.MaxConcurrent != 2 || in.RateLimitOverrides["rpm"] != 7.0 || in.Tags[0] != "eu" || in.RotationOverrides.RateLimitResetSeconds != 9 {
		t.Errorf("exported %+v", in)
	}
	_, err = s.AddConnection(t.Context(), ConnectionInput{Provider: "groq", Name: "b", APIKey: "k", RateLimitOverrides: map[string]any{"rpm": -1.0}, Group: strings.Repeat("g", 101)})
	if inv, ok := errors.AsType[*InvalidError](err); !ok || len(inv.Fields) != 2 {
		t.Errorf("%v, want two fields", err)
	}
}
