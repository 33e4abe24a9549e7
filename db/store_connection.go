package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"breakwater/proxy/control"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/outcome"
)

// statusActive is the test_status of a connection nothing is wrong with.
const statusActive = "active"

// extras are the fields of a connection without a column of their own, in
// provider_specific_data.
type extras struct {
	Credential      string   `json:"credential"`
	BaseURL         string   `json:"baseUrl"`
	Dialects        []string `json:"dialects"`
	Models          []string `json:"models"`
	DisableCooling  bool     `json:"disableCooling"`
	LowPriorityMode bool     `json:"lowPriorityMode"`
	AutoLimitReset  bool     `json:"autoLimitReset"`

	RateLimitOverrides    *admission.Overrides       `json:"rateLimitOverrides"`
	QuotaWindowThresholds map[string]int64           `json:"quotaWindowThresholds"`
	RotationOverrides     *control.RotationOverrides `json:"rotationOverrides"`
	Tags                  []string                   `json:"tags"`
	Group                 string                     `json:"group"`
	HealthCheckInterval   *int64                     `json:"healthCheckInterval"`
	ExcludedModels        []string                   `json:"excludedModels"`
	UserAgent             string                     `json:"customUserAgent"`
	ValidationModel       string                     `json:"validationModelId"`
	PerModelQuota         *bool                      `json:"passthroughModels"`

	TimeoutMs        int64  `json:"timeoutMs"`
	OrganizationUUID string `json:"organizationUUID"`
	ClientID         string `json:"clientId"`
	TokenURL         string `json:"tokenUrl"`
	TokenFormat      string `json:"tokenFormat"`
	ProxyURL         string `json:"proxyUrl"`
}

// limits returns the limits of a connection.
func (x *extras) limits(maxConcurrent int) control.Limits {
	l := control.Limits{MaxConcurrent: maxConcurrent, QuotaWindowThresholds: x.QuotaWindowThresholds, Tags: x.Tags, Group: x.Group, HealthCheckInterval: x.HealthCheckInterval}
	l.Extras = control.Extras{ExcludedModels: x.ExcludedModels, UserAgent: x.UserAgent, ValidationModel: x.ValidationModel, PerModelQuota: x.PerModelQuota}
	if x.RateLimitOverrides != nil {
		l.RateLimitOverrides = *x.RateLimitOverrides
	}
	if x.RotationOverrides != nil {
		l.RotationOverrides = *x.RotationOverrides
	}
	return l
}

// configColumns are what SaveConnection replaces: everything but the state.
var configColumns = []string{
	"provider", "auth_type", "name", "priority", "is_active", "max_concurrent", "rate_limit_protection", "default_model",
	"provider_specific_data", "last_used_at", "updated_at",
}

// Connections returns all connections in routing order, with the newest state
// that was given to the store.
func (s *Store) Connections(ctx context.Context) ([]control.ConnectionRecord, error) {
	if err := s.Flush(ctx); err != nil {
		return nil, err
	}
	var rows []connectionRow
	if err := s.read.WithContext(ctx).Order("priority, created_at, id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read connections: %w", s.seen(err))
	}
	list := make([]control.ConnectionRecord, 0, len(rows))
	for _, row := range rows {
		r, err := row.record()
		if err != nil {
			return nil, s.seen(damage(s.path, "connection %s: %v", row.ID, err))
		}
		list = append(list, r)
	}
	return list, nil
}

// SaveConnection inserts a connection or replaces everything but its state. It
// has reached the disk when the call returns. Zero times are filled in.
func (s *Store) SaveConnection(ctx context.Context, r control.ConnectionRecord) error {
	row := newConnectionRow(r)
	now := millis{s.now().UTC()}
	columns := configColumns
	if row.CreatedAt.IsZero() {
		row.CreatedAt = now
	} else {
		columns = append([]string{"created_at"}, columns...)
	}
	if row.UpdatedAt.IsZero() {
		row.UpdatedAt = now
	}
	err := s.durable(ctx, func(tx *gorm.DB) (err error) {
		if row.ProviderSpecificData, err = mergeExtras(tx, r); err != nil {
			return err
		}
		return tx.Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "id"}},
			DoUpdates: clause.AssignmentColumns(columns),
		}).Create(&row).Error
	})
	if err != nil {
		return fmt.Errorf("save connection %s: %w", r.ID, err)
	}
	return nil
}

