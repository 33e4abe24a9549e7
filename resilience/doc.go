// Package resilience answers two questions: which target to try next, and what
// an outcome means for the targets that come after it and for the client.
package resilience
