package db

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"breakwater/proxy/control"
	"breakwater/resilience"
)

const (
	lingerFor  = 250 * time.Millisecond // how long rows wait for company
	retryAfter = 5 * time.Second        // pause before states that failed are tried again
	batchRows  = 512                    // rows of one transaction
	queueRows  = 4096                   // rows that wait at most; more are lost
	queueKeys  = 4096                   // distinct connections and breakers that wait at most
)

// writer writes behind: one goroutine, woken only when there is work. States
// coalesce to the newest per key, rows are written in batches.
type writer struct {
	store *Store

	mu      sync.Mutex
	pending batch
	trim    bool // retention has work to do
	closed  bool

	wake  chan struct{} // there is work
	hurry chan struct{} // it should not wait for more
	stop  chan struct{}
	done  chan struct{}

	lost  atomic.Int64
	limit atomic.Int64
	size  atomic.Int64 // of the file, in bytes

	// Only the goroutine uses these.
	log       rowWriter
	spare     []control.Activity // room for the rows of the next batch
	sinceTrim int
	failing   bool // the last write failed
}

// batch is everything that waits to be written.
type batch struct {
	dropBreakers bool // before the breakers of this batch
	states       map[string]resilience.ConnectionState
	breakers     map[string]resilience.BreakerState
	pins         map[pinKey]pinRow           // without a connection: to be deleted
	goods        map[string]control.LastGood // by combo
	rows         []control.Activity
	waiters      []chan struct{} // closed when the batch was dealt with
}

func newBatch() batch {
	return batch{
		states: map[string]resilience.ConnectionState{}, breakers: map[string]resilience.BreakerState{},
		pins: map[pinKey]pinRow{}, goods: map[string]control.LastGood{},
	}
}

func newWriter(s *Store) *writer {
	w := &writer{
		store: s, pending: newBatch(), log: rowWriter{store: s},
		wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	w.size.Store(maxSize)
	w.limit.Store(int64(control.DefaultSettings().ActivityLimit))
	go w.run()
	return w
}

// SaveConnectionState queues the newest state of a connection.
func (s *Store) SaveConnectionState(c resilience.ConnectionState) {
	s.writer.add(true, func(b *batch) {
		if _, waits := b.states[c.ID]; waits || len(b.states) < queueKeys {
			b.states[c.ID] = c
		}
	})
}

// SaveBreaker queues the newest state of a breaker.
func (s *Store) SaveBreaker(br resilience.BreakerState) {
	s.writer.add(true, func(b *batch) {
		if _, waits := b.breakers[br.Name]; waits || len(b.breakers) < queueKeys {
			b.breakers[br.Name] = br
		}
	})
}

// DeleteBreakers queues the removal of every breaker stored so far.
func (s *Store) DeleteBreakers() {
	s.writer.add(true, func(b *batch) {
		clear(b.breakers)
		b.dropBreakers = true
	})
}

// AppendActivity queues a row. A full queue loses it and counts it.
func (s *Store) AppendActivity(a control.Activity) {
	full := false
	kept := s.writer.add(false, func(b *batch) {
		if len(b.rows) >= queueRows {
			s.writer.lost.Add(1)
			return
		}
		b.rows = append(b.rows, a)
		full = len(b.rows) >= batchRows
	})
	switch {
	case !kept:
		s.writer.lost.Add(1)
	case full:
		poke(s.writer.hurry)
	}
}

// add changes what waits and wakes the goroutine; it reports false once the
// store is closed.
func (w *writer) add(urgent bool, change func(*batch)) bool {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return false
	}
	change(&w.pending)
	w.mu.Unlock()
	if urgent {
		poke(w.hurry)
	}
	poke(w.wake)
	return true
}

// forget drops the waiting state of a connection that is being deleted.
func (w *writer) forget(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.pending.states, id)
}

// flushWait waits until everything queued before the call was dealt with.
func (w *writer) flushWait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan struct{})
	queued := w.add(true, func(b *batch) { b.waiters = append(b.waiters, done) })
	if !queued {
		done = w.done
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close writes what waits and ends the goroutine.
func (w *writer) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	close(w.stop)
	<-w.done
}

