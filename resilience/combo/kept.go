package combo

import "sync"

// Kept holds what a planner worked out of its combos, by their address. It
// belongs to one World and one set of Globals: whoever changes either begins a
// new one. The zero value is empty.
type Kept struct {
	combos sync.Map // of *Combo to *prepared
}

// prepared is a combo with its configuration cascaded and its targets resolved.
// It is shared by requests and never changed.
type prepared struct {
	entry *Entry
	cfg   Config
	trust trust
	specs []*Spec
}

// targets returns the targets for one request, of which nothing is known yet.
func (r *prepared) targets() []*Target {
	block, out := make([]Target, len(r.specs)), make([]*Target, len(r.specs))
	for i, s := range r.specs {
		block[i].Spec = s
		out[i] = &block[i]
	}
	return out
}

// prepare resolves a combo, or returns what was kept of it. Nested combos and
// callers who may not use every connection have targets of their own.
func (p *Planner) prepare(c *Combo, q *Request) *prepared {
	keep := p.Kept != nil && len(q.path) == 0 && q.depth == 0 && len(q.Allowed) == 0 && len(p.Allowed) == 0
	if keep {
		if v, ok := p.Kept.combos.Load(c); ok {
			return v.(*prepared) //nolint:forcetypeassert,nolintlint // the map holds nothing else
		}
	}
	r := p.resolved(c, q)
	if keep {
		p.Kept.combos.Store(c, r)
	}
	return r
}

func (p *Planner) resolved(c *Combo, q *Request) *prepared {
	r := &prepared{cfg: Cascade(p.Globals, c.firstProvider(), c.Config)}
	if r.entry, _ = Lookup(string(c.Strategy)); r.entry == nil {
		r.entry, _ = Lookup(string(Priority))
	}
	r.trust = r.cfg.trust(r.entry.Name)
	if q.depth > 0 {
		r.cfg.MaxComboDepth = q.depth
	}
	r.specs = p.scope(q).Resolve(c, &r.cfg, q.path)
	for _, s := range r.specs {
		s.tally = tallyKey(c.Name, s.Key)
		if p.Fixed != nil {
			p.Fixed(s)
		}
	}
	return r
}

// scope returns the resolver with the connections that the request may use.
func (p *Planner) scope(q *Request) *Resolver {
	if len(q.Allowed) == 0 {
		return &p.Resolver
	}
	res := p.Resolver
	res.Allowed = q.Allowed
	return &res
}

// Size returns how many targets a combo has at present.
func (p *Planner) Size(c *Combo) int { return len(p.prepare(c, &Request{}).specs) }
