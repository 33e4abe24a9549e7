package view

import (
	"breakwater/app/i18n"
	"breakwater/proxy/control"
)

// Verdict is the result of a connection test in words.
type Verdict struct {
	Shape Shape
	Role  Role
	Text  string
}

// NewVerdict returns what a connection test found: what to do about it, and the
// refusal's own words (ruling 62).
func NewVerdict(r control.TestResult) Verdict {
	if r.Valid {
		v := Verdict{ShapeCheck, RoleSuccess, Tf("The provider accepted the credential (%s).", Span(r.LatencyMs))}
		if r.Warning != "" {
			v.Shape, v.Role = ShapeHalf, RoleWarning
			v.Text += " " + r.Warning
		}
		v.Text += addressAsked(r)
		return v
	}
	if r.StatusCode == 404 || r.StatusCode == 405 {
		return Verdict{ShapeCross, RoleWarning, nothingThere(r)}
	}
	return Verdict{ShapeCross, verdictRole(r.Diagnosis.Type), verdictText(r) + ownWords(r) + addressAsked(r)}
}

// ownWords are the refusal's own words, unless all is said without them.
func ownWords(r control.TestResult) string {
	if words := i18n.Line(r.Diagnosis.Words); words != "" && r.Diagnosis.Type != "not_api" {
		return " " + Tf("Its words: %s", Tf("“%s”", words))
	}
	return ""
}

// addressAsked names the address that a test asked (case Q20).
func addressAsked(r control.TestResult) string {
	if r.Asked == "" {
		return ""
	}
	return " " + Tf("Address asked: %s", r.Asked)
}

// nothingThere says what to change where the address is not served.
func nothingThere(r control.TestResult) string {
	if r.Diagnosis.Type == "unsupported" {
		return Tf("Nothing is served at %s (status %d). Check the base URL; if it is right, the server has no model list: set a default model and test again.", r.Asked, r.StatusCode)
	}
	return Tf("Nothing is served at %s (status %d). Check the base URL and the model.", r.Asked, r.StatusCode)
}

func verdictRole(kind string) Role {
	switch kind {
	case "unsupported":
		return RoleMuted
	case "upstream_rate_limited", "upstream_unavailable", "not_api":
		return RoleWarning
	}
	return RoleError
}

func verdictText(r control.TestResult) string {
	code := ""
	if r.StatusCode > 0 {
		code = Tf(" (status %d)", r.StatusCode)
	}
	switch r.Diagnosis.Type {
	case "unsupported":
		return T("This kind of connection cannot be tested ahead: the first request of your agent is the test.")
	case "account_deactivated":
		return T("The provider says that this account is deactivated.") + code
	case "upstream_auth_error":
		return T("The provider refused the credential. Check that the whole key was pasted.") + code
	case "not_api":
		return T("A web page came instead of an answer. Check the network: a login page or a filter may be in between.") + code
	case "upstream_rate_limited":
		return T("The provider knows the credential but is limiting it right now.") + code
	case "upstream_unavailable":
		return T("The provider is not available right now. Nothing is wrong with the connection as far as one can tell.") + code
	case "token_expired":
		return T("The token has expired. Paste a fresh one.") + code
	case "network_error":
		return T("The host could not be reached. Check the base URL and the network.")
	case "auth_missing":
		return T("There is no key yet. Paste one and test again.")
	case "upstream_error":
		return T("The provider answered with an error.") + code
	}
	return T("The test could not be run.") + code
}
