//go:build !unix

package folder

// What these flags do elsewhere, looking at the file before does here.
const (
	noFollow    = 0
	nonBlocking = 0
)
