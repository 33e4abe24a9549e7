package lease

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// Request headers of a managed session. They never travel further than us.
const (
	OwnerHeader      = "X-OmniRoute-Lease-Owner"
	GenerationHeader = "X-OmniRoute-Lease-Generation"
)

// MaxGeneration is the largest generation, the largest integer that every
// client's numbers hold exactly.
const MaxGeneration = 1<<53 - 1

const (
	ownerPrefix = "vlo_"
	ownerLength = len(ownerPrefix) + 43 // 32 random bytes in base64url without padding
)

// ValidOwner reports whether a value has the form of an owner.
func ValidOwner(s string) bool {
	if len(s) != ownerLength || !strings.HasPrefix(s, ownerPrefix) {
		return false
	}
	for _, c := range []byte(s[len(ownerPrefix):]) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// Hash is what is stored of an owner: the SHA-256 of the whole value in
// lowercase hex. The owner itself is a credential and is kept nowhere.
func Hash(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return hex.EncodeToString(sum[:])
}

// ParseGeneration reads a generation in its one spelling: decimal digits
// without a leading zero, at least 1, at most MaxGeneration.
func ParseGeneration(s string) (int64, bool) {
	if s == "" || s[0] < '1' || s[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n <= MaxGeneration
}
