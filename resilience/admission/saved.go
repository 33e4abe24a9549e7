package admission

import (
	"cmp"
	"slices"
	"time"
)

// Learned is what a provider has taught about one key and what survives a
// restart (sheet §5.3).
type Learned struct {
	Key        string    `json:"key"`
	Connection string    `json:"connectionId"`
	Limit      int64     `json:"limit"`     // requests a minute
	Remaining  int64     `json:"remaining"` // -1: not told
	SpacingMs  int64     `json:"minTimeMs"`
	At         time.Time `json:"at"`
}

const (
	saveEvery  = time.Minute
	maxLearned = 200
)

// Unsaved returns what has been learned, newest first, when it has changed and
// the last time is at least a minute ago. now is wall time.
func (q *Queues) Unsaved(now time.Time) ([]Learned, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key, k := range q.restored {
		if k.stale(now) {
			delete(q.restored, key)
		}
	}
	if !q.dirty || now.Sub(q.saved).Abs() < saveEvery {
		return nil, false
	}
	q.dirty, q.saved = false, now
	list := []Learned{}
	for key, k := range q.restored {
		if q.limiters[key] == nil {
			list = append(list, k)
		}
	}
	for _, l := range q.limiters {
		if l.known.Limit > 0 {
			list = append(list, l.known)
		}
	}
	list = slices.DeleteFunc(list, func(k Learned) bool { return k.stale(now) })
	slices.SortFunc(list, func(a, b Learned) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Key, b.Key)) })
	return list[:min(len(list), maxLearned)], true
}

// Restore takes in what was saved; what is older than a day is ignored. It is
// called after Configure.
func (q *Queues) Restore(list []Learned, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, k := range list[:min(len(list), maxLearned)] {
		if k.stale(now) || k.Limit <= 0 {
			continue
		}
		q.restored[k.Key] = k
		if l := q.limiters[k.Key]; l != nil {
			l.recall(k)
		}
	}
}

func (k Learned) stale(now time.Time) bool { return now.Sub(k.At).Abs() > day }

// recall applies what was learned before the restart. How much was left then
// says nothing now.
func (l *limiter) recall(k Learned) {
	if k.Limit <= 0 || l.known.Limit > 0 {
		return
	}
	l.known = k
	if !l.conn.rules.OwnPace {
		l.learned = max(0, min(millis(k.SpacingMs), time.Minute))
	}
}
