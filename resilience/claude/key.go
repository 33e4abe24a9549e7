package claude

import (
	"crypto/sha256"
	"encoding/hex"
)

// Key names the account that state belongs to: a connection, and for
// passthrough, where several logins may share one, the hash of the bearer
// (ruling 34). The bearer itself is not kept.
type Key struct {
	Connection string
	bearer     [16]byte
}

// KeyOf returns the key of a request. Without a connection the bearer alone
// tells accounts apart.
func KeyOf(connection, bearer string, passthrough bool) Key {
	k := Key{Connection: connection}
	if bearer != "" && (passthrough || connection == "") {
		sum := sha256.Sum256([]byte(bearer))
		copy(k.bearer[:], sum[:])
	}
	return k
}

// String returns the key for a map or a log line: "c1", "c1#4f…", or "anon".
func (k Key) String() string {
	switch {
	case k == Key{}:
		return "anon"
	case k.bearer == [16]byte{}:
		return k.Connection
	default:
		return k.Connection + "#" + hex.EncodeToString(k.bearer[:])
	}
}
