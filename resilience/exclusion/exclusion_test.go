package exclusion

import (
	"testing"
	"time"

	"breakwater/resilience/outcome"
)

var t0 = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// all is the closed set; a reason that is added gets a row in TestReasons.
var all = []Reason{
	None, Off, Cooling, ModelLocked, BreakerOpen, Probing, ProviderCooldown, Banned, Expired, CreditsExhausted, Quota,
	ModelNotOffered, NoCredential, KeyMissing, KeyNotAllowed, Leased, Unavailable, Exhausted, ContextRequirements,
	CompactedHistory,
}

func TestReasons(t *testing.T) {
	rows := map[Reason]struct {
		diagnostic          string
		scope               Scope
		temporary, terminal bool
	}{
		None:                {"", 0, false, false},
		Off:                 {"unavailable", ScopeConnection, false, true},
		Cooling:             {"connection_cooldown", ScopeConnection, true, false},
		ModelLocked:         {"model_lockout", ScopeModel, true, false},
		BreakerOpen:         {"circuit_open", ScopeProvider, true, false},
		Probing:             {"circuit_open", ScopeProvider, true, false},
		ProviderCooldown:    {"provider_cooldown", ScopeProvider, true, false},
		Banned:              {"unavailable", ScopeConnection, false, true},
		Expired:             {"unavailable", ScopeConnection, false, true},
		CreditsExhausted:    {"unavailable", ScopeConnection, false, true},
		Quota:               {"quota_cutoff", ScopeConnection, false, false},
		ModelNotOffered:     {"unavailable", ScopeModel, false, false},
		NoCredential:        {"unavailable", ScopeRequest, false, false},
		KeyMissing:          {"unavailable", ScopeConnection, false, false},
		KeyNotAllowed:       {"unavailable", ScopeRequest, false, false},
		Leased:              {"unavailable", ScopeConnection, false, false},
		Unavailable:         {"unavailable", ScopeConnection, false, false},
		Exhausted:           {"exhausted", ScopeRequest, false, false},
		ContextRequirements: {"context_requirements", ScopeRequest, false, false},
		CompactedHistory:    {"compacted_history", ScopeRequest, false, false},
	}
	for _, r := range all {
		t.Run(string(r), func(t *testing.T) {
			want, ok := rows[r]
			if !ok {
				t.Fatal("no row")
			}
			if r.Diagnostic() != want.diagnostic || r.Scope() != want.scope || r.Temporary() != want.temporary || r.Terminal() != want.terminal {
				t.Errorf("got %q, scope %d, temporary %v, terminal %v", r.Diagnostic(), r.Scope(), r.Temporary(), r.Terminal())
			}
			if r.Temporary() && r.Terminal() {
				t.Error("a timer cannot end what no waiting ends")
			}
		})
	}
	if len(rows) != len(all) {
		t.Errorf("%d rows for %d reasons", len(rows), len(all))
	}
}

func TestCauseOfAWait(t *testing.T) {
	for _, tt := range []struct {
		reason    Reason
		source    outcome.Reason
		want      string
		transient bool
	}{
		{BreakerOpen, "", "circuit_open", false},
		{Probing, "", "circuit_open", false},
		{ProviderCooldown, "", "transient", true},
		{Cooling, outcome.ReasonConcurrencyLimited, "rate_limited", true},
		{Cooling, outcome.ReasonRateLimit, "rate_limit_exceeded", true},
		{Cooling, outcome.ReasonNetwork, "transient", true},
		{Cooling, outcome.ReasonStreamStall, "transient", true},
		{Cooling, outcome.ReasonServerError, "server_error", true},
		{Cooling, outcome.ReasonQuota, "quota_exhausted", false},
		{Cooling, outcome.ReasonAuth, "auth_error", false},
		{Cooling, "", "connection_cooldown", false},
		{ModelLocked, outcome.ReasonModelCapacity, "overloaded", true},
		{ModelLocked, outcome.ReasonQuota, "quota_exhausted", false},
		{ModelLocked, outcome.ReasonNotFound, "not_found", false},
		{Banned, "", "auth_error", false},
		{Off, "", "auth_error", false},
		{None, "", "", false},
	} {
		t.Run(string(tt.reason)+" "+string(tt.source), func(t *testing.T) {
			e := Exclusion{Reason: tt.reason, Source: tt.source}
			if e.Cause() != tt.want || e.Transient() != tt.transient {
				t.Errorf("got %q, transient %v", e.Cause(), e.Transient())
			}
		})
	}
}

func TestTheLongerExclusionStands(t *testing.T) {
	at := func(r Reason, s time.Duration) Exclusion { return Exclusion{Reason: r, Until: t0.Add(s * time.Second)} }
	for _, tt := range []struct {
		name        string
		first, next Exclusion
		want        Reason
	}{
		{"the first one", Exclusion{}, at(Cooling, 1), Cooling},
		{"a longer one", at(Cooling, 1), at(ModelLocked, 2), ModelLocked},
		{"not a shorter one", at(Cooling, 2), at(ModelLocked, 1), Cooling},
		{"not an equal one", at(Cooling, 1), at(ModelLocked, 1), Cooling},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := tt.first
			if e.Add(tt.next); e.Reason != tt.want {
				t.Errorf("got %+v", e)
			}
		})
	}
	if left := at(Cooling, 3).Left(t0); left != 3*time.Second {
		t.Errorf("left %s", left)
	}
	if left := (Exclusion{Reason: Off}).Left(t0); left != 0 {
		t.Errorf("what no timer ends has %s left", left)
	}
}
