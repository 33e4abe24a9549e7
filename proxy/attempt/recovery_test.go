package attempt

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/proxy/catalog"
	"breakwater/proxy/dialect"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/claude"
	"breakwater/resilience/outcome"
)

func recovering(k *rig) { k.settings.StreamRecovery.Enabled = true }

// With stream recovery the same target is asked again while the client has seen
// nothing, and only then.
func TestTheSameTargetIsAskedAgain(t *testing.T) {
	broken, whole := events(cRole).then(piece{err: errReset}), events(cRole, cText, cStop, cDone)
	quick := events(cRole, cText).then(piece{after: 100 * time.Millisecond, err: errReset})
	late := events(cRole, cText).then(piece{after: time.Second, err: errReset})
	for _, tt := range []struct {
		name  string
		calls []call
		edit  func(*rig)
		end   End
		sent  int
	}{
		{"a break before the text", []call{broken, whole}, recovering, Answered, 2},
		{"a break just after the first text", []call{quick, whole}, recovering, Answered, 2},
		{"a break once the client has seen text", []call{late, whole}, recovering, Broken, 1},
		{"an empty answer", []call{events(cRole, cStop, cDone), whole}, recovering, Answered, 2},
		{"every call breaks", []call{broken}, recovering, Failed, 5},
		{"recovery is off", []call{broken, whole}, func(*rig) {}, Failed, 1},
		{"a probe", []call{broken, whole}, func(k *rig) { recovering(k); k.req.Probe = true }, Failed, 1},
		{"an unknown error", []call{{err: errors.New("malformed")}, whole}, recovering, Failed, 1},
		{"the machine slept", []call{broken, whole}, func(k *rig) { k.asleep = true }, Answered, 2},
		{"the machine slept after the text", []call{quick, whole}, func(k *rig) { k.asleep = true }, Broken, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newRig(t, dialect.Chat, askStream, tt.calls...)
				tt.edit(k)
				res := k.run(t.Context())
				if res.End != tt.end || len(k.sent) != tt.sent || tt.end == Answered && k.client.body.String() != cRole+cText+cStop+cDone {
					t.Errorf("end %d after %d calls: %+v\n%s", res.End, len(k.sent), res.Outcome, k.client.body.String())
				}
				if tt.sent > 1 && len(k.steps) != tt.sent-1 {
					t.Errorf("the trace has %v", k.steps)
				}
				if k.asleep && tt.end == Broken && res.Code != resilience.CodeMachineSlept {
					t.Errorf("code %q", res.Code)
				}
			})
		})
	}
}

// What broke off in the moment in which content is held back is kept, and can
// still be delivered (case 176).
func TestAKeptBeginningIsDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig(t, dialect.Chat, askStream, events(cRole, cText).then(piece{err: errReset}))
		recovering(k)
		res := k.run(t.Context())
		if res.End != Failed || res.Kept == nil || k.client.heads > 0 {
			t.Fatalf("end %d, kept %v, %d heads", res.End, res.Kept, k.client.heads)
		}
		if !res.Kept.Deliver() || k.client.body.String() != cRole+cText+"event: error\ndata: broke\n\n" {
			t.Errorf("%s", k.client.body.String())
		}
	})
}

