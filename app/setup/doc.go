// Package setup points coding agents at Breakwater by editing their own
// settings files, key by key, undoes that, and finds the keys that lie in
// such files when asked.
package setup
