package history

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"breakwater/proxy/dialect"
)

var (
	t0    = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	alpha = Owner{"alpha", "openai"}
	beta  = Owner{"beta", "openai"}
	gamma = Owner{"gamma", "xai"}
	relay = Owner{"relay", ""}
)

// request is a Responses request with reasoning of these seals; "!" marks
// compaction.
func request(seals ...string) []byte {
	var items []string
	for _, s := range seals {
		kind := "reasoning"
		if c, ok := strings.CutSuffix(s, "!"); ok {
			kind, s = "compaction", c
		}
		items = append(items, fmt.Sprintf(`{"type":%q,"encrypted_content":%q}`, kind, s))
	}
	return []byte(`{"input":[` + strings.Join(append(items, `{"role":"user","content":"hi"}`), ",") + `]}`)
}

// left are the seals that the request is sent with.
func left(raw []byte) string {
	var out []string
	dialect.SealedParts(dialect.Responses, raw, func(s dialect.Sealed) { out = append(out, s.Seal) })
	return strings.Join(out, " ")
}

// desk is a memory with a clock to set.
type desk struct {
	*Memory
	now time.Time
}

func newDesk() *desk {
	d := &desk{now: t0}
	d.Memory = New(func() time.Time { return d.now })
	return d
}

func (d *desk) talk() *Conversation { return d.Conversation(dialect.Responses, 2) }

// makes is an answer of this owner that holds a seal.
func (d *desk) makes(by Owner, seal string) {
	d.talk().Visit(by).Event([]byte(`{"type":"response.output_item.done","item":{"type":"reasoning","encrypted_content":"` + seal + `"}}`))
}

func fit(v *Visit, raw []byte) string {
	out, _ := v.Fit(raw)
	return left(out)
}

func TestWhatIsTakenOut(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(d *desk)
		to   Owner
		sent []byte
		want string
	}{
		{"nothing is known", func(*desk) {}, beta, request("a"), "a"},
		{"of its own", func(d *desk) { d.makes(beta, "a") }, beta, request("a"), "a"},
		{"of another account of its vendor, untried", func(d *desk) { d.makes(alpha, "a") }, beta, request("a"), "a"},
		{"of another vendor", func(d *desk) { d.makes(gamma, "a"); d.makes(alpha, "b") }, beta, request("a", "b", "c"), "b c"},
		{"of an unknown vendor", func(d *desk) { d.makes(relay, "a") }, beta, request("a"), "a"},
		{"what it refused", func(d *desk) { d.talk().Visit(beta).Refused(request("a")) }, beta, request("a", "b"), "b"},
		{"what another refused", func(d *desk) { d.talk().Visit(alpha).Refused(request("a")) }, beta, request("a"), "a"},
		{"what the maker makes later, once refused", func(d *desk) {
			d.makes(alpha, "a")
			d.talk().Visit(beta).Refused(request("a"))
			d.makes(alpha, "b")
		}, beta, request("a", "b", "c"), "c"},
		{"what it answered once", func(d *desk) {
			d.makes(gamma, "a")
			d.talk().Visit(beta).Answered(request("a"))
		}, beta, request("a"), "a"},
		{"a pair that gets on after all", func(d *desk) {
			d.makes(alpha, "a")
			d.talk().Visit(beta).Refused(request("a"))
			d.makes(alpha, "b")
			d.talk().Visit(beta).Answered(request("b"))
		}, beta, request("a", "b", "c"), "b c"},
		{"a day later", func(d *desk) {
			d.makes(gamma, "a")
			d.now = t0.Add(lifetime)
		}, beta, request("a"), "a"},
		{"within the day", func(d *desk) {
			d.makes(gamma, "a")
			d.now = t0.Add(lifetime - 1)
		}, beta, request("a"), ""},
		{"compaction never", func(d *desk) {
			d.makes(gamma, "a")
			d.talk().Visit(beta).Refused(request("a!"))
		}, beta, request("a!"), "a"},
		{"its own that it does not know any more", func(d *desk) {
			d.makes(beta, "a")
			d.talk().Visit(beta).Refused(request("a"))
		}, beta, request("a"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk()
			tt.do(d)
			if got := fit(d.talk().Visit(tt.to), tt.sent); got != tt.want {
				t.Errorf("sent %q, want %q", got, tt.want)
			}
		})
	}
}

func TestARepair(t *testing.T) {
	t.Run("all that is not its own goes, once a request", func(t *testing.T) {
		d := newDesk()
		d.makes(alpha, "a")
		d.makes(beta, "b")
		c := d.talk()
		v := c.Visit(beta)
		sent := request("a", "b", "unknown")
		if !v.Refused(sent) || fit(v, sent) != "b" {
			t.Errorf("sent %q", fit(v, sent))
		}
		if v.Refused(request("b")) {
			t.Error("asked a second time")
		}
		if got := fit(c.Visit(alpha), sent); got != "a" { // the next target of the same request
			t.Errorf("the next gets %q", got)
		}
	})
	t.Run("nothing to take out", func(t *testing.T) {
		if v := newDesk().talk().Visit(beta); v.Refused(request()) || v.Refused(request("a!")) {
			t.Error("asked again with the same body")
		}
	})
	t.Run("with one owner nothing is looked at before a refusal", func(t *testing.T) {
		d := newDesk()
		v := d.Conversation(dialect.Responses, 1).Visit(alpha)
		v.Answered(request("a"))
		v.Document([]byte(`{"output":[{"type":"reasoning","encrypted_content":"a"}]}`))
		if !d.Empty() {
			t.Error("it was")
		}
		if !v.Refused(request("a")) || fit(v, request("a")) != "" {
			t.Error("not repaired")
		}
		if got := fit(d.Conversation(dialect.Responses, 1).Visit(alpha), request("a")); got != "" {
			t.Errorf("the next request is sent with %q", got)
		}
	})
}

