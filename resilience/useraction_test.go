package resilience

import (
	"testing"

	"breakwater/resilience/exclusion"
	"breakwater/resilience/outcome"
)

func TestWhatOnlyTheUserMends(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    exclusion.Exclusion
		want Mending
	}{
		{"an expired key", exclusion.Exclusion{Reason: exclusion.Expired}, MendKey},
		{"a plain 403 that rests", exclusion.Exclusion{Reason: exclusion.Cooling, Source: outcome.ReasonAuth}, ""},
		{"no credit", exclusion.Exclusion{Reason: exclusion.CreditsExhausted}, MendCredit},
		{"a ban", exclusion.Exclusion{Reason: exclusion.Banned}, MendAccount},
		{"a lost key", exclusion.Exclusion{Reason: exclusion.KeyMissing}, MendMissing},
		{"a wrong address", exclusion.Exclusion{Reason: exclusion.WrongAddress}, MendAddress},
		{"a rate limit", exclusion.Exclusion{Reason: exclusion.Cooling, Source: outcome.ReasonRateLimit}, ""},
		{"a name that does not resolve", exclusion.Exclusion{Reason: exclusion.Cooling, Source: outcome.ReasonNetwork}, ""},
		{"a server that does not run", exclusion.Exclusion{Reason: exclusion.Cooling, Source: outcome.ReasonServiceNotRunning}, ""},
		{"an open breaker", exclusion.Exclusion{Reason: exclusion.BreakerOpen}, ""},
		{"a locked model", exclusion.Exclusion{Reason: exclusion.ModelLocked, Source: outcome.ReasonNotFound}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := MendingOf(tt.e); got != tt.want || ok != (tt.want != "") {
				t.Errorf("got %q, %v", got, ok)
			}
		})
	}
}

func TestOneCauseThatPassesDecides(t *testing.T) {
	of := func(reasons ...exclusion.Reason) (list []Exclusion) {
		for _, r := range reasons {
			list = append(list, Exclusion{Exclusion: exclusion.Exclusion{Reason: r}})
		}
		return list
	}
	for _, tt := range []struct {
		name string
		list []Exclusion
		want bool
	}{
		{"none", nil, false},
		{"keys and credit", of(exclusion.Expired, exclusion.CreditsExhausted), true},
		{"one rests", of(exclusion.Expired, exclusion.Cooling), false},
		{"one is switched off", of(exclusion.Expired, exclusion.Off), true},
		{"all are switched off", of(exclusion.Off), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := OnlyUserMends(tt.list); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