// The rest of an answer that broke off is fetched where that is switched on; the
// client sees one answer with one end.
func TestAnAnswerIsContinued(t *testing.T) {
	first := `data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"one two three four"}}]}` + "\n\n"
	next := `data: {"id":"2","choices":[{"index":0,"delta":{"content":"three four five"}}]}` + "\n\n"
	broken := events(first).then(piece{after: time.Second, err: io.ErrUnexpectedEOF})
	for _, tt := range []struct {
		name string
		rest call
		end  End
		sent int
		want string
	}{
		{"the rest", events(next, cStop, cDone), Answered, 2, " five"},
		{"the rest breaks off, too", events(next).then(piece{err: errReset}), Broken, 5, ""},
		{"no rest", call{err: errReset}, Broken, 5, ""},
		{"a refusal", refusal(500, ""), Broken, 5, ""},
		{"an error in the rest", events("data: {\"error\":{\"message\":\"no\"}}\n\n"), Broken, 5, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newRig(t, dialect.Chat, askStream, broken, tt.rest)
				k.settings.StreamRecovery.ContinueMidStream = true
				res := k.run(t.Context())
				got := k.client.body.String()
				if res.End != tt.end || len(k.sent) != tt.sent || !strings.Contains(got, tt.want) {
					t.Errorf("end %d after %d calls\n%s", res.End, len(k.sent), got)
				}
				if tt.end == Answered && (strings.Count(got, "[DONE]") != 1 || !strings.Contains(string(k.sent[1].Body), "one two three four")) {
					t.Errorf("%s\nasked with %s", got, k.sent[1].Body)
				}
			})
		})
	}
	t.Run("the client leaves meanwhile", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, leave := context.WithTimeout(t.Context(), 2*time.Second)
			defer leave()
			k := newRig(t, dialect.Chat, askStream, broken, call{after: time.Minute, err: errReset})
			k.settings.StreamRecovery.ContinueMidStream = true
			if res := k.run(ctx); res.End != Left {
				t.Errorf("end %d", res.End)
			}
		})
	})
	t.Run("not in Messages", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			k := newRig(t, dialect.Anthropic, askStream, events(aStart, aText).then(piece{err: errReset}))
			k.settings.StreamRecovery.ContinueMidStream = true
			if res := k.run(t.Context()); res.End != Broken || len(k.sent) != 1 {
				t.Errorf("end %d after %d calls", res.End, len(k.sent))
			}
		})
	})
}

// A stored login is refreshed when it is due, and once more when the upstream
// refuses its token.
func TestAStoredLogin(t *testing.T) {
	denied, fine := refusal(401, `{"error":{"message":"no"}}`), document(aDoc)
	given := func(token string, err error) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { return token, err }
	}
	for _, tt := range []struct {
		name   string
		bearer func(context.Context) (string, error)
		renew  func() (string, error)
		calls  []call
		end    End
		code   string
		status int
		keys   string
	}{
		{"works", given("t1", nil), nil, []call{fine}, Answered, "", 200, "t1"},
		{"is refused and renewed", given("t1", nil), tokens("t2"), []call{denied, fine}, Answered, "", 200, "t1 t2"},
		{"is refused twice", given("t1", nil), tokens("t2", "t3"), []call{denied}, Failed, "", 401, "t1 t2"},
		{"is refused and cannot be renewed", given("t1", nil), tokens(), []call{denied}, Failed, "", 401, "t1"},
		{"is refused and is beyond refreshing", given("t1", nil), func() (string, error) { return "", expired{} }, []call{denied}, Failed, "", 401, "t1"},
		{"is forbidden something else", given("t1", nil), tokens("t2"), []call{refusal(403, `{"error":{"message":"not your country"}}`)}, Failed, "", 403, "t1"},
		{"is forbidden for its token", given("t1", nil), tokens("t2"), []call{refusal(403, `{"error":{"message":"invalid token"}}`), fine}, Answered, "", 200, "t1 t2"},
		{"is beyond refreshing", given("", expired{}), nil, []call{fine}, Failed, "", 401, ""},
		{"cannot be refreshed now", given("", errors.New("down")), nil, []call{fine}, Failed, resilience.CodeLoginNotRefreshed, 504, ""},
		{"case 160 is not refreshed in time", func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}, nil, []call{fine}, Failed, string(admission.ExecutionTimeout), 504, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newRig(t, dialect.Anthropic, askMessages, tt.calls...)
				k.route.Record.Credential = string(catalog.OAuthCredential)
				k.route.Provider.ID = claude.ProviderID
				k.lane = &lane{}
				fresh := ""
				k.bearer = func(ctx context.Context) (string, error) {
					if fresh != "" {
						return fresh, nil
					}
					return tt.bearer(ctx)
				}
				k.renew = func() (token string, err error) {
					fresh, err = tt.renew()
					return fresh, err
				}
				k.target.Within = time.Minute
				res := k.run(t.Context())
				var keys []string
				for _, c := range k.sent {
					keys = append(keys, c.Key)
				}
				if res.End != tt.end || res.Status != tt.status || !strings.Contains(res.Code, tt.code) || strings.Join(keys, " ") != tt.keys {
					t.Errorf("end %d, status %d, code %q, sent %v: %+v", res.End, res.Status, res.Code, keys, res.Outcome)
				}
			})
		})
	}
	t.Run("the client leaves meanwhile", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, leave := context.WithTimeout(t.Context(), time.Second)
			defer leave()
			k := newRig(t, dialect.Anthropic, askMessages, fine)
			k.route.Record.Credential = string(catalog.OAuthCredential)
			k.bearer = func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }
			if res := k.run(ctx); res.End != Left || len(k.sent) > 0 {
				t.Errorf("end %d after %d calls", res.End, len(k.sent))
			}
		})
	})
}

