package watchdog

import (
	"time"

	"breakwater/resilience/settings"
)

// Throughput are the rules of the watch over streams that still send events
// but hardly any output (guide §6). The zero value is off.
type Throughput struct {
	Enabled        bool
	WarmUp         time.Duration
	Window         time.Duration
	BytesPerSecond int64 // the rate below which a stream is given up
	// MinBytes is how much a window must hold to be judged; an empty one
	// always is.
	MinBytes int64
}

// ThroughputOf reads the rules from the settings.
func ThroughputOf(s settings.ThroughputWatchdog) Throughput {
	return Throughput{
		Enabled: s.Enabled, WarmUp: time.Duration(s.WarmupMs) * time.Millisecond,
		Window:         time.Duration(s.WindowMs) * time.Millisecond,
		BytesPerSecond: s.MinUsefulBytesPerSecond, MinBytes: s.MinUsefulBytes,
	}
}

// slots is into how many parts a window is divided: old bytes leave it in
// steps of that size.
const slots = 32

// meter measures the useful bytes of a sliding window; a nil one measures
// nothing.
type meter struct {
	rules     Throughput
	began     time.Time
	from      time.Time // judged from here on: the beginning, or the end of a suspension
	suspended bool
	counts    [slots]int64
	at        int64 // number of the newest slot since began
}

func (m *meter) slot() time.Duration { return max(m.rules.Window/slots, time.Millisecond) }

// advance drops what has left the window.
func (m *meter) advance(now time.Time) {
	n := int64(now.Sub(m.began) / m.slot())
	if n-m.at >= slots {
		m.counts = [slots]int64{}
	} else {
		for i := m.at + 1; i <= n; i++ {
			m.counts[i%slots] = 0
		}
	}
	m.at = max(m.at, n)
}

func (m *meter) add(now time.Time, bytes int) {
	if m == nil || bytes <= 0 {
		return
	}
	m.advance(now)
	m.counts[m.at%slots] += int64(bytes)
}

// suspend stops the judgement; when it begins again a whole window must pass.
func (m *meter) suspend(now time.Time, open bool) {
	if m == nil {
		return
	}
	if m.suspended && !open {
		m.from = now
	}
	m.suspended = open
}

// due returns when the stream is to be judged next, which is now or earlier
// when the judgement is that it is too slow, or zero for never. A suspension may
// end at any time, so it is looked at again soon.
func (m *meter) due(now time.Time) time.Time {
	if m == nil {
		return time.Time{}
	}
	if m.suspended {
		return now.Add(m.slot())
	}
	first := m.from.Add(m.rules.Window)
	if warm := m.began.Add(m.rules.WarmUp + m.rules.Window); warm.After(first) {
		first = warm
	}
	if now.Before(first) {
		return first
	}
	if m.slow(now) {
		return now
	}
	return now.Add(m.slot())
}

func (m *meter) slow(now time.Time) bool {
	m.advance(now)
	var bytes int64
	for _, n := range m.counts {
		bytes += n
	}
	rate := float64(bytes) / m.rules.Window.Seconds()
	return rate < float64(m.rules.BytesPerSecond) && (bytes == 0 || bytes >= m.rules.MinBytes)
}
