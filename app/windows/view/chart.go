package view

import (
	"time"

	"breakwater/proxy/control"
)

// The chart of the last hour has a bar for each step.
const (
	ChartStep = 5 * time.Minute
	ChartBars = 12
)

// Bar is one step of the chart.
type Bar struct {
	Requests, Failed int64
}

// Hour counts the requests of the last hour, by step.
type Hour struct {
	bars map[int64]Bar // by the step's number since the epoch
}

func stepOf(t time.Time) int64 { return t.UnixMilli() / ChartStep.Milliseconds() }

// Span returns the time that the bar at a place covers, the newest last.
func (h *Hour) Span(now time.Time, at int) (from, to time.Time) {
	n := stepOf(now) - int64(ChartBars-1-at)
	from = time.UnixMilli(n * ChartStep.Milliseconds())
	return from, from.Add(ChartStep)
}

// Set takes over what was counted up to now for the step that holds t.
func (h *Hour) Set(t time.Time, rows []control.UsageRow) {
	var b Bar
	for _, r := range rows {
		b.Requests += r.Requests
		b.Failed += r.Failed
	}
	h.put(stepOf(t), b)
}

// Add counts one finished request.
func (h *Hour) Add(a control.Activity) {
	b := h.bars[stepOf(a.At)]
	b.Requests++
	switch a.Result {
	case "failed", "refused", "truncated":
		b.Failed++
	}
	h.put(stepOf(a.At), b)
}

func (h *Hour) put(at int64, b Bar) {
	if h.bars == nil {
		h.bars = map[int64]Bar{}
	}
	h.bars[at] = b
	for old := range h.bars {
		if old <= at-2*ChartBars {
			delete(h.bars, old)
		}
	}
}

// Bars returns the bars up to now and the highest of them.
func (h *Hour) Bars(now time.Time) (bars [ChartBars]Bar, highest int64) {
	for i := range bars {
		bars[i] = h.bars[stepOf(now)-int64(ChartBars-1-i)]
		highest = max(highest, bars[i].Requests)
	}
	return bars, highest
}

// Line sums the hour up in words.
func (h *Hour) Line(now time.Time) string {
	var sum Bar
	bars, _ := h.Bars(now)
	for _, b := range bars {
		sum.Requests += b.Requests
		sum.Failed += b.Failed
	}
	switch {
	case sum.Requests == 0:
		return T("No request in the last hour.")
	case sum.Failed == 0:
		return N(int(sum.Requests), "%d request, none failed.", "%d requests, none failed.", sum.Requests)
	}
	return N(int(sum.Requests), "%d request, %d failed.", "%d requests, %d failed.", sum.Requests, sum.Failed)
}

// BarTip tells what one bar shows.
func (h *Hour) BarTip(now time.Time, at int) string {
	from, to := h.Span(now, at)
	bars, _ := h.Bars(now)
	return Tf("%s to %s: %d requests, %d failed", Clock(from, now), Clock(to, now), bars[at].Requests, bars[at].Failed)
}