// The lane and the limit reset of a subscription see each answer before it is
// judged; what they take does not count.
func TestASubscription(t *testing.T) {
	wall, fine := refusal(429, `{"error":{"type":"rate_limit_error","message":"limit"}}`), document(aDoc)
	retry := func(via claude.Via, d time.Duration) claude.Decision {
		return claude.Decision{Action: claude.Retry, Via: via, Delay: d}
	}
	for _, tt := range []struct {
		name  string
		lane  *lane
		calls []call
		stays time.Duration
		end   End
		sent  int
		steps string
	}{
		{"no word", &lane{}, []call{fine}, 0, Answered, 1, ""},
		{"enters the lane", &lane{answers: []claude.Decision{retry(claude.ViaAccepted, 0)}}, []call{wall, fine}, 0, Answered, 2, "lane:lane_entered:429"},
		{"waits in the lane", &lane{answers: []claude.Decision{retry(claude.ViaBusy, time.Minute)}}, []call{wall, fine}, 0, Answered, 2, "lane:" + string(claude.ViaBusy) + ":429"},
		{"leaves the lane", &lane{answers: []claude.Decision{{Action: claude.End, Reason: "over"}}}, []call{wall}, 0, Failed, 1, "lane:lane_ended:over:429"},
		{"resets the limit", &lane{answers: []claude.Decision{{Action: claude.AskReset}}, reset: retry(claude.ViaReset, 0), result: "granted"}, []call{wall, fine}, 0, Answered, 2, "lane:limit_reset:granted:429"},
		{"is not reset", &lane{answers: []claude.Decision{{Action: claude.AskReset}}}, []call{wall}, 0, Failed, 1, ""},
		{"is switched off meanwhile", &lane{answers: []claude.Decision{retry(claude.ViaBusy, time.Minute)}, off: true}, []call{wall}, 0, Refused, 1, "lane:" + string(claude.ViaBusy) + ":429 skipped:off"},
		{"the client leaves in the lane", &lane{answers: []claude.Decision{retry(claude.ViaCapacity, time.Hour)}}, []call{wall}, time.Second, Left, 1, "lane:" + string(claude.ViaCapacity) + ":429"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newRig(t, dialect.Anthropic, askMessages, tt.calls...)
				k.route.Provider.ID = claude.ProviderID
				k.passthrough("sk-own-login")
				k.lane, k.target.Within = tt.lane, 10*time.Second
				ctx := t.Context()
				if tt.stays > 0 {
					var leave func()
					ctx, leave = context.WithTimeout(ctx, tt.stays)
					defer leave()
				}
				res := k.run(ctx)
				if res.End != tt.end || len(k.sent) != tt.sent || strings.Join(k.steps, " ") != tt.steps {
					t.Errorf("end %d after %d calls: %v", res.End, len(k.sent), k.steps)
				}
				if k.sent[0].Last.Get("X-Lane") != "on" || k.lane.bearers[0] != "sk-own-login" {
					t.Errorf("sent %v for %v", k.sent[0].Last, k.lane.bearers)
				}
			})
		})
	}
}

// The credential does not reach the client or the result, wherever the upstream
// repeats it.
func TestTheCredentialIsScrubbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := refusal(400, `{"error":{"type":"sk-own-login","message":"sk-own-login is wrong"}}`)
		refused.header.Set("X-Echo", "key sk-own-login")
		k := newRig(t, dialect.Anthropic, askMessages, refused)
		k.passthrough("sk-own-login")
		res := k.run(t.Context())
		all := string(res.Body) + res.Header.Get("X-Echo") + res.Outcome.ErrorType + res.Outcome.RawHint
		if strings.Contains(all, "sk-own-login") || res.Status != http.StatusBadRequest {
			t.Errorf("%d: %s", res.Status, all)
		}
		if res.Outcome.Class == outcome.Success {
			t.Error("a refusal counts as a success")
		}
	})
}