// poke leaves a token in a channel of one.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (w *writer) run() {
	defer close(w.done)
	defer w.log.close()
	look := time.NewTicker(retryAfter)
	defer look.Stop()
	for {
		select {
		case <-w.wake:
			w.linger()
		case <-look.C:
			// A fault shows before something would be lost by it.
			if w.store.refused.Load() == nil && w.store.standing() == nil {
				continue
			}
		case <-w.stop:
			w.flush()
			return
		}
		again := w.flush()
		again = w.retention() || again
		if again {
			poke(w.wake)
		}
	}
}

// linger waits a moment for more work, so that rows share a transaction.
func (w *writer) linger() {
	d := lingerFor
	if w.failing {
		d = retryAfter
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-w.hurry:
	case <-timer.C:
	case <-w.stop:
	}
}

// take returns what waits and leaves an empty batch.
func (w *writer) take() batch {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.pending
	w.pending = newBatch()
	w.pending.rows, w.spare = w.spare, nil
	return b
}

// flush writes what waits. It reports whether states are left to be tried
// again; rows are never tried twice, requests go on without them (case P52).
func (w *writer) flush() (again bool) {
	b := w.take()
	defer func() {
		for _, c := range b.waiters {
			close(c)
		}
	}()
	if w.store.damaged.Load() != nil {
		w.lost.Add(int64(len(b.rows)))
		return false
	}
	if err := w.store.recover(); err != nil {
		w.giveBack(b)
		w.lost.Add(int64(len(b.rows)))
		w.report(err, true)
		return true
	}
	err := w.writeStates(&b)
	if err != nil && w.store.damaged.Load() == nil {
		w.giveBack(b)
		again = true
	}
	for rows := b.rows; len(rows) > 0; {
		n := min(len(rows), batchRows)
		skipped, rowErr := w.log.insert(context.Background(), rows[:n])
		if rowErr != nil {
			skipped = n
			err = w.store.wrote(rowErr)
		} else if skipped < n {
			_ = w.store.wrote(nil)
		}
		w.lost.Add(int64(skipped))
		w.sinceTrim += n
		rows = rows[n:]
	}
	wrote := len(b.rows) > 0 || b.holdsState()
	if w.store.refused.Load() != nil {
		if err = w.store.recover(); err != nil {
			again = true
		}
		wrote = true
	}
	w.report(err, wrote)
	if cap(b.rows) <= 2*batchRows { // what a storm needed is given back
		clear(b.rows)
		w.spare = b.rows[:0]
	}
	return again
}

// holdsState reports whether anything but rows waits.
func (b *batch) holdsState() bool {
	return b.dropBreakers || len(b.states)+len(b.breakers)+len(b.pins)+len(b.goods) > 0
}

func (w *writer) writeStates(b *batch) error {
	if !b.holdsState() {
		return nil
	}
	err := w.store.write.Transaction(func(tx *gorm.DB) error {
		if b.dropBreakers {
			if err := tx.Exec("DELETE FROM domain_circuit_breakers").Error; err != nil {
				return err
			}
		}
		for _, c := range b.states {
			if err := writeState(tx, c); err != nil {
				return err
			}
		}
		for _, br := range b.breakers {
			if err := writeBreaker(tx, br); err != nil {
				return err
			}
		}
		for _, g := range b.goods {
			if err := writeLastGood(tx, g, w.store.now()); err != nil {
				return err
			}
		}
		return writePins(tx, b.pins)
	})
	return w.store.wrote(err)
}

// giveBack puts states that could not be written behind newer ones.
func (w *writer) giveBack(b batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &w.pending
	for id, c := range b.states {
		if _, newer := p.states[id]; !newer {
			p.states[id] = c
		}
	}
	for k, pin := range b.pins {
		if _, newer := p.pins[k]; !newer {
			p.pins[k] = pin
		}
	}
	for id, g := range b.goods {
		if _, newer := p.goods[id]; !newer {
			p.goods[id] = g
		}
	}
	if p.dropBreakers {
		return // whatever was before it is gone
	}
	p.dropBreakers = b.dropBreakers
	for name, br := range b.breakers {
		if _, newer := p.breakers[name]; !newer {
			p.breakers[name] = br
		}
	}
}

// report logs when writing begins to fail and when it works again, not every
// single time.
func (w *writer) report(err error, wrote bool) {
	switch {
	case err != nil && !w.failing:
		w.failing = true
		w.store.log.Error("database not written, requests go on", "error", err, "lost", w.lost.Load())
	case err == nil && wrote && w.failing:
		w.failing = false
		w.store.log.Info("database written again", "lost", w.lost.Load())
	}
}
