package view

import (
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
)

func TestStatesAreToldInTheRefusalsWords(t *testing.T) {
	until := now.Add(4 * time.Minute)
	for name, c := range map[string]struct {
		conn               control.Connection
		story, last, never string
	}{
		"a limit":         {control.Connection{State: control.StateCooling, Until: &until, ErrorCode: 429, Reason: "rate_limit_exceeded", Words: "Slow down."}, "A: “Slow down.”, back in 4 min", "429, “Slow down.”", "quota"},
		"Q10 a 403":       {control.Connection{State: control.StateCooling, Until: &until, ErrorCode: 403, Reason: "quota_exhausted", Words: "OAuth is not allowed."}, "“OAuth is not allowed.”", "403, “OAuth is not allowed.”", "quota"},
		"a 403 without":   {control.Connection{State: control.StateCooling, Until: &until, ErrorCode: 403, Reason: "quota_exhausted"}, "A: credential refused", "403, credential refused", "quota"},
		"Q08 a page":      {control.Connection{State: control.StateCooling, Until: &until, ErrorCode: 403, Reason: "not_api", Words: "a web page came instead of an answer"}, "A: a web page came instead of an answer, back in 4 min", "403, a web page came instead of an answer", "“"},
		"a wrong address": {control.Connection{State: control.StateWrongAddress, ErrorCode: 404, Reason: "wrong_address"}, "Correct the address", "404, wrong address", "locked"},
		"attention":       {control.Connection{State: control.StateNeedsAttention, ErrorCode: 403, Reason: "auth_error", Words: "No.", NeedsAttention: &control.Attention{Words: "No access."}}, "It is asked last. Check its key and its account. Its words: “No access.”", "“No access.”", "quota"},
		"a ban":           {control.Connection{State: control.StateBanned, ErrorCode: 403, Reason: "auth_error", Words: "Disabled."}, "closed this account. Its words: “Disabled.”", "403, “Disabled.”", "quota"},
	} {
		t.Run(name, func(t *testing.T) {
			c.conn.Name = "A"
			story, last := Story(c.conn, now), lastError(c.conn)
			if !strings.Contains(story, c.story) || !strings.Contains(last, c.last) || strings.Contains(story+last, c.never) {
				t.Errorf("%q, %q", story, last)
			}
		})
	}
}

func TestWhatNeedsTheUserIsListedAndCleared(t *testing.T) {
	alarmed, misplaced := conn("a", control.StateNeedsAttention, nil), conn("m", control.StateWrongAddress, nil)
	alarmed.NeedsAttention = &control.Attention{Since: now}
	s := control.Snapshot{Connections: []control.Connection{alarmed, misplaced, conn("s", control.StateServing, nil)}}
	if got := ClearingOf(s, nil, "", now); len(got.IDs) != 2 || got.Terminal != 0 {
		t.Errorf("a clear is %+v", got)
	}
	if Sidelined(s, now) != 2 || NeedYou(s) != 2 || CooldownsLine(s, now) != "2 need you." {
		t.Errorf("%d listed, %d need you, %q", Sidelined(s, now), NeedYou(s), CooldownsLine(s, now))
	}
}
