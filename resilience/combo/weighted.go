package combo

import (
	"cmp"
	"slices"
)

// sticky is the target that is used again until its batch is full.
type sticky struct {
	key  string
	wins int
}

// full counts a success on key and reports that the batch of limit is over.
func (s *sticky) full(key string, limit int) bool {
	if s.key != key {
		*s = sticky{key: key}
	}
	s.wins++
	return s.wins >= limit
}

var stickyWeighted = newSlot[sticky](500)

// span is a run of targets of one top-level step.
type span struct {
	from, to int
	weight   float64
	usable   bool
}

func groups(targets []*Target) []span {
	var list []span
	for i := range targets {
		if i == 0 || targets[i].Group != targets[i-1].Group {
			list = append(list, span{from: i, weight: targets[i].Weight})
		}
		g := &list[len(list)-1]
		g.to = i + 1
		g.usable = g.usable || targets[i].Usable()
	}
	return list
}

// weighted draws among the top-level steps that have a usable target; the
// targets of a step stay together. The other steps follow by weight, those
// without a usable target last.
func weighted(in *Input) []*Target {
	list := groups(in.Targets)
	weights := make([]float64, 0, len(list))
	eligible := make([]int, 0, len(list))
	for i, g := range list {
		if g.usable {
			eligible = append(eligible, i)
			weights = append(weights, g.weight)
		}
	}
	first, stuck := in.stickyGroup(list)
	switch {
	case stuck >= 0:
	case len(eligible) > 0:
		first = eligible[draw(in.Rand, weights)]
	default:
		first = -1
	}
	order := make([]int, 0, len(list))
	for i := range list {
		if i != first {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := list[a], list[b]
		switch {
		case x.usable != y.usable && x.usable:
			return -1
		case x.usable != y.usable:
			return 1
		case in.Config.Tiers != nil:
			return 0
		default:
			return cmp.Compare(y.weight, x.weight)
		}
	})
	if first >= 0 {
		order = slices.Insert(order, 0, first)
	}
	out := make([]*Target, 0, len(in.Targets))
	for _, i := range order {
		out = append(out, in.Targets[list[i].from:list[i].to]...)
	}
	if stuck >= 0 {
		out = front(out, indexOf(out, in.Targets[stuck].Key))
	}
	return out
}

// stickyGroup returns the step and the target of an unfinished batch, or -1
// when there is none; a target that cannot be used ends its batch.
func (in *Input) stickyGroup(list []span) (group, at int) {
	if in.Config.StickyWeighted <= 1 {
		return -1, -1
	}
	group, at = -1, -1
	stickyWeighted.do(in.State, in.Combo, func(s *sticky) bool {
		i := indexOf(in.Targets, s.key)
		if i < 0 || !in.Targets[i].Usable() {
			return false
		}
		at = i
		group = slices.IndexFunc(list, func(g span) bool { return i >= g.from && i < g.to })
		return true
	})
	return group, at
}

func weightedDone(r *Result) {
	if r.Served == nil || r.Config.StickyWeighted <= 1 {
		return
	}
	stickyWeighted.do(r.State, r.Combo, func(s *sticky) bool { return !s.full(r.Served.Key, r.Config.StickyWeighted) })
}
