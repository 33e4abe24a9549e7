package proxy

import (
	"cmp"
	"time"

	"breakwater/proxy/attempt"
	"breakwater/proxy/exchange"
	"breakwater/proxy/upstream"
	"breakwater/resilience/settings"
)

// Limits are the waits of the proxy: for upstreams (stream sheet §6.1), local
// deadlines whose passing is no penalty (case P10), and for clients. A zero wait
// is without end.
type Limits struct {
	Headers      time.Duration // until the answer's headers
	Readiness    time.Duration // until the first event of a stream, before bonuses
	ReadinessMax time.Duration // what bonuses and bytes extend that to
	Stall        time.Duration // least budget between two signs of progress
	Idle         time.Duration // between two reads of a stream
	Body         time.Duration // between two reads of a document
	Total        time.Duration // for a whole stream
	Write        time.Duration // for a client that does not read (case P34)
	Heartbeat    time.Duration // between two heartbeats to a client that waits
	Head         time.Duration // for the headers of a request
	Upload       time.Duration // for a part of a request body (see pace)
	// Hold bounds how long any client waits for its headers; zero leaves it
	// to the client's profile.
	Hold time.Duration
	// Patience bounds one wait for a resting connection below what the settings
	// allow; zero leaves it to them, and a negative one never waits.
	Patience time.Duration
}

// upstream are the waits for one attempt.
func (l Limits) upstream() attempt.Limits {
	return attempt.Limits{
		Headers: l.Headers, Readiness: l.Readiness, ReadinessMax: l.ReadinessMax, Stall: l.Stall, Idle: l.Idle, Body: l.Body, Total: l.Total,
	}
}

// client are the waits on the client's side.
func (l Limits) client() exchange.Limits {
	return exchange.Limits{Headers: l.Headers, Write: l.Write, Heartbeat: l.Heartbeat, Hold: l.Hold, Patience: l.Patience}
}

// writeLimit is how long one write to a client may take.
const writeLimit = 60 * time.Second

// LimitsOf returns the waits that the settings name.
func LimitsOf(t settings.Timeouts) Limits {
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	return Limits{
		Headers: ms(t.FetchHeadersMs), Readiness: ms(t.StreamReadinessMs), ReadinessMax: ms(t.StreamReadinessMaxMs),
		Stall: ms(t.StreamStallMs), Idle: ms(t.StreamIdleMs), Body: ms(t.FetchBodyMs), Total: ms(t.StreamActiveMs),
		Write: writeLimit, Heartbeat: ms(t.HeartbeatMs), Head: headLimit, Upload: uploadLimit,
	}
}

// connections puts the waits that the settings name into the options of the
// connections to providers, where those leave them open.
func connections(o upstream.Options, t settings.Timeouts) upstream.Options {
	connect := time.Duration(t.FetchConnectMs) * time.Millisecond
	if connect <= 0 {
		connect = -1 // without limit
	}
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, connect)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, time.Duration(t.FetchKeepaliveMs)*time.Millisecond)
	return o
}

// DefaultLimits returns the guide's figures.
func DefaultLimits() Limits { return LimitsOf(settings.Defaults().Timeouts) }

// DemoLimits returns shorter waits, so that a newcomer sees a stall end.
func DemoLimits() Limits {
	l := DefaultLimits()
	l.Headers, l.Readiness, l.ReadinessMax = 10*time.Second, 10*time.Second, 20*time.Second
	l.Stall, l.Idle, l.Body = 10*time.Second, 20*time.Second, 20*time.Second
	return l
}
