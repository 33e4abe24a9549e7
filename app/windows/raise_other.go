//go:build (cgo || ci) && !nogui && !windows

package windows

// restore has nothing to do where showing a window takes it out of the task bar.
func restore(any) {}
