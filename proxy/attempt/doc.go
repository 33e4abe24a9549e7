// Package attempt makes one call to one target and relays its answer: it
// returns a Result, and never decides what the request does next.
package attempt