// DeleteConnection forgets a connection; an unknown id is no error.
func (s *Store) DeleteConnection(ctx context.Context, id string) error {
	s.writer.forget(id)
	err := s.durable(ctx, func(tx *gorm.DB) error {
		if err := tx.Delete(&modelListRow{ConnectionID: id}).Error; err != nil {
			return err
		}
		return tx.Delete(&connectionRow{ID: id}).Error
	})
	if err != nil {
		return fmt.Errorf("delete connection %s: %w", id, err)
	}
	return nil
}

// SavePriorities stores the priorities of several connections at once.
func (s *Store) SavePriorities(ctx context.Context, priorities map[string]int) error {
	now := millis{s.now().UTC()}
	err := s.durable(ctx, func(tx *gorm.DB) error {
		for id, priority := range priorities {
			err := tx.Model(&connectionRow{}).Where("id = ?", id).
				UpdateColumns(map[string]any{"priority": priority, "updated_at": now}).Error
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("save priorities: %w", err)
	}
	return nil
}

// durable runs fn in a transaction that has reached the disk itself, not only
// the system's buffers, when durable returns: an accepted key or switch
// outlives a power cut.
func (s *Store) durable(ctx context.Context, fn func(tx *gorm.DB) error) error {
	if err := s.Damaged(); err != nil {
		return err
	}
	if err := s.ready(); err != nil {
		return s.wrote(err)
	}
	err := s.write.WithContext(ctx).Connection(func(g *gorm.DB) error {
		if err := g.Exec("PRAGMA synchronous = FULL").Error; err != nil {
			return err
		}
		err := g.Transaction(fn)
		// The activity log must not pay for it; the caller may be gone by now.
		back := g.WithContext(context.WithoutCancel(ctx)).Exec("PRAGMA synchronous = NORMAL").Error
		return errors.Join(err, back)
	})
	if err == nil {
		err = s.standing() // what went to a file that is gone is not accepted
	}
	return s.wrote(err)
}

// writeState stores the state columns of one connection. A connection that was
// deleted meanwhile stays deleted.
func writeState(tx *gorm.DB, c resilience.ConnectionState) error {
	return tx.Model(&connectionRow{}).Where("id = ?", c.ID).UpdateColumns(map[string]any{
		"rate_limited_until":  millis{c.RateLimitedUntil},
		"test_status":         c.TestStatus,
		"backoff_level":       c.BackoffLevel,
		"error_code":          c.ErrorCode,
		"last_error_type":     c.LastErrorType,
		"last_error_reason":   string(c.LastErrorReason),
		"last_error_at":       millis{c.LastErrorAt},
		"last_error_source":   c.LastErrorSource,
		"raw_hint":            c.RawHint,
		"expired_retry_count": c.ExpiredRetries,
		"expired_retry_at":    millis{c.ExpiredRetryAt},
		"last_error_words":    c.LastErrorWords,
		"refusal_count":       c.RefusalCount,
		"refused_since":       millis{c.RefusedSince},
		"attention_since":     millis{c.AttentionSince},
		"attention_words":     c.AttentionWords,
	}).Error
}

func newConnectionRow(r control.ConnectionRecord) connectionRow {
	return connectionRow{
		ID: r.ID, Provider: r.Provider, AuthType: authType(r.Credential), Name: r.Name,
		Priority: r.Priority, IsActive: r.Active, TestStatus: statusActive, DefaultModel: r.DefaultModel,
		MaxConcurrent: r.MaxConcurrent, RateLimitProtection: r.RateLimitProtection,
		LastUsedAt: millis{r.LastUsedAt}, CreatedAt: millis{r.CreatedAt}, UpdatedAt: millis{r.UpdatedAt},
	}
}

// authType returns the sheet's word for a credential kind (settings sheet §7).
func authType(credential string) string {
	switch credential {
	case "token", "passthrough", "oauth":
		return "oauth"
	}
	return "apikey"
}

// mergeExtras returns the new provider_specific_data of a connection; keys that
// this version does not know stay.
func mergeExtras(tx *gorm.DB, r control.ConnectionRecord) (string, error) {
	var old []string
	err := tx.Model(&connectionRow{}).Where("id = ?", r.ID).Pluck("provider_specific_data", &old).Error
	if err != nil {
		return "", err
	}
	all := map[string]json.RawMessage{}
	if len(old) == 1 && json.Unmarshal([]byte(old[0]), &all) != nil {
		all = map[string]json.RawMessage{} // unreadable: the record in hand is better
	}
	ours, err := json.Marshal(extras{
		Credential: r.Credential, BaseURL: r.BaseURL, Dialects: r.Dialects, Models: r.Models,
		DisableCooling: r.DisableCooling, LowPriorityMode: r.LowPriorityMode, AutoLimitReset: r.AutoLimitReset,
		RateLimitOverrides: &r.RateLimitOverrides, QuotaWindowThresholds: r.QuotaWindowThresholds,
		RotationOverrides: &r.RotationOverrides, Tags: r.Tags, Group: r.Group, HealthCheckInterval: r.HealthCheckInterval,
		ExcludedModels: r.ExcludedModels, UserAgent: r.UserAgent, ValidationModel: r.ValidationModel, PerModelQuota: r.PerModelQuota,
		TimeoutMs: r.TimeoutMs, OrganizationUUID: r.OrganizationUUID, ClientID: r.ClientID, TokenURL: r.TokenURL, TokenFormat: r.TokenFormat, ProxyURL: r.ProxyURL,
	})
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(ours, &all); err != nil {
		return "", err
	}
	merged, err := json.Marshal(all)
	return string(merged), err
}

func (row connectionRow) record() (control.ConnectionRecord, error) {
	var x extras
	if err := json.Unmarshal([]byte(row.ProviderSpecificData), &x); err != nil {
		return control.ConnectionRecord{}, fmt.Errorf("provider_specific_data: %w", err)
	}
	return control.ConnectionRecord{
		ID: row.ID, Provider: row.Provider, Name: row.Name, Credential: x.Credential, BaseURL: x.BaseURL,
		Dialects: x.Dialects, DefaultModel: row.DefaultModel, Models: x.Models, Priority: row.Priority,
		Active: row.IsActive, DisableCooling: x.DisableCooling,
		LowPriorityMode: x.LowPriorityMode, AutoLimitReset: x.AutoLimitReset, RateLimitProtection: row.RateLimitProtection,
		Limits:    x.limits(row.MaxConcurrent),
		TimeoutMs: x.TimeoutMs, OrganizationUUID: x.OrganizationUUID, ClientID: x.ClientID, TokenURL: x.TokenURL, TokenFormat: x.TokenFormat, ProxyURL: x.ProxyURL,
		CreatedAt: row.CreatedAt.Time, UpdatedAt: row.UpdatedAt.Time, LastUsedAt: row.LastUsedAt.Time,
		State: resilience.ConnectionState{
			ID: row.ID, RateLimitedUntil: row.RateLimitedUntil.Time, TestStatus: row.TestStatus,
			BackoffLevel: row.BackoffLevel, ErrorCode: row.ErrorCode, LastErrorType: row.LastErrorType,
			LastErrorReason: outcome.Reason(row.LastErrorReason), LastErrorAt: row.LastErrorAt.Time,
			LastErrorSource: row.LastErrorSource, RawHint: row.RawHint,
			ExpiredRetries: row.ExpiredRetryCount, ExpiredRetryAt: row.ExpiredRetryAt.Time,
			LastErrorWords: row.LastErrorWords, RefusalCount: row.RefusalCount, RefusedSince: row.RefusedSince.Time,
			AttentionSince: row.AttentionSince.Time, AttentionWords: row.AttentionWords,
		},
	}, nil
}
