// Package setup points coding agents at Breakwater by editing their own
// settings files, key by key, and takes that back.
package setup
