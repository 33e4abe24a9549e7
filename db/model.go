package db

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// models are the rows of all tables; the migrated schema must fit them.
var models = []any{&connectionRow{}, &breakerRow{}, &keyValueRow{}, &activityRow{}, &apiKeyRow{}, &pinRow{}, &comboRow{}, &lastGoodRow{}, &leaseRow{}, &modelListRow{}}

// connectionRow is a row of provider_connections (settings sheet §7).
type connectionRow struct {
	ID                  string `gorm:"type:text;primaryKey"`
	Provider            string `gorm:"type:text;not null"`
	AuthType            string `gorm:"type:text;not null"`
	Name                string `gorm:"type:text;not null"`
	Priority            int    `gorm:"type:integer;not null"`
	IsActive            bool   `gorm:"type:integer;not null"`
	TestStatus          string `gorm:"type:text;not null"`
	ErrorCode           int    `gorm:"type:integer;not null"`
	LastErrorType       string `gorm:"type:text;not null"`
	LastErrorSource     string `gorm:"type:text;not null"`
	LastErrorReason     string `gorm:"type:text;not null"`
	LastErrorAt         millis `gorm:"type:integer"`
	RawHint             string `gorm:"type:text;not null"`
	BackoffLevel        int    `gorm:"type:integer;not null"`
	RateLimitedUntil    millis `gorm:"type:text"`
	ExpiredRetryCount   int    `gorm:"type:integer;not null"`
	ExpiredRetryAt      millis `gorm:"type:integer"`
	MaxConcurrent       int    `gorm:"type:integer;not null"`
	RateLimitProtection bool   `gorm:"type:integer;not null"`
	DefaultModel        string `gorm:"type:text;not null"`
	// ProviderSpecificData is a JSON object: what has no column of its own.
	ProviderSpecificData string `gorm:"type:text;not null"`
	LastUsedAt           millis `gorm:"type:integer"`
	CreatedAt            millis `gorm:"type:integer;autoCreateTime:false"`
	UpdatedAt            millis `gorm:"type:integer;autoUpdateTime:false"`
	LastErrorWords       string `gorm:"type:text;not null;default:''"`
	RefusalCount         int    `gorm:"type:integer;not null;default:0"`
	RefusedSince         millis `gorm:"type:integer"`
	AttentionSince       millis `gorm:"type:integer"`
	AttentionWords       string `gorm:"type:text;not null;default:''"`
}

// TableName is the guide's.
func (connectionRow) TableName() string { return "provider_connections" }

// breakerRow is a row of domain_circuit_breakers (breaker sheet §1.9).
type breakerRow struct {
	Name            string  `gorm:"type:text;primaryKey"`
	State           string  `gorm:"type:text;not null;default:'CLOSED'"`
	FailureCount    int     `gorm:"type:integer;default:0"`
	LastFailureTime millis  `gorm:"type:integer"`
	Options         *string `gorm:"type:text"`
}

// TableName is the guide's.
func (breakerRow) TableName() string { return "domain_circuit_breakers" }

// keyValueRow is a row of key_value.
type keyValueRow struct {
	Namespace string `gorm:"type:text;primaryKey"`
	Key       string `gorm:"type:text;primaryKey"`
	Value     string `gorm:"type:text;not null"`
}

// TableName is the guide's.
func (keyValueRow) TableName() string { return "key_value" }

// activityRow is a row of proxy_logs. Tried holds the ids of the connections
// that were tried, each between spaces, and is empty where that is ConnectionID
// alone; Trace is JSON (see traceJSON).
type activityRow struct {
	ID             int64  `gorm:"type:integer;primaryKey"`
	Timestamp      millis `gorm:"type:integer;index:idx_pl_timestamp"`
	Method         string `gorm:"type:text"`
	Path           string `gorm:"type:text"`
	Dialect        string `gorm:"type:text"`
	Client         string `gorm:"type:text"`
	Model          string `gorm:"type:text"`
	Stream         bool   `gorm:"type:integer"`
	Status         int    `gorm:"type:integer"`
	Result         string `gorm:"type:text"`
	Provider       string `gorm:"type:text"`
	ConnectionID   string `gorm:"type:text"`
	ConnectionName string `gorm:"type:text"`
	FailedOver     bool   `gorm:"type:integer"`
	DurationMs     int64  `gorm:"type:integer"`
	FirstOutputMs  int64  `gorm:"type:integer"`
	RequestBytes   int64  `gorm:"type:integer"`
	ResponseBytes  int64  `gorm:"type:integer"`
	EgressIP       string `gorm:"type:text"`
	Tried          string `gorm:"type:text"`
	Trace          string `gorm:"type:text"`
	// Rows older than these columns hold NULL.
	InputTokens      sql.NullInt64  `gorm:"type:integer"`
	OutputTokens     sql.NullInt64  `gorm:"type:integer"`
	CacheReadTokens  sql.NullInt64  `gorm:"type:integer"`
	CacheWriteTokens sql.NullInt64  `gorm:"type:integer"`
	ReasoningTokens  sql.NullInt64  `gorm:"type:integer"`
	StopReason       sql.NullString `gorm:"type:text"`
	Combo            sql.NullString `gorm:"type:text"`
}

// TableName is the guide's.
func (activityRow) TableName() string { return "proxy_logs" }

// millis is a time stored as UTC epoch milliseconds (ruling 37), the zero time
// as NULL. It reads what other programs wrote, too: ISO text and numeric text
// with or without a fraction (breaker sheet §3.1).
type millis struct{ time.Time }

// GormDataType keeps GORM from guessing.
func (millis) GormDataType() string { return "integer" }

// Value returns the epoch milliseconds, or nil for the zero time.
func (m millis) Value() (driver.Value, error) {
	if m.IsZero() {
		return nil, nil
	}
	return m.UnixMilli(), nil
}

// Scan reads any of the forms; what cannot be read is no time at all.
func (m *millis) Scan(v any) error {
	m.Time = time.Time{}
	switch v := v.(type) {
	case nil:
	case int64:
		m.Time = time.UnixMilli(v).UTC()
	case float64:
		m.Time = time.UnixMilli(int64(v)).UTC()
	case []byte:
		m.Time = parseTime(string(v))
	case string:
		m.Time = parseTime(v)
	case time.Time:
		m.Time = v.UTC()
	default:
		return fmt.Errorf("cannot read a time from %T", v)
	}
	return nil
}

// maxMillis keeps numbers out that no calendar holds (the year 9999).
const maxMillis = 253402300799999

func parseTime(text string) time.Time {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		if n > 0 && n <= maxMillis {
			return time.UnixMilli(int64(n)).UTC()
		}
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}
