package control

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"breakwater/proxy/catalog"
)

func TestExtrasAreChecked(t *testing.T) {
	for field, p := range map[string]ConnectionPatch{
		"excludedModels":    {ExcludedModels: &[]string{strings.Repeat("m", 301)}},
		"customUserAgent":   {UserAgent: new("line\nbreak")},
		"validationModelId": {ValidationModel: new("a\x00b")},
		"passthroughModels": {PerModelQuota: JSONOf("maybe")},
	} {
		var bad problems
		var l Limits
		l.patch(&bad, p)
		inv, ok := errors.AsType[*InvalidError](bad.err())
		if !ok || len(inv.Fields) != 1 || inv.Fields[0].Field != field {
			t.Errorf("%s: %v", field, bad.err())
		}
	}
	var bad problems
	l := (&ConnectionInput{Extras: Extras{ExcludedModels: []string{" a ", "a", "b"}, UserAgent: " Own/1 ", ValidationModel: " m "}}).limits(&bad)
	if bad.err() != nil || !slices.Equal(l.ExcludedModels, []string{"a", "b"}) || l.UserAgent != "Own/1" || l.ValidationModel != "m" {
		t.Errorf("%+v, %v", l.Extras, bad.err())
	}
}

func TestWhoCountsPerModel(t *testing.T) {
	for provider, want := range map[string]bool{
		"gemini": true, "codex": true, "cx": true, "ollama-cloud": true, "agentrouter": true, "openai": false, "anthropic": false, "claude": false,
	} {
		t.Run("case 204 "+provider, func(t *testing.T) {
			p, ok := catalog.Lookup(provider)
			if !ok || p.PerModelQuota != want {
				t.Errorf("known %v, per model %v", ok, p.PerModelQuota)
			}
		})
	}
}

func TestPerModelQuotaIsTheConnectionsOwnFirst(t *testing.T) {
	for _, c := range []struct {
		provider string
		own      *bool
		want     bool
	}{{"anthropic", nil, false}, {"anthropic", new(true), true}, {"gemini", nil, true}, {"gemini", new(false), false}} {
		s := service(t, ConnectionRecord{Provider: c.provider, Name: "x", Limits: Limits{Extras: Extras{PerModelQuota: c.own}}})
		if got := s.Routes()[0].PerModelQuota(); got != c.want {
			t.Errorf("%s, own %v: %v", c.provider, c.own, got)
		}
	}
}
