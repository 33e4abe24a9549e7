package watchdog

import "time"

// Cause is why an attempt is given up.
type Cause uint8

// The causes.
const (
	None     Cause = iota
	NoAnswer       // no headers in time
	NotReady       // no structured event in time
	Stalled        // no model output and no reasoning in time
	Silent         // no bytes at all in time
	TooLong        // the whole stream took too long
	TooSlow        // the output trickles
)

// Code is the word by which logs and clients know the cause.
func (c Cause) Code() string {
	return [...]string{
		"", "upstream_start_timeout", "STREAM_READINESS_TIMEOUT", "stream_content_stall", "STREAM_IDLE_TIMEOUT",
		"STREAM_ACTIVE_TIMEOUT", "STREAM_THROUGHPUT_TOO_LOW",
	}[c]
}

// Budgets are the waits of one attempt (stream sheet §6.1 to §6.3). Zero
// switches a watch off.
type Budgets struct {
	Answer   time.Duration // until the headers
	Ready    time.Duration // from the headers to the first structured event; bytes extend it
	ReadyCap time.Duration // what Ready is extended to at most, from the headers
	Stall    time.Duration // between two signs of progress
	Idle     time.Duration // between two reads of any bytes
	Total    time.Duration // from the headers to the end, never extended
	// Throughput is the optional watch over the rate of output.
	Throughput Throughput
}

// Watch follows one attempt. It has no timer and no lock: its owner marks what
// happens and asks Due at the time that Due named before.
type Watch struct {
	b        Budgets
	started  time.Time // the attempt began
	accepted time.Time // the headers came
	seen     time.Time // the last bytes came
	progress time.Time // the last output or reasoning came
	ready    bool
	rate     *meter // nil: the rate of output is not watched
}

// New returns the watch of an attempt that begins now.
func New(b Budgets, now time.Time) Watch { return Watch{b: b, started: now} }

// Accepted marks the headers of a stream and sets the budgets from here on.
func (w *Watch) Accepted(now time.Time, b Budgets) {
	w.b, w.accepted, w.seen, w.progress = b, now, now, now
	if w.rate = nil; b.Throughput.Enabled {
		w.rate = &meter{rules: b.Throughput, began: now, from: now}
	}
}

// Bytes marks that something was read, whatever it is.
func (w *Watch) Bytes(now time.Time) { w.seen = now }

// Ready marks the first structured event.
func (w *Watch) Ready() { w.ready = true }

// Progress marks model output or a reasoning frame. Pings, comments and
// metadata are none (case P32).
func (w *Watch) Progress(now time.Time) { w.ready, w.progress = true, now }

// Useful counts bytes of output text for the throughput watch.
func (w *Watch) Useful(now time.Time, bytes int) { w.rate.add(now, bytes) }

// Suspend tells that reasoning or a tool call is open, which the throughput
// watch does not judge, or that it is closed again.
func (w *Watch) Suspend(now time.Time, open bool) { w.rate.suspend(now, open) }

// Due returns why the attempt is to be given up now, or None and when to ask
// again; the zero time means never.
func (w *Watch) Due(now time.Time) (Cause, time.Time) {
	var next time.Time
	if w.accepted.IsZero() {
		if w.b.Answer <= 0 {
			return None, next
		}
		if at := w.started.Add(w.b.Answer); now.Before(at) {
			return None, at
		}
		return NoAnswer, next
	}
	for _, d := range w.deadlines(now) {
		if d.at.IsZero() {
			continue
		}
		if !now.Before(d.at) {
			return d.cause, time.Time{}
		}
		if next.IsZero() || d.at.Before(next) {
			next = d.at
		}
	}
	return None, next
}

type deadline struct {
	cause Cause
	at    time.Time // zero: none
}

// deadlines lists what runs. The one that says most comes first.
func (w *Watch) deadlines(now time.Time) [5]deadline {
	return [5]deadline{
		{NotReady, w.readyBy()},
		{Stalled, after(w.progress, w.b.Stall)},
		{Silent, after(w.seen, w.b.Idle)},
		{TooLong, after(w.accepted, w.b.Total)},
		{TooSlow, w.rate.due(now)},
	}
}

func after(from time.Time, d time.Duration) time.Time {
	if d <= 0 {
		return time.Time{}
	}
	return from.Add(d)
}

// readyBy is the end of the readiness budget: any bytes give it the whole
// budget again, up to the cap.
func (w *Watch) readyBy() time.Time {
	if w.ready || w.b.Ready <= 0 {
		return time.Time{}
	}
	at, latest := w.seen.Add(w.b.Ready), w.accepted.Add(max(w.b.Ready, w.b.ReadyCap))
	if at.After(latest) {
		return latest
	}
	return at
}
