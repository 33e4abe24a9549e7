package app

import "testing"

func TestEveryReasonHasWordsOfItsOwn(t *testing.T) {
	seen := map[string]Reason{}
	for _, why := range []Reason{ReasonOther, ReasonNewer, ReasonDamaged} {
		m := notStarted(why)
		if m.Title == "" || m.Body == "" || m.Key == "" {
			t.Errorf("%d: %+v", why, m)
		}
		if other, ok := seen[m.Body]; ok {
			t.Errorf("%d says the same as %d", why, other)
		}
		seen[m.Body] = why
	}
}
