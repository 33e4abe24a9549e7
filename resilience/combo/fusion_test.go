package combo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// panel answers calls as told, and notes them.
type panel struct {
	mu    sync.Mutex
	calls []Call
	reply map[string]func(ctx context.Context) (Answer, error)
}

func (p *panel) call(ctx context.Context, c Call) (Answer, error) {
	p.mu.Lock()
	p.calls = append(p.calls, c)
	f := p.reply[c.Target.Key]
	p.mu.Unlock()
	if f == nil {
		return Answer{Status: 200, Text: "answer of " + c.Target.Key}, nil
	}
	return f(ctx)
}

func says(status int, text string) func(context.Context) (Answer, error) {
	return func(context.Context) (Answer, error) { return Answer{Status: status, Text: text}, nil }
}

func after(d time.Duration, status int, text string) func(context.Context) (Answer, error) {
	return func(ctx context.Context) (Answer, error) {
		select {
		case <-time.After(d):
			return Answer{Status: status, Text: text}, nil
		case <-ctx.Done():
			return Answer{}, ctx.Err()
		}
	}
}

func (p *panel) summary() string {
	var parts []string
	for _, c := range p.calls {
		s := c.Target.Key
		if c.Final {
			s += "!"
		}
		parts = append(parts, s)
	}
	slices.SortStableFunc(parts, func(a, b string) int {
		return strings.Compare(fmt.Sprint(strings.HasSuffix(a, "!"), a), fmt.Sprint(strings.HasSuffix(b, "!"), b))
	})
	return strings.Join(parts, " ")
}

func fusionOf(names ...string) FusionRequest {
	return FusionRequest{Panel: tgts(names...), Tuning: DefaultFusion()}
}

// refusal checks the status of a refusal and returns its message.
func refusal(t *testing.T, err error, status int) string {
	t.Helper()
	var r *Refusal
	if !errors.As(err, &r) || r.Status != status {
		t.Fatalf("error %v, want status %d", err, status)
	}
	return r.Message
}