func TestCompaction(t *testing.T) {
	d := newDesk()
	d.talk().Visit(alpha).Document([]byte(`{"output":[{"type":"compaction","encrypted_content":"a"}]}`))
	d.talk().Visit(gamma).Answered(request("a!"))
	d.talk().Visit(beta).Refused(request("b!"))
	for _, tt := range []struct {
		name string
		raw  []byte
		to   Owner
		want bool
	}{
		{"its maker", request("a!"), alpha, false},
		{"one that answered it", request("a!"), gamma, false},
		{"another", request("a!"), beta, true},
		{"of an unknown maker", request("c!"), beta, false},
		{"of an unknown maker, refused", request("b!"), beta, true},
		{"of an unknown maker, refused by another", request("b!"), alpha, false},
		{"one of two", request("a!", "b!"), beta, true},
		{"reasoning is no compaction", request("a"), beta, false},
		{"an empty body", nil, beta, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := d.talk().Compacted(tt.raw, tt.to.ID); got != tt.want {
				t.Error(got)
			}
		})
	}
}

// The memory is bounded, whatever happens, and a request is repaired once.
func TestMemoryIsBounded(t *testing.T) {
	l := newLRU[int, string](3, time.Minute)
	for i := range 5 {
		*l.touch(t0.Add(time.Duration(i)*time.Second), i) = fmt.Sprint(i)
	}
	l.touch(t0.Add(9*time.Second), 2)
	l.touch(t0.Add(10*time.Second), 9)
	for key, want := range map[int]bool{0: false, 1: false, 2: true, 3: false, 4: true, 9: true} {
		if got := l.get(t0.Add(10*time.Second), key) != nil; got != want {
			t.Errorf("%d: %v", key, got)
		}
	}
	if l.len() != 3 || l.get(t0.Add(69*time.Second), 2) != nil || l.len() != 2 {
		t.Errorf("%d are kept", l.len())
	}
	rapid.Check(t, func(t *rapid.T) {
		d := newDesk()
		owners := []Owner{alpha, beta, gamma, relay}
		for range rapid.IntRange(1, 40).Draw(t, "requests") {
			var seals []string
			for range rapid.IntRange(0, 4).Draw(t, "items") {
				seals = append(seals, rapid.SampledFrom([]string{"a", "b", "c", "d", "e!", "f!"}).Draw(t, "seal"))
			}
			raw, c, repairs := request(seals...), d.talk(), 0
			for range 4 {
				v := c.Visit(rapid.SampledFrom(owners).Draw(t, "to"))
				sent, _ := v.Fit(raw)
				switch rapid.IntRange(0, 2).Draw(t, "answer") {
				case 0:
					v.Answered(sent)
				case 1:
					if v.Refused(sent) {
						repairs++
						if again, _ := v.Fit(raw); string(again) == string(sent) {
							t.Fatal("repaired to the same body")
						}
					}
				case 2:
					d.makes(v.to, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "made"))
				}
			}
			if repairs > 1 {
				t.Fatalf("%d repairs", repairs)
			}
			d.now = d.now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "hours")) * time.Hour)
		}
		for _, e := range []string{"a", "b", "e"} {
			if i := d.items.get(d.now, d.digest(e)); i != nil && len(i.accepted)+len(i.refused) > 2*maxOwners {
				t.Fatal("an item grows without end")
			}
		}
	})
}

// What is kept of stored conversations is bounded in number and in bytes; whose
// they are stays known for longer than what they say.
func TestStoredConversationsAreBounded(t *testing.T) {
	d := newDesk()
	big := []string{strings.Repeat("x", maxConversation/2)}
	for i := range 100 {
		d.keep(fmt.Sprint("r", i), "", alpha, big)
	}
	if d.shelf.size > maxStoredBytes {
		t.Errorf("%d bytes are kept", d.shelf.size)
	}
	if by, items := d.answer("r0"); by != "alpha" || items != nil {
		t.Error("the oldest is still kept whole, or its owner is forgotten")
	}
	if _, items := d.answer("r99"); items == nil {
		t.Error("the newest is not kept")
	}
	d.keep("r100", "r99", alpha, big)
	d.keep("r101", "r100", alpha, big)
	if _, items := d.answer("r101"); items != nil {
		t.Error("a conversation grows without end")
	}
	d.keep("r102", "never seen", alpha, big)
	if _, items := d.answer("r102"); items != nil {
		t.Error("half a conversation is taken for a whole one")
	}
	for i := range maxStored {
		d.keep(fmt.Sprint("small", i), "", alpha, []string{"x"})
	}
	if d.shelf.size != maxStored {
		t.Errorf("%d bytes of %d", d.shelf.size, maxStored)
	}
	d.now = t0.Add(lifetime)
	if by, _ := d.answer("small9"); by != "" || d.shelf.size != maxStored-1 {
		t.Errorf("after a day %q, %d bytes", by, d.shelf.size)
	}
}
