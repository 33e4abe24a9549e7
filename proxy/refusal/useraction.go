package refusal

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"breakwater/proxy/dialect"
	"breakwater/resilience"
)

// CodeUserAction is the code of an answer that no wait can mend (ruling 71).
const CodeUserAction = "user_action_required"

// Mend is a connection that only the user can mend.
type Mend struct {
	Name    string
	Mending resilience.Mending
	Status  int // of the provider's refusal, 0 when it is not known
}

// UserAction refuses a request whose connections all wait for the user: the
// client must not be told to come back. Clients that were measured to stop get a
// status that makes them stop without ending their login; another Breakwater and
// unknown clients get a 502, which is a failure of the connection it came by.
func (q *Request) UserAction(mends []Mend) Notice {
	status := http.StatusBadGateway
	if q.Client.FinalStatus != 0 && !q.Relayed {
		status = q.Client.FinalStatus
	}
	n := notice(status, dialect.TypeFor(status), CodeUserAction, "Breakwater: "+causes(mends)+". "+remedy(mends))
	n.Exhausted = true
	return n
}

// causes says what is wrong with each connection, those with the same cause
// together.
func causes(mends []Mend) string {
	type cause struct {
		resilience.Mending
		status int
	}
	var order []cause
	names := map[cause][]string{}
	for _, m := range mends {
		c := cause{m.Mending, m.Status}
		if m.Mending != resilience.MendKey {
			c.status = 0
		}
		if !slices.Contains(order, c) {
			order = append(order, c)
		}
		names[c] = append(names[c], m.Name)
	}
	var parts []string
	for _, c := range order {
		parts = append(parts, inWords(c.Mending, c.status, names[c]))
	}
	return strings.Join(parts, "; ")
}

func inWords(m resilience.Mending, status int, names []string) string {
	list, many := and(names), len(names) > 1
	one := func(singular, plural string) string {
		if many {
			return plural
		}
		return singular
	}
	switch m {
	case resilience.MendCredit:
		return list + one(" has", " have") + " no credit left"
	case resilience.MendAccount:
		return "the " + one("account", "accounts") + " of " + list + one(" is", " are") + " closed by the provider"
	case resilience.MendMissing:
		return "the " + one("key", "keys") + " of " + list + one(" is", " are") + " missing on this machine"
	case resilience.MendAddress:
		return "the " + one("address", "addresses") + " of " + list + one(" is", " are") + " not the provider's API"
	case resilience.MendKey:
	}
	text := "the " + one("key", "keys") + " of " + list + one(" was", " were") + " refused"
	if status > 0 {
		text += fmt.Sprintf(" (%d)", status)
	}
	return text
}

// remedy says what the user can do.
func remedy(mends []Mend) string {
	if len(mends) == 1 {
		return "Check it in Breakwater."
	}
	return "Check them in Breakwater."
}

// and joins names as a sentence does.
func and(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
