package control

// Usage is what an answer cost, in tokens, as far as its upstream told; what is
// not known is zero.
type Usage struct {
	InputTokens      int64 `json:"inputTokens,omitempty"`  // without the cache's part
	OutputTokens     int64 `json:"outputTokens,omitempty"` // reasoning included
	CacheReadTokens  int64 `json:"cacheReadTokens,omitempty"`
	CacheWriteTokens int64 `json:"cacheWriteTokens,omitempty"`
	ReasoningTokens  int64 `json:"reasoningTokens,omitempty"`
	// StopReason is why the model stopped, in its dialect's own word.
	StopReason string `json:"stopReason,omitempty"`
}
