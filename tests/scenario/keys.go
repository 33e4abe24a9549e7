package scenario

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"breakwater/db"
	"breakwater/proxy/control"
)

// keys are the secrets of the connections that scenarios add: made up, each in
// the form of a vendor, in the order in which a scenario uses them.
var keys = [][2]string{
	{"sk-ant-api03-", "zJoDX9YVFxt6yt8r4uLV9AtPGys7RX"},
	{"sk-ant-oat01-", "raSE46oinqBENb3WNME7PNY3FS9824"},
	{"sk-proj-", "4ow7VTnJEq9tTekW6JUC9xZDmfmNcw"},
	{"sk-or-v1-", "M9iKxtG6cQEAv3Ex2bgqrKSPpfX5rN"},
	{"sk-", "EjU9zNMD5zRJZRZBd9TBvT5Rhdrsez"},
	{"AIza", "dufhrZgbFhmVud4ucmaWdnAenXU3hm"},
	{"gsk_", "iWFg5YjKY2NfpYNCVWxjVJTqox525F"},
	{"xai-", "NPuPhDNWEifNBMQCrnhNdgncw8wSh4"},
	{"sk-svcacct-", "cQkbpC5R3mbXkVm6hrBdMnWa52ZGUM"},
	{"ghp_", "wLNj8CNsVBZ5dHC7haosXpiXT7nA63"},
	{"pplx-", "Ujbh2tF6RKYAvaTgiyLrsPVLT4E4Uu"},
	{"r8_", "NQTsNQgw4DMJJCDerffw4MmF5fKWAv"},
	{"hf_", "SDzUUKQ67FVtab5jogXqwBn9GtCRQB"},
	{"nvapi-", "d7rMAVQAaBHjJVBYmWtGnEJrov9ipV"},
	{"fw_", "BVn9hgbLtZ3kvweGW2sEiS5EnQqaCt"},
	{"csk-", "5WayUr33fym2uHQXXWxXdgYmvWdynR"},
	{"key-", "B3E4KeRtTzj65DLCZAs5cSGHPBV4nz"},
	{"tp-", "JpsSAaoPnkvgGdeN7qagqSdjoyAT6W"},
	{"sk-kimi-", "hmViED9imfYWfQUxQX3PDyEJ4BPSc8"},
	{"", "6N9MBfzNkS6ZGoyARU3mrCS3zppGoR"},
}

// Secrets are the parts of the keys that nobody else may know, without the
// vendors' prefixes.
func Secrets() []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k[1]
	}
	return out
}

// Key returns the key of the n-th connection of a scenario.
func Key(n int) string { return strings.Join(keys[n%len(keys)][:], "") }

// LoseKey restarts the product with the stored credential of a connection gone,
// as on a machine to which the database alone was brought.
func (k *Kit) LoseKey(name string) {
	k.Helper()
	id := k.Connection(name).ID
	k.stop()
	http.DefaultClient.CloseIdleConnections()
	secrets, err := db.OpenSecrets(context.Background(), k.dir, db.SecretsOptions{Backend: db.FileSecrets, Log: slog.New(slog.DiscardHandler)})
	k.must(err)
	k.must(secrets.DeleteSecret(control.SecretName(id)))
	k.start()
}
