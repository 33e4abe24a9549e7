package combo

import (
	"slices"
	"strings"
)

// random shuffles the targets.
func random(in *Input) []*Target {
	out := slices.Clone(in.Targets)
	shuffle(in.Rand, out)
	return out
}

// deck deals each target once before any comes again.
type deck struct {
	set   string // the sorted keys it was made of
	cards []string
	next  int
}

var decks = newSlot[deck](500)

// strictRandom takes the next card of the combo's deck, and shuffles the rest.
func strictRandom(in *Input) []*Target {
	if len(in.Targets) < 2 {
		return slices.Clone(in.Targets)
	}
	keys := make([]string, len(in.Targets))
	for i := range in.Targets {
		keys[i] = in.Targets[i].Key
	}
	first := ""
	decks.do(in.State, "combo:"+in.Combo, func(d *deck) bool {
		first = d.deal(in.Rand, keys)
		return true
	})
	out := front(in.Targets, max(0, indexOf(in.Targets, first)))
	shuffle(in.Rand, out[1:])
	return out
}

func (d *deck) deal(rand Rand, keys []string) string {
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	set := strings.Join(sorted, "\x00")
	if d.set != set || d.next >= len(d.cards) {
		last := ""
		if d.next > 0 {
			last = d.cards[d.next-1]
		}
		d.set, d.cards, d.next = set, slices.Clone(keys), 0
		shuffle(rand, d.cards)
		if d.cards[0] == last { // not twice in a row across two cycles
			j := 1 + pick(rand, len(d.cards)-1)
			d.cards[0], d.cards[j] = d.cards[j], d.cards[0]
		}
	}
	card := d.cards[d.next]
	d.next++
	return card
}
