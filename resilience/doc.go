// Package resilience answers two questions: whom to try next, and what an
// outcome means for the targets that come after it.
package resilience
