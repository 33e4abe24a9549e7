package affinity

import (
	"cmp"
	"time"
)

// use is when a connection was used last, and how often in a row.
type use struct {
	at    time.Time
	times int
}

// Use notes that a connection was used without affinity having chosen it.
func (t *Table) Use(now time.Time, provider, connection string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.use(now, provider, connection)
}

func (t *Table) use(now time.Time, provider, connection string) {
	u := t.uses[connection]
	if t.last[provider] != connection {
		u.times = 0
	}
	t.uses[connection] = use{at: now, times: u.times + 1}
	t.last[provider] = connection
}

// LastUsed returns when a connection was used last and how often in a row.
func (t *Table) LastUsed(connection string) (at time.Time, times int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.uses[connection]
	return u.at, u.times
}

// leastRecent returns the eligible connection that comes first: never used
// before used, then the one used longest ago, then the one used less often in a
// row, then by priority. Without forced every eligible one may be taken.
func (t *Table) leastRecent(list []Candidate, forced string) string {
	best := -1
	for i := range list {
		if list[i].Ineligible || forced != "" && list[i].ID != forced {
			continue
		}
		if best < 0 || t.before(&list[i], &list[best]) < 0 {
			best = i
		}
	}
	if best < 0 {
		return ""
	}
	return list[best].ID
}

func (t *Table) before(a, b *Candidate) int {
	x, y := t.uses[a.ID], t.uses[b.ID]
	if never := x.at.IsZero(); never != y.at.IsZero() {
		if never {
			return -1
		}
		return 1
	}
	return cmp.Or(
		x.at.Compare(y.at),
		cmp.Compare(x.times, y.times),
		cmp.Compare(a.Priority, b.Priority),
		cmp.Compare(a.ID, b.ID),
	)
}