func TestFusion(t *testing.T) {
	t.Run("case 77 one model", func(t *testing.T) {
		p := &panel{}
		if _, err := RunFusion(t.Context(), fusionOf("a"), p.call); err != nil || p.summary() != "a!" {
			t.Error(p.summary(), err)
		}
	})
	t.Run("case 78 three models and a judge", func(t *testing.T) {
		p := &panel{}
		r := fusionOf("a", "b", "c")
		judge := tgt("j")
		r.Judge = judge
		a, err := RunFusion(t.Context(), r, p.call)
		if err != nil || a.Text != "answer of j" || p.summary() != "a b c j!" {
			t.Error(p.summary(), err)
		}
		last := p.calls[3]
		if len(last.Sources) != 3 || last.System == "" || !strings.HasPrefix(JudgeText(last.Sources), "Source 1:\nanswer of a\n\nSource 2:\nanswer of b") {
			t.Error(JudgeText(last.Sources))
		}
	})
	t.Run("case 79 a straggler is left behind", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := &panel{reply: map[string]func(context.Context) (Answer, error){"c": after(5*time.Second, 200, "late")}}
			r := fusionOf("a", "b", "c")
			r.Tuning.StragglerGraceMs = 50
			began := time.Now()
			if _, err := RunFusion(t.Context(), r, p.call); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(began); d >= 2*time.Second {
				t.Error(d)
			}
			last := p.calls[len(p.calls)-1]
			if len(last.Sources) != 2 || slices.Contains(last.Sources, "late") || last.Target.Key != "a" {
				t.Errorf("%+v", last)
			}
		})
	})
	t.Run("case 80 only one answers, without a judge", func(t *testing.T) {
		p := &panel{reply: map[string]func(context.Context) (Answer, error){"a": says(500, "x"), "c": says(200, "  ")}}
		if _, err := RunFusion(t.Context(), fusionOf("a", "b", "c"), p.call); err != nil || p.summary() != "a b c b!" {
			t.Error(p.summary(), err)
		}
		if last := p.calls[3]; last.Sources != nil || last.System != "" {
			t.Errorf("judged: %+v", last)
		}
	})
	t.Run("case 80 only one answers, with a judge", func(t *testing.T) {
		p := &panel{reply: map[string]func(context.Context) (Answer, error){"a": says(500, "x"), "c": says(429, "")}}
		r := fusionOf("a", "b", "c")
		judge := tgt("j")
		r.Judge = judge
		if _, err := RunFusion(t.Context(), r, p.call); err != nil || p.summary() != "a b c j!" || len(p.calls[3].Sources) != 1 {
			t.Error(p.summary(), err)
		}
	})
	t.Run("case 81 all fail", func(t *testing.T) {
		bad := says(500, "")
		p := &panel{reply: map[string]func(context.Context) (Answer, error){"a": bad, "b": bad}}
		_, err := RunFusion(t.Context(), fusionOf("a", "b"), p.call)
		refusal(t, err, 503)
	})
	t.Run("the first survivor judges when the first member failed", func(t *testing.T) {
		p := &panel{reply: map[string]func(context.Context) (Answer, error){"a": says(500, "")}}
		if _, err := RunFusion(t.Context(), fusionOf("a", "b", "c"), p.call); err != nil || p.summary() != "a b c b!" || len(p.calls[3].Sources) != 2 {
			t.Error(p.summary(), err)
		}
	})
	t.Run("tools skip the panel", func(t *testing.T) {
		p := &panel{}
		r := fusionOf("a", "b")
		r.Tools = true
		if _, err := RunFusion(t.Context(), r, p.call); err != nil || p.summary() != "a!" {
			t.Error(p.summary(), err)
		}
		judge := tgt("j")
		r.Judge = judge
		p = &panel{}
		if _, err := RunFusion(t.Context(), r, p.call); err != nil || p.summary() != "j!" {
			t.Error(p.summary(), err)
		}
	})
	t.Run("no member, too many members", func(t *testing.T) {
		_, err := RunFusion(t.Context(), fusionOf(), (&panel{}).call)
		refusal(t, err, 400)
		_, err = RunFusion(t.Context(), fusionOf(strings.Split(strings.Repeat("x ", 41), " ")[:41]...), (&panel{}).call)
		refusal(t, err, 400)
	})
	t.Run("90 seconds at most", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := &panel{reply: map[string]func(context.Context) (Answer, error){"b": after(time.Hour, 200, "late")}}
			began := time.Now()
			if _, err := RunFusion(t.Context(), fusionOf("a", "b"), p.call); err != nil || p.summary() != "a b a!" {
				t.Error(p.summary(), err)
			}
			if d := time.Since(began); d != 90*time.Second {
				t.Error(d)
			}
		})
	})
	t.Run("the client leaves", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			slow := after(time.Hour, 200, "late")
			p := &panel{reply: map[string]func(context.Context) (Answer, error){"a": slow, "b": slow}}
			_, err := RunFusion(ctx, fusionOf("a", "b"), p.call)
			refusal(t, err, 499)
		})
	})
	t.Run("more sources than fingers", func(t *testing.T) {
		if s := JudgeText(make([]string, 12)); !strings.Contains(s, "Source 12:") {
			t.Error(s)
		}
	})
}

func TestPipeline(t *testing.T) {
	t.Run("case 82 the text goes from step to step", func(t *testing.T) {
		p := &panel{}
		l := tgts("a", "b")
		l[1].Prompt = "shorten"
		a, err := RunPipeline(t.Context(), l, p.call)
		if err != nil || a.Text != "answer of b" || len(p.calls) != 2 {
			t.Fatal(err)
		}
		one, two := p.calls[0], p.calls[1]
		if one.Final || one.User != "" || one.System != "" || !two.Final || two.User != "answer of a" || two.System != "shorten" {
			t.Errorf("%+v %+v", one, two)
		}
	})
	t.Run("case 83 a middle step fails, or says nothing", func(t *testing.T) {
		for _, c := range []struct {
			reply func(context.Context) (Answer, error)
			want  int
		}{
			{says(500, "x"), 500},
			{says(200, " "), 502},
			{says(302, "x"), 502},
			{func(context.Context) (Answer, error) { return Answer{}, errors.New("broken") }, 502},
			{func(context.Context) (Answer, error) { return Answer{}, &Refusal{Status: 429, RetryAfter: time.Second} }, 429},
		} {
			p := &panel{reply: map[string]func(context.Context) (Answer, error){"b": c.reply}}
			_, err := RunPipeline(t.Context(), tgts("a", "b", "c"), p.call)
			if msg := refusal(t, err, c.want); !strings.Contains(msg, "Step 2") {
				t.Error(msg)
			}
			if len(p.calls) != 2 {
				t.Errorf("%d calls", len(p.calls))
			}
		}
	})
	t.Run("one step, no step", func(t *testing.T) {
		p := &panel{}
		if _, err := RunPipeline(t.Context(), tgts("a"), p.call); err != nil || p.summary() != "a!" {
			t.Error(err)
		}
		_, err := RunPipeline(t.Context(), nil, p.call)
		refusal(t, err, 400)
	})
	t.Run("the client leaves", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := &panel{reply: map[string]func(context.Context) (Answer, error){"a": func(context.Context) (Answer, error) {
			cancel()
			return Answer{}, ctx.Err()
		}}}
		_, err := RunPipeline(ctx, tgts("a", "b"), p.call)
		refusal(t, err, 499)
	})
}

