// Package view turns snapshots and activity into the sentences, rows and
// badges that the windows show, without any GUI toolkit.
package view
