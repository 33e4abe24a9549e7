package i18n

import (
	"testing"

	"breakwater/proxy/control"
)

func TestWhySaysTheRefusalsOwnWords(t *testing.T) {
	defer func() { _ = Use("en") }()
	for name, c := range map[string]struct {
		lang string
		conn control.Connection
		want string
	}{
		"none":                    {"en", control.Connection{Reason: "rate_limit_exceeded"}, ""},
		"its own":                 {"en", control.Connection{State: control.StateCooling, Words: "Slow down."}, "“Slow down.”"},
		"Q10 of a 403":            {"es", control.Connection{State: control.StateCooling, ErrorCode: 403, Reason: "quota_exhausted", Words: "OAuth is not allowed."}, "«OAuth is not allowed.»"},
		"Q08 a page":              {"en", control.Connection{Reason: "not_api", Words: "a web page came instead of an answer"}, "a web page came instead of an answer"},
		"a page in Spanish":       {"es", control.Connection{Reason: "not_api"}, "llegó una página web en lugar de una respuesta"},
		"a page in Marathi":       {"mr", control.Connection{Reason: "not_api", Words: "a web page came instead of an answer"}, "उत्तराऐवजी वेब पृष्ठ आले"},
		"a page of a path":        {"en", control.Connection{State: control.StateWrongAddress, Reason: "wrong_address", Words: "a web page came instead of an answer"}, ""},
		"who needs attention":     {"en", control.Connection{State: control.StateNeedsAttention, Words: "Slow down.", NeedsAttention: &control.Attention{Words: "No access."}}, "“No access.”"},
		"the same while it cools": {"en", control.Connection{State: control.StateCooling, Words: "Slow down.", NeedsAttention: &control.Attention{Words: "No access."}}, "“Slow down.”"},
		"on one line":             {"en", control.Connection{State: control.StateCooling, Words: "a\nb\u202ec"}, "“a b c”"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Use(c.lang); err != nil {
				t.Fatal(err)
			}
			if got := Why(c.conn); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
