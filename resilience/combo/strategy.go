package combo

import "strings"

// Name is a routing strategy's name, as the guide spells it.
type Name string

// The strategies (guide, "Otras funciones de resiliencia"), and the internal one
// of shared quotas.
const (
	Priority         Name = "priority"
	Weighted         Name = "weighted"
	RoundRobin       Name = "round-robin"
	ContextRelay     Name = "context-relay"
	FillFirst        Name = "fill-first"
	P2C              Name = "p2c"
	Random           Name = "random"
	LeastUsed        Name = "least-used"
	CostOptimized    Name = "cost-optimized"
	ResetAware       Name = "reset-aware"
	ResetWindow      Name = "reset-window"
	Headroom         Name = "headroom"
	QuotaWeighted    Name = "quota-weighted"
	StrictRandom     Name = "strict-random"
	Auto             Name = "auto"
	LKGP             Name = "lkgp"
	ContextOptimized Name = "context-optimized"
	CacheOptimized   Name = "cache-optimized"
	Fusion           Name = "fusion"
	Pipeline         Name = "pipeline"
	QuotaShare       Name = "quota-share"
)

// Strategy puts the targets of one request in the order in which they are to
// be tried. It changes neither the input nor its targets; what it remembers
// goes into in.State. It keeps every target unless its rules drop some, and it
// may refuse the request with in.Refusal.
type Strategy func(in *Input) []*Target

// Entry is one strategy with everything the rest of the program knows of it.
type Entry struct {
	Name    Name
	Aliases []string
	Order   Strategy
	// Done learns from the end of a request; nil when there is nothing to learn.
	Done func(r *Result)
	Traits
}

// Traits say how the steps around a strategy treat it (sheet §1.9).
type Traits struct {
	Internal   bool // not offered to the user
	Handler    bool // runs the request itself: fusion, pipeline
	Expand     bool // one target a connection, not one a step
	Nests      bool // may run a nested combo as a black box
	KeepsFirst bool // the first target is not moved by cache affinity
	SameModel  bool // affinity moves targets of the first one's model only
	NoSession  bool // session stickiness leaves the order alone
	OwnCutoff  bool // filters by quota itself: no cutoff gate in the loop
	Counts     bool // looks at what the combo has counted of its targets
}

// table is every strategy. A new one is a file with its Order function, and one
// line here.
var table = []Entry{
	{Name: Priority, Order: declared, Traits: Traits{Nests: true, KeepsFirst: true, SameModel: true, NoSession: true}},
	{Name: Weighted, Order: weighted, Done: weightedDone, Traits: Traits{Nests: true, KeepsFirst: true, SameModel: true}},
	{Name: RoundRobin, Order: roundRobin, Done: roundRobinDone, Traits: Traits{Nests: true}},
	{Name: ContextRelay, Order: declared, Done: relayDone},
	{Name: FillFirst, Order: declared, Traits: Traits{Nests: true, KeepsFirst: true, SameModel: true}},
	{Name: P2C, Order: powerOfTwo, Traits: Traits{Counts: true}},
	{Name: Random, Order: random, Traits: Traits{Nests: true}},
	{Name: LeastUsed, Aliases: []string{"usage"}, Order: leastUsed, Traits: Traits{Counts: true}},
	{Name: CostOptimized, Order: costOptimized},
	{Name: ResetAware, Order: resetAware, Traits: Traits{Expand: true}},
	{Name: ResetWindow, Aliases: []string{"weekly-reset", "reset-window-order"}, Order: resetWindow, Traits: Traits{Expand: true}},
	{Name: Headroom, Order: headroom, Traits: Traits{Expand: true}},
	{Name: QuotaWeighted, Order: quotaWeighted, Done: quotaWeightedDone, Traits: Traits{Expand: true, KeepsFirst: true}},
	{Name: StrictRandom, Order: strictRandom, Traits: Traits{Nests: true}},
	{Name: Auto, Order: auto, Done: autoDone, Traits: Traits{Expand: true, KeepsFirst: true, OwnCutoff: true, Counts: true}},
	{Name: LKGP, Order: lastKnownGood, Done: lastKnownGoodDone, Traits: Traits{KeepsFirst: true}},
	{Name: ContextOptimized, Aliases: []string{"context"}, Order: contextOptimized},
	{Name: CacheOptimized, Order: cacheOptimized, Traits: Traits{NoSession: true}},
	{Name: Fusion, Order: declared, Traits: Traits{Handler: true, NoSession: true}},
	{Name: Pipeline, Order: declared, Traits: Traits{Handler: true, NoSession: true}},
	{Name: QuotaShare, Order: quotaShare, Done: quotaShareDone, Traits: Traits{Internal: true, Expand: true, KeepsFirst: true, SameModel: true}},
}

var byName = func() map[string]*Entry {
	m := map[string]*Entry{}
	for i := range table {
		e := &table[i]
		m[string(e.Name)] = e
		for _, a := range e.Aliases {
			m[a] = e
		}
	}
	return m
}()

// Lookup finds a strategy by name or alias.
func Lookup(name string) (*Entry, bool) {
	e, ok := byName[strings.ToLower(strings.TrimSpace(name))]
	return e, ok
}

// Parse returns the strategy of a name or alias, priority for any other.
func Parse(name string) Name {
	if e, ok := Lookup(name); ok {
		return e.Name
	}
	return Priority
}

// Public lists the strategies a user may choose, in the guide's order.
func Public() []Name {
	var names []Name
	for i := range table {
		if !table[i].Internal {
			names = append(names, table[i].Name)
		}
	}
	return names
}
