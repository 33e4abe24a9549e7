package control

import (
	"context"
	"time"
)

// UsageQuery bounds a usage report; zero times are open ends.
type UsageQuery struct {
	Since time.Time // rows from then on
	Until time.Time // rows before then
}

// UsageRow sums up the requests that one connection answered, or that nobody
// did, for one model.
type UsageRow struct {
	Provider       string `json:"provider"`
	ConnectionID   string `json:"connectionId"` // empty: nobody answered
	ConnectionName string `json:"connectionName"`
	Model          string `json:"model"` // as the client asked for it
	UsageSum
}

// UsageSum is a sum of requests and tokens.
type UsageSum struct {
	Requests         int64 `json:"requests"`
	Failed           int64 `json:"failed"` // of them: failed, refused or truncated
	InputTokens      int64 `json:"inputTokens"`
	OutputTokens     int64 `json:"outputTokens"`
	CacheReadTokens  int64 `json:"cacheReadTokens"`
	CacheWriteTokens int64 `json:"cacheWriteTokens"`
	ReasoningTokens  int64 `json:"reasoningTokens"`
}

// Add counts another sum in.
func (u *UsageSum) Add(o UsageSum) {
	u.Requests += o.Requests
	u.Failed += o.Failed
	u.InputTokens += o.InputTokens
	u.OutputTokens += o.OutputTokens
	u.CacheReadTokens += o.CacheReadTokens
	u.CacheWriteTokens += o.CacheWriteTokens
	u.ReasoningTokens += o.ReasoningTokens
}

// Usage sums up the activity that is still kept, the most requests first.
func (s *Service) Usage(ctx context.Context, q UsageQuery) ([]UsageRow, error) {
	return s.cfg.Store.Usage(ctx, q)
}
