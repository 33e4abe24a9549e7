package admission

import (
	"slices"
	"strings"
	"time"
)

// Level is a gate's place in the composite gate (guide §4).
type Level uint8

// The levels. The first four form the composite gate, in this order; Combo and
// Share stand alone.
const (
	Global Level = iota
	Provider
	Account
	Model
	Combo // one target of a round-robin combo
	Share // one account of a quota-share combo
)

// Key names a gate.
type Key struct {
	Level                    Level
	Provider, Account, Model string // Combo and Share use Account alone
}

// String returns the key as it stands in logs and messages (sheet §4.2).
func (k Key) String() string {
	switch k.Level {
	case Global:
		return "global"
	case Provider:
		return k.Provider
	case Account:
		return k.Provider + ":" + k.Account
	case Model:
		return k.Provider + ":" + k.Account + ":model:" + k.Model
	case Share:
		return "qsconn:" + k.Account
	default:
		return "combo:" + k.Account
	}
}

// GateView shows one gate.
type GateView struct {
	Key             Key
	Limit           int // 0: none
	Running, Queued int
	Blocked         time.Duration // what is left of a block
}

// Views returns the gates that have a limit or a block, by key.
func (g *Gates) Views() []GateView {
	g.mu.Lock()
	defer g.mu.Unlock()
	var views []GateView
	for _, x := range g.gates {
		if x.limit > 0 || !x.until.IsZero() {
			views = append(views, GateView{x.key, x.limit, x.running, len(x.queue), max(0, time.Until(x.until))})
		}
	}
	slices.SortFunc(views, func(a, b GateView) int { return strings.Compare(a.Key.String(), b.Key.String()) })
	return views
}

// Running returns how many have passed a gate and not come back, with or
// without a limit.
func (g *Gates) Running(key Key) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if x := g.gates[key]; x != nil {
		return x.running
	}
	return 0
}
