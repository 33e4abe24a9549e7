package db

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"

	"breakwater/resilience"
	"breakwater/resilience/outcome"
)

// breakerOptions is the options column (breaker sheet §1.9); times are
// milliseconds.
type breakerOptions struct {
	FailureThreshold  int                  `json:"failureThreshold,omitempty"`
	ResetTimeout      int64                `json:"resetTimeout,omitempty"`
	LastFailureKind   outcome.Kind         `json:"lastFailureKind,omitempty"`
	OpenCycleCount    int                  `json:"openCycleCount,omitempty"`
	KindFailureCounts map[outcome.Kind]int `json:"kindFailureCounts,omitempty"`
}

// Breakers returns the stored breakers. Words and options that make no sense
// are read as none: a breaker is better lost than stuck.
func (s *Store) Breakers(ctx context.Context) ([]resilience.BreakerState, error) {
	if err := s.Flush(ctx); err != nil {
		return nil, err
	}
	var rows []breakerRow
	if err := s.read.WithContext(ctx).Order("name").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read breakers: %w", s.seen(err))
	}
	list := make([]resilience.BreakerState, 0, len(rows))
	for _, row := range rows {
		list = append(list, row.state())
	}
	return list, nil
}

func (row breakerRow) state() resilience.BreakerState {
	var o breakerOptions
	if row.Options != nil && json.Unmarshal([]byte(*row.Options), &o) != nil {
		o = breakerOptions{}
	}
	b := resilience.BreakerState{
		Name: row.Name, State: row.State, FailureCount: max(row.FailureCount, 0), LastFailureTime: row.LastFailureTime.Time,
		OpenCycleCount: max(o.OpenCycleCount, 0), FailureThreshold: o.FailureThreshold,
		ResetTimeout: time.Duration(o.ResetTimeout) * time.Millisecond,
	}
	switch b.State {
	case "CLOSED", "DEGRADED", "OPEN", "HALF_OPEN":
	default:
		b.State = "CLOSED"
	}
	if knownKind(o.LastFailureKind) {
		b.LastFailureKind = o.LastFailureKind
	}
	for kind, n := range o.KindFailureCounts {
		if kind == outcome.KindNone || !knownKind(kind) || n <= 0 {
			continue
		}
		if b.KindFailureCounts == nil {
			b.KindFailureCounts = map[outcome.Kind]int{}
		}
		b.KindFailureCounts[kind] = n
	}
	return b
}

func knownKind(k outcome.Kind) bool {
	switch k {
	case outcome.KindNone, outcome.KindRateLimit, outcome.KindQuotaExhausted, outcome.KindTransient:
		return true
	}
	return false
}

func writeBreaker(tx *gorm.DB, b resilience.BreakerState) error {
	options, err := json.Marshal(breakerOptions{
		FailureThreshold: b.FailureThreshold, ResetTimeout: b.ResetTimeout.Milliseconds(),
		LastFailureKind: b.LastFailureKind, OpenCycleCount: b.OpenCycleCount, KindFailureCounts: b.KindFailureCounts,
	})
	if err != nil {
		return err
	}
	return tx.Exec(`INSERT INTO domain_circuit_breakers (name, state, failure_count, last_failure_time, options)
		VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET state = excluded.state,
		failure_count = excluded.failure_count, last_failure_time = excluded.last_failure_time, options = excluded.options`,
		b.Name, b.State, b.FailureCount, millis{b.LastFailureTime}, string(options)).Error
}
