package db

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"breakwater/proxy/control"
)

func TestUsageSumsUpTheLog(t *testing.T) {
	s := open(t, t.TempDir())
	row := func(id int64, hour int, connection, model, result string, u control.Usage) {
		s.AppendActivity(control.Activity{
			ID: id, At: t0.Add(time.Duration(hour) * time.Hour), ConnectionID: connection, ConnectionName: connection,
			Provider: "p", Model: model, Result: result, Usage: u,
		})
	}
	row(1, 0, "a", "m", "answered", control.Usage{InputTokens: 10, OutputTokens: 1, CacheReadTokens: 100, CacheWriteTokens: 1000, ReasoningTokens: 5})
	row(2, 1, "a", "m", "truncated", control.Usage{InputTokens: 20, OutputTokens: 2})
	row(3, 1, "a", "n", "answered", control.Usage{})
	row(4, 2, "b", "m", "answered", control.Usage{OutputTokens: 7})
	row(5, 2, "", "m", "refused", control.Usage{})
	sum := func(c, m string, u control.UsageSum) control.UsageRow {
		return control.UsageRow{Provider: "p", ConnectionID: c, ConnectionName: c, Model: m, UsageSum: u}
	}
	for _, tc := range []struct {
		name string
		q    control.UsageQuery
		want []control.UsageRow
	}{
		{"everything", control.UsageQuery{}, []control.UsageRow{
			sum("a", "m", control.UsageSum{Requests: 2, Failed: 1, InputTokens: 30, OutputTokens: 3, CacheReadTokens: 100, CacheWriteTokens: 1000, ReasoningTokens: 5}),
			sum("", "m", control.UsageSum{Requests: 1, Failed: 1}),
			sum("a", "n", control.UsageSum{Requests: 1}),
			sum("b", "m", control.UsageSum{Requests: 1, OutputTokens: 7}),
		}},
		{"the last hour, its first moment included", control.UsageQuery{Since: t0.Add(2 * time.Hour)}, []control.UsageRow{
			sum("", "m", control.UsageSum{Requests: 1, Failed: 1}),
			sum("b", "m", control.UsageSum{Requests: 1, OutputTokens: 7}),
		}},
		{"the first hour, its end excluded", control.UsageQuery{Until: t0.Add(time.Hour)}, []control.UsageRow{
			sum("a", "m", control.UsageSum{Requests: 1, InputTokens: 10, OutputTokens: 1, CacheReadTokens: 100, CacheWriteTokens: 1000, ReasoningTokens: 5}),
		}},
		{"nothing", control.UsageQuery{Since: t0.Add(9 * time.Hour)}, []control.UsageRow{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := s.Usage(t.Context(), tc.q)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
