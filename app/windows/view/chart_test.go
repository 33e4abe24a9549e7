package view

import (
	"testing"
	"time"

	"breakwater/proxy/control"
)

func TestHourCountsByStepAndForgets(t *testing.T) {
	now := time.Date(2030, 1, 2, 12, 3, 0, 0, time.UTC)
	var h Hour
	if got := h.Line(now); got != "No request in the last hour." {
		t.Error(got)
	}
	from, to := h.Span(now, ChartBars-1)
	if from.Minute() != 0 || to.Sub(from) != ChartStep || now.Before(from) || !now.Before(to) {
		t.Error(from, to)
	}
	for i := range ChartBars {
		at, _ := h.Span(now, i)
		h.Set(at, []control.UsageRow{{UsageSum: control.UsageSum{Requests: int64(i)}}, {UsageSum: control.UsageSum{Requests: 1, Failed: 1}}})
	}
	for _, result := range []string{"answered", "failed", "refused", "truncated", "client_left"} {
		h.Add(control.Activity{At: now, Result: result})
	}
	bars, highest := h.Bars(now)
	if bars[0] != (Bar{1, 1}) || bars[ChartBars-1] != (Bar{17, 4}) || highest != 17 {
		t.Errorf("%+v, highest %d", bars, highest)
	}
	if got := h.Line(now); got != "83 requests, 15 failed." {
		t.Error(got)
	}
	if got, _ := h.Bars(now.Add(ChartStep)); got[ChartBars-2] != bars[ChartBars-1] || got[ChartBars-1] != (Bar{}) {
		t.Errorf("%+v", got)
	}
	h.Add(control.Activity{At: now.Add(3 * time.Hour), Result: "answered"})
	if len(h.bars) != 1 {
		t.Errorf("%d steps are kept", len(h.bars))
	}
}