func TestContextRelay(t *testing.T) {
	talk := func() []Message {
		list := make([]Message, 0, 50)
		for i := range 50 {
			list = append(list, Message{"user", fmt.Sprintf("message   %d\nline", i)})
		}
		return list
	}
	serve := func(st *State, usedShare float64, provider string, m func() []Message, sum func([]Message) string) {
		in := input(tgts("a"))
		in.State = st
		in.Targets[0].Provider, in.Targets[0].Live.Quota = provider, weekly(usedShare, 2*time.Hour)
		e, _ := Lookup("context-relay")
		e.Done(&Result{
			Entry: e, Combo: "c", Config: in.Config, State: st, Now: t0, Served: in.Targets[0],
			Relay: &Relay{Session: "s", Messages: m, Summarise: sum},
		})
	}
	for _, c := range []struct {
		name     string
		used     float64
		provider string
		want     bool
	}{
		{"below the threshold", .84, "codex", false},
		{"at the threshold", .85, "codex", true},
		{"too late", .95, "codex", false},
		{"another provider", .9, "glm", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := NewState()
			serve(st, c.used, c.provider, talk, nil)
			if _, ok := Handoff(st, t0, "s", "c-a"); ok {
				t.Error("handed to the account it comes from")
			}
			text, ok := Handoff(st, t0, "s", "c-b")
			if ok != c.want {
				t.Fatalf("handed over: %v", ok)
			}
			if ok && (!strings.HasPrefix(text, "user: message 20 line\n") || !strings.HasSuffix(text, "message 49 line") || len(text) > 2000) {
				t.Error(text)
			}
			if _, again := Handoff(st, t0, "s", "c-b"); again {
				t.Error("handed over twice")
			}
		})
	}
	t.Run("valid until the earliest reset", func(t *testing.T) {
		st := NewState()
		serve(st, .9, "codex", talk, nil)
		if _, ok := Handoff(st, t0.Add(2*time.Hour), "s", "c-b"); ok {
			t.Error("outlives the reset")
		}
	})
	t.Run("a model's own summary, cut to size", func(t *testing.T) {
		st := NewState()
		serve(st, .9, "codex", talk, func(l []Message) string { return strings.Repeat("y", 3000) + fmt.Sprint(len(l)) })
		if text, _ := Handoff(st, t0, "s", "c-b"); len(text) != 2000 {
			t.Error(len(text))
		}
	})
	t.Run("long and empty talks", func(t *testing.T) {
		st := NewState()
		serve(st, .9, "codex", func() []Message { return []Message{{"user", strings.Repeat("ü", 4000)}} }, nil)
		if text, _ := Handoff(st, t0, "s", "c-b"); len(text) > 2000 || len(text) < 1990 {
			t.Error(len(text))
		}
		serve(st, .9, "codex", func() []Message { return nil }, nil)
		if _, ok := Handoff(st, t0, "s", "c-b"); ok {
			t.Error("nothing is handed over")
		}
		if _, ok := Handoff(st, t0, "", "c-b"); ok {
			t.Error("without a session")
		}
	})
}
