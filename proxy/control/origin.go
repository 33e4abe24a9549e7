package control

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxOrigins is how many web origins may be allowed.
const maxOrigins = 100

// checkOrigins refuses an allowed origin that no browser ever sends: origins are
// compared whole (ruling 51), so that such an entry could match nothing. Entries
// that were stored before keep nobody from other changes.
func checkOrigins(given *[]string) error {
	if given == nil {
		return nil
	}
	var bad problems
	if len(*given) > maxOrigins {
		bad.add("allowedOrigins", "at most %d origins", maxOrigins)
	}
	for i, o := range *given {
		if why := originFault(o); why != "" {
			bad.add("allowedOrigins", "entry %d can match nothing: %s; write it as http://localhost:5173", i+1, why)
		}
	}
	return bad.err()
}

// originFault says why no browser sends this origin; empty means that one may.
// It never repeats the entry, which may hold a password.
func originFault(o string) string {
	u, err := url.Parse(o)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "an origin begins with http:// or https:// and a host"
	}
	if u.User != nil {
		return "an origin holds no user name or password"
	}
	scheme, host, _ := strings.Cut(o, "://")
	if i := strings.IndexAny(host, "/?#"); i >= 0 {
		return "an origin ends with its host and port, without a slash or path"
	}
	if scheme != u.Scheme || host != strings.ToLower(host) {
		return "browsers send origins in lower case"
	}
	if why := portFault(u); why != "" {
		return why
	}
	return hostFault(u)
}

// portFault judges the port: the usual one of a scheme is never sent.
func portFault(u *url.URL) string {
	_, port, given := strings.Cut(u.Host[strings.LastIndexByte(u.Host, ']')+1:], ":")
	if !given {
		return ""
	}
	n, err := strconv.Atoi(port)
	switch {
	case err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != port:
		return "the port is a number from 1 to 65535"
	case u.Scheme == "http" && n == 80, u.Scheme == "https" && n == 443:
		return fmt.Sprintf("browsers leave out port %d after %s", n, u.Scheme)
	}
	return ""
}

// hostFault judges the host, which is a name or an address in its one usual form.
func hostFault(u *url.URL) string {
	host := u.Hostname()
	if strings.HasPrefix(u.Host, "[") {
		if addr, err := netip.ParseAddr(host); err != nil || addr.Zone() != "" || sixForm(addr) != host {
			return "an IPv6 address stands in its shortest form, as in http://[::1]:5173"
		}
		return ""
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	if last := labels[len(labels)-1]; last != "" && (strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")) {
		// Browsers read such a name as a number, whatever its form.
		if addr, err := netip.ParseAddr(host); err != nil || addr.String() != host {
			return "an IPv4 address is four plain numbers, as in http://127.0.0.1:5173"
		}
		return ""
	}
	if slices.ContainsFunc(labels, func(l string) bool { return l == "" || strings.Trim(l, nameLetters) != "" }) {
		return "the host is no plain name (no wildcards; other letters as xn--)"
	}
	return ""
}

// nameLetters are the letters of a host's name as browsers send it.
const nameLetters = "abcdefghijklmnopqrstuvwxyz0123456789-_"

// sixForm is an IPv6 address as browsers write it: without the dotted form.
func sixForm(a netip.Addr) string {
	if !a.Is4In6() {
		return a.String()
	}
	b := a.As16()
	return fmt.Sprintf("::ffff:%x:%x", int(b[12])<<8|int(b[13]), int(b[14])<<8|int(b[15]))
}
