package view

import (
	"encoding/csv"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
)

func TestActivityFilter(t *testing.T) {
	a := control.Activity{
		Model: "claude-sonnet-4-5", Client: "claude-code", ConnectionID: "c2", ConnectionName: "Anthropic · home", Status: 200, Result: "answered", Provider: "anthropic",
		Trace: []control.Step{{Kind: control.StepFailed, ConnectionID: "c1", ConnectionName: "Claude · work", Status: 429, Reason: "rate_limit_exceeded"}},
	}
	for words, want := range map[string]bool{
		"": true, "sonnet": true, "SONNET home": true, "claude code": true, "429": true, "42": false, "rate limited": true, "opus": false, "sonnet opus": false, "work": true,
	} {
		if got := (ActivityFilter{Words: words}).Matches(&a); got != want {
			t.Errorf("%q: %v", words, got)
		}
	}
	if !(ActivityFilter{ConnectionID: "c1"}).Matches(&a) || (ActivityFilter{ConnectionID: "c3"}).Matches(&a) || (ActivityFilter{Trouble: true}).Matches(&a) {
		t.Error("connection or trouble")
	}
	if q := (ActivityFilter{Trouble: true, ConnectionID: "c1"}).Query(9, 5); q != (control.ActivityQuery{Before: 9, Limit: 5, ConnectionID: "c1", FailedOnly: true}) {
		t.Errorf("%+v", q)
	}
}

func TestCostIsEstimatedFromListPrices(t *testing.T) {
	in, out := 3.0, 15.0
	p := NewPrices([]control.Provider{{ID: "anthropic", KnownModels: []control.KnownModel{{Name: "sonnet", Input: &in, Output: &out}, {Name: "free"}}}})
	row := func(provider, model string, u control.Usage) control.Activity {
		return control.Activity{Provider: provider, Model: model, Usage: u}
	}
	u := control.Usage{InputTokens: 100_000, OutputTokens: 10_000, CacheReadTokens: 1_000_000}
	for want, a := range map[string]control.Activity{
		"$0.750":  row("anthropic", "sonnet", u),
		"$7.50":   row("anthropic", "sonnet-20260101", control.Usage{InputTokens: 2_500_000}),
		"<$0.001": row("anthropic", "sonnet", control.Usage{OutputTokens: 1}),
		"":        row("anthropic", "opus", u),
	} {
		if got := p.Cost(a); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if p.Cost(row("anthropic", "sonnet", control.Usage{})) != "" || p.Cost(row("openai", "sonnet", u)) != "" || p.Cost(row("anthropic", "free", u)) != "" {
		t.Error("a price out of nothing")
	}
	sent := row("anthropic", "alias", u)
	sent.Trace = []control.Step{{Kind: control.StepAnswered, Model: "sonnet"}}
	if p.Cost(sent) != "$0.750" {
		t.Error("the model that was asked for is taken, not the one that answered")
	}
	if got := TraceCost(sent, p); got != "Tokens: in 100000, out 10000, read from the cache 1000000, written to it 0. About $0.750 at list prices." {
		t.Error(got)
	}
	if got := Tokens(sent); got != "1.1 M / 10.0 k" {
		t.Error(got)
	}
}

func TestExportHoldsTheStoryAndNothingToBeTakenForAFormula(t *testing.T) {
	now := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	var b strings.Builder
	e, err := NewExport(&b, Prices{}, now)
	if err != nil {
		t.Fatal(err)
	}
	a := control.Activity{
		ID: 7, At: now, Model: "=HYPERLINK(1)", Client: "codex", Result: "answered", Status: 200, EgressIP: "203.0.113.7", FirstOutputMs: -1,
		Trace: []control.Step{{Kind: control.StepAnswered, ConnectionName: "home, sweet", DurationMs: 900}},
	}
	if err := e.Add(a); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "203.0.113.7") {
		t.Error("the user's address is in it")
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil || len(rows) != 2 || len(rows[1]) != len(rows[0]) {
		t.Fatal(rows, err)
	}
	if r := rows[1]; r[0] != "7" || r[1] != "2030-01-02T12:00:00Z" || r[5] != "'=HYPERLINK(1)" || r[13] != "" || !strings.Contains(r[20], "home, sweet answered. In 900 ms.") {
		t.Errorf("%q", r)
	}
}
