// Package exchange brings one client request to its answer over several
// targets; it is the only place that ends one.
package exchange
