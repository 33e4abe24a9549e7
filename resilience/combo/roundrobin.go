package combo

// turn is where the rotation of a combo stands.
type turn struct {
	next  int
	batch sticky
}

var turns = newSlot[turn](500)

// roundRobin starts at the combo's counter and goes round once. Without a
// batch limit the counter moves on at once, so that requests which are under
// way together start at different targets.
func roundRobin(in *Input) []*Target {
	n := len(in.Targets)
	if n == 0 {
		return nil
	}
	start := 0
	turns.do(in.State, in.Combo, func(t *turn) bool {
		start = t.next % n
		if in.Config.StickyRoundRobin <= 1 {
			t.next = start + 1
			return true
		}
		if i := indexOf(in.Targets, t.batch.key); i >= 0 && in.Targets[i].Usable() {
			start = i
		} else {
			t.batch = sticky{}
		}
		return true
	})
	return rotate(in.Targets, start)
}

// roundRobinDone moves the counter behind the target that answered: after a
// fallback it would otherwise answer twice in a row. When later requests have
// moved the counter meanwhile, it is left to them.
func roundRobinDone(r *Result) {
	n := len(r.Declared)
	if r.Served == nil || n == 0 || len(r.Order) == 0 {
		return
	}
	served, start := indexOf(r.Declared, r.Served.Key), indexOf(r.Declared, r.Order[0].Key)
	if served < 0 {
		return
	}
	turns.do(r.State, r.Combo, func(t *turn) bool {
		switch limit := r.Config.StickyRoundRobin; {
		case limit <= 1:
			if t.next%n == (start+1)%n {
				t.next = served + 1
			}
		case t.batch.full(r.Served.Key, limit):
			t.next, t.batch = served+1, sticky{}
		}
		return true
	})
}

// GateKey names the gate in which a round-robin target runs; its capacity is
// GateCapacity, its wait and depth are the combo's queueTimeoutMs and
// queueDepth.
func GateKey(combo string, t *Target) string { return "combo:" + combo + ":" + t.Key }

// GateCapacity is the connection's own cap, else the combo's.
func GateCapacity(c *Config, t *Target) int {
	if n := EffectiveMax(t.MaxConcurrent, 0); n > 0 {
		return n
	}
	return max(1, min(32, c.ConcurrencyPerModel))
}
