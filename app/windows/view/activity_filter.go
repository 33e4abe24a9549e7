package view

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"

	"breakwater/proxy/control"
)

// ActivityFilter narrows the list of requests.
type ActivityFilter struct {
	Words        string // all of them must be in what a row shows
	Trouble      bool
	ConnectionID string // tried or answered
}

// Matches reports whether the filter leaves a request in.
func (f ActivityFilter) Matches(a *control.Activity) bool {
	if f.Trouble && !Trouble(*a) || f.ConnectionID != "" && !touches(a, f.ConnectionID) {
		return false
	}
	for word := range strings.FieldsSeq(strings.ToLower(f.Words)) {
		if !holds(a, word) {
			return false
		}
	}
	return true
}

// Query asks the proxy for rows that may match, as far as it can tell.
func (f ActivityFilter) Query(before int64, limit int) control.ActivityQuery {
	return control.ActivityQuery{Before: before, Limit: limit, FailedOnly: f.Trouble, ConnectionID: f.ConnectionID}
}

// Any reports that something is left out.
func (f ActivityFilter) Any() bool { return f != ActivityFilter{} }

func touches(a *control.Activity, id string) bool {
	if a.ConnectionID == id {
		return true
	}
	for i := range a.Trace {
		if a.Trace[i].ConnectionID == id {
			return true
		}
	}
	return false
}

// holds looks for a small word in what is shown of a request.
func holds(a *control.Activity, word string) bool {
	for _, s := range []string{a.Model, a.ConnectionName, a.Client, a.Provider, a.Path, a.Result, a.Combo, Client(a.Client)} {
		if strings.Contains(strings.ToLower(s), word) {
			return true
		}
	}
	if strconv.Itoa(a.Status) == word {
		return true
	}
	for i := range a.Trace {
		s := &a.Trace[i]
		if strings.Contains(strings.ToLower(s.ConnectionName), word) || strings.Contains(strings.ToLower(s.Model), word) ||
			strings.Contains(strings.ToLower(Reason(s.Reason)), word) || strconv.Itoa(s.Status) == word {
			return true
		}
	}
	return false
}

// Export writes requests as a table of comma-separated values. What may tell
// more of the user than the window shows, such as addresses, is left out.
type Export struct {
	out    *csv.Writer
	prices Prices
	now    time.Time
}

// NewExport begins a table with its line of titles, which stay English for
// programs.
func NewExport(w io.Writer, p Prices, now time.Time) (*Export, error) {
	e := &Export{csv.NewWriter(w), p, now}
	return e, e.out.Write([]string{
		"id", "time", "client", "dialect", "path", "model", "combo", "answered_by", "provider", "result", "status", "failed_over", "duration_ms", "first_output_ms",
		"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "cost_estimate_usd", "story",
	})
}

// Add writes one request.
func (e *Export) Add(a control.Activity) error {
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	cost := ""
	if d, ok := e.prices.Estimate(a); ok {
		cost = strconv.FormatFloat(d, 'f', 6, 64)
	}
	first := ""
	if a.FirstOutputMs >= 0 {
		first = n(a.FirstOutputMs)
	}
	row := []string{
		n(a.ID), a.At.UTC().Format(time.RFC3339), a.Client, a.Dialect, a.Path, a.Model, a.Combo, a.ConnectionName, a.Provider, a.Result, strconv.Itoa(a.Status),
		strconv.FormatBool(a.FailedOver), n(a.DurationMs), first, n(a.InputTokens), n(a.OutputTokens), n(a.CacheReadTokens), n(a.CacheWriteTokens), n(a.ReasoningTokens),
		cost, strings.TrimSpace(Text(Trace(a, e.now))),
	}
	for i := range row {
		row[i] = harmless(row[i])
	}
	return e.out.Write(row)
}

// Close writes what is still held back.
func (e *Export) Close() error {
	e.out.Flush()
	return e.out.Error()
}

// harmless keeps a spreadsheet from taking a text for a formula: model names
// come from programs.
func harmless(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

// Matching says how many requests the filter leaves.
func Matching(n, of int) string { return Tf("%d of %d", n, of) }
