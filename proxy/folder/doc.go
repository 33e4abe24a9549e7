// Package folder reads and changes the small files of a data folder, which two
// processes may touch at once, and reads files that a user names.
package folder
