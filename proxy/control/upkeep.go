package control

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"breakwater/resilience/admission"
	"breakwater/resilience/affinity"
	"breakwater/resilience/combo"
)

// keyLearned is the key under which the limits are stored that providers have
// taught the request queues.
const keyLearned = "learnedRateLimits"

// purgeEvery is how often expired session pins are removed (settings sheet §3).
const purgeEvery = 5 * time.Minute

// Affinity returns the session pins (guide, "Afinidad de sesión").
func (s *Service) Affinity() *affinity.Table { return s.affinity }

// AffinityTTL returns how long a session stays pinned after its last request;
// 0 is off. It takes no lock.
func (s *Service) AffinityTTL() time.Duration {
	return time.Duration(s.policy.Load().affinityMs) * time.Millisecond
}

// Occupancy returns how sessions are spread over OAuth accounts (ruling 53).
func (s *Service) Occupancy() *affinity.Occupancy { return s.occupancy }

// Latency returns the optional latency signal (guide §2).
func (s *Service) Latency() *combo.Latency { return s.latency }

// loadMemory takes in what the last run remembered of sessions and limits. The
// connections and the queues are there already.
func (s *Service) loadMemory(ctx context.Context) error {
	pins, err := s.cfg.Store.Pins(ctx)
	if err != nil {
		return fmt.Errorf("load session affinity: %w", err)
	}
	for i := range pins {
		if _, ok := s.Route(pins[i].Connection); !ok {
			pins[i].Connection = "" // leads nowhere: Restore deletes it
		}
	}
	now := s.Now()
	s.affinity.Restore(now, pins)

	raw, ok, err := s.cfg.Store.Setting(ctx, keyLearned)
	if err != nil {
		return fmt.Errorf("load learned limits: %w", err)
	}
	var list []admission.Learned
	if ok && json.Unmarshal(raw, &list) != nil {
		s.cfg.Log.Warn("the stored limits of the request queues cannot be read and are left out")
		return nil
	}
	s.queues.Restore(list, now)
	return nil
}

// upkeep does the regular work that no request does, until Close.
func (s *Service) upkeep(ctx context.Context) {
	tick := time.NewTicker(admission.SweepEvery)
	defer tick.Stop()
	purged := s.Now()
	for {
		select {
		case <-s.stop:
			s.saveLearned(ctx)
			return
		case <-tick.C:
		}
		s.sweep()
		s.saveLearned(ctx)
		if now := s.Now(); now.Sub(purged).Abs() >= purgeEvery {
			s.affinity.Purge(now)
			purged = now
		}
	}
}

// sweep drops what nobody uses any more and takes down queues that stand still.
func (s *Service) sweep() {
	for _, key := range s.queues.Sweep() {
		s.cfg.Log.Error("a request queue stood still and was taken down", "key", key)
	}
	now := s.Now()
	s.occupancy.Sweep(now)
	s.latency.Sweep(now)
}

// saveLearned stores the limits that were learned since the last time.
func (s *Service) saveLearned(ctx context.Context) {
	list, changed := s.queues.Unsaved(s.Now())
	if !changed {
		return
	}
	raw, err := json.Marshal(list)
	if err == nil {
		err = s.cfg.Store.SaveSetting(ctx, keyLearned, raw)
	}
	if err != nil {
		s.cfg.Log.Warn("learned limits not stored", "error", err)
	}
}

// forget drops what is remembered of a connection that is gone.
func (s *Service) forget(connection string) {
	s.affinity.Forget(connection)
	s.latency.Forget(connection)
	s.guard.Forget(connectionGuard(connection))
}
