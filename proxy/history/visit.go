package history

import (
	"slices"

	"breakwater/proxy/dialect"
)

// Conversation is one request on its way through its targets. It belongs to one
// goroutine.
type Conversation struct {
	memory  *Memory
	dialect dialect.Dialect
	// quiet tells that nothing is looked at before a target refuses reasoning.
	quiet bool
	// repaired tells that a target refused the request's reasoning: it is asked
	// again once a request, and those after it get what is their own only.
	repaired bool
	// compacted are the owners of each part of encrypted compaction, of the body
	// that they were looked up for.
	compacted []compaction
	body      *byte
}

type compaction struct{ owners, refused []string }

// Conversation begins to follow a request. While there is one owner only nothing
// is looked at, until it refuses the reasoning of a request.
func (m *Memory) Conversation(d dialect.Dialect, owners int) *Conversation {
	return &Conversation{memory: m, dialect: d, quiet: owners < 2 && m.Empty()}
}

// Visit is the request at one target.
type Visit struct {
	c  *Conversation
	to Owner
	// answer and items are those of an answer that the target stores.
	answer string
	items  []string
}

// Visit returns what a target is sent, and learns from what it answers.
func (c *Conversation) Visit(to Owner) *Visit { return &Visit{c: c, to: to} }

// Fit returns the body without the reasoning that the target is known to refuse,
// and with the conversation in place of an answer that another account stores.
func (v *Visit) Fit(raw []byte) ([]byte, dialect.Taken) {
	m := v.c.memory
	if v.c.quiet && !v.c.repaired {
		return raw, dialect.Taken{}
	}
	raw, expanded := v.local(raw)
	out, taken := dialect.WithoutReasoning(v.c.dialect, raw, func(s dialect.Sealed) bool {
		if v.c.repaired {
			return !m.owns(s.Seal, v.to)
		}
		return m.refuses(s.Seal, v.to)
	}, v.c.repaired)
	taken.Expanded = expanded
	return out, taken
}

// Refused learns that the target refused the reasoning of the body it was sent.
// It reports whether Fit now returns another one, which it does once a request.
func (v *Visit) Refused(sent []byte) bool {
	m, d := v.c.memory, v.c.dialect
	all := seals(d, sent, false)
	foreign := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return m.owns(s, v.to) })
	switch {
	case len(foreign) > 0:
		m.refused(foreign, v.to)
	case len(all) > 0:
		m.refused(all, v.to) // none of it is its own any more
	default:
		// What is left is compaction, which stays: the target is not its owner.
		if list := seals(d, sent, true); len(list) > 0 {
			m.refused(list, v.to)
			v.c.body = nil
		}
	}
	if v.c.repaired {
		return false
	}
	v.c.repaired = true
	_, taken := v.Fit(sent)
	return taken.Any()
}

// Answered learns that the target answered the body it was sent.
func (v *Visit) Answered(sent []byte) {
	if v.c.quiet && !v.c.repaired {
		return
	}
	v.keepAnswer(sent)
	v.c.memory.accepted(seals(v.c.dialect, sent, true), v.to)
}

// Event and Document learn from an answer what the target made.
func (v *Visit) Event(data []byte) {
	if !v.c.quiet {
		dialect.SealedInEvent(v.c.dialect, data, v.made)
		v.store(data)
	}
}

// Document does the same for a whole answer.
func (v *Visit) Document(doc []byte) {
	if !v.c.quiet {
		dialect.SealedInAnswer(v.c.dialect, doc, v.made)
		v.store(doc)
	}
}

func (v *Visit) made(s dialect.Sealed) { v.c.memory.made(s.Seal, v.to) }

// Compacted reports whether the request holds encrypted compaction that others
// made, or continues an answer that another stores, so that the account cannot
// read it.
func (c *Conversation) Compacted(raw []byte, id string) bool {
	if len(raw) == 0 || c.quiet {
		return false
	}
	if owner := c.Stranded(raw); owner != "" && owner != id {
		return true
	}
	if c.body != &raw[0] {
		c.body, c.compacted = &raw[0], nil
		dialect.SealedParts(c.dialect, raw, func(s dialect.Sealed) {
			if s.Compacted {
				owners, refused := c.memory.owners(s.Seal)
				c.compacted = append(c.compacted, compaction{owners, refused})
			}
		})
	}
	return slices.ContainsFunc(c.compacted, func(p compaction) bool {
		if slices.Contains(p.owners, id) {
			return false
		}
		return len(p.owners) > 0 || slices.Contains(p.refused, id)
	})
}
