package control

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// DirectProxy is the proxyUrl of a connection that uses no outbound proxy,
// whatever the environment says.
const DirectProxy = "direct"

// maxProxyWord bounds the user name and the password of an outbound proxy:
// SOCKS has one byte for the length of each.
const maxProxyWord = 255

// ProxySecretName returns the name under which the address of a connection's
// outbound proxy is kept together with its login.
func ProxySecretName(connectionID string) string { return SecretName(connectionID) + "/proxy" }

// outProxy is the outbound proxy of a connection. It must never be printed.
type outProxy struct {
	address string        // as it is stored and shown, without the login
	login   *url.Userinfo // nil: the input names none
}

// full is the address with its login.
func (p outProxy) full() string {
	u, err := url.Parse(p.address)
	if err != nil || p.login == nil || *p.login == (url.Userinfo{}) {
		return p.address
	}
	u.User = p.login
	return u.String()
}

// readProxy reads a proxyUrl. Its errors never repeat what was given, which may
// hold a password.
func readProxy(raw string) (outProxy, error) {
	raw = strings.TrimSpace(raw)
	if raw == "" || strings.EqualFold(raw, DirectProxy) {
		return outProxy{address: strings.ToLower(raw)}, nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || len(raw) > maxURL || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return outProxy{}, Invalid("proxyUrl", "must be direct, or a URL that begins with http://, https:// or socks5://; write special characters of its password as %%40 and the like")
	}
	var bad problems
	if !validPort(u) {
		bad.add("proxyUrl", "the port is a number from 1 to 65535")
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		bad.add("proxyUrl", "must not hold a path, a query or a fragment; write special characters of its password as %%2F and the like")
	}
	if password, _ := u.User.Password(); len(u.User.Username()) > maxProxyWord || len(password) > maxProxyWord {
		bad.add("proxyUrl", "the user name and the password have at most %d characters each", maxProxyWord)
	}
	p := outProxy{address: u.Scheme + "://" + strings.ToLower(u.Host), login: u.User}
	return p, bad.err()
}

// proxyAfter returns the outbound proxy of a connection after an edit, and
// whether its login is to be stored or forgotten. An address without a login
// keeps the stored one while it names the same proxy; one with an empty login
// ("http://@host") drops it.
func (r *Route) proxyAfter(given *string) (p outProxy, fresh bool, err error) {
	old, err := readProxy(r.proxy)
	if err != nil || given == nil {
		return old, false, err
	}
	if p, err = readProxy(*given); err != nil {
		return p, false, err
	}
	if p.login == nil && p.address == old.address {
		p.login = old.login
	}
	return p, p.full() != p.address || old.full() != old.address, nil
}

// Proxy returns the connection's outbound proxy with its login: an address,
// DirectProxy, or empty for what the environment says. It must never be
// printed.
func (r *Route) Proxy() string { return r.proxy }

// storeProxyLogin keeps the login of a connection's outbound proxy, beside the
// address that it is for: it is never sent to another one.
func (s *Service) storeProxyLogin(id string, p outProxy) error {
	if p.full() == p.address {
		return nil
	}
	if err := s.cfg.Secrets.SetSecret(ProxySecretName(id), p.full()); err != nil {
		return fmt.Errorf("store the login of the outbound proxy: %w", err)
	}
	return nil
}

// dropProxyLogin forgets the stored login of an outbound proxy that has none
// any more. One that stays behind is never sent: it is for another address.
func (s *Service) dropProxyLogin(id string, p outProxy) {
	if p.full() != p.address {
		return
	}
	if err := s.cfg.Secrets.DeleteSecret(ProxySecretName(id)); err != nil {
		s.cfg.Log.Warn("the login of a former outbound proxy could not be deleted", "connection", id, "error", err)
	}
}

// loadProxy gives a route the login of its outbound proxy.
func (s *Service) loadProxy(r *Route) error {
	if r.Record.ProxyURL == "" || r.Record.ProxyURL == DirectProxy {
		return nil
	}
	secret, ok, err := s.cfg.Secrets.Secret(ProxySecretName(r.Record.ID))
	if err != nil {
		return fmt.Errorf("read the login of the outbound proxy of connection %q: %w", r.Record.Name, err)
	}
	if p, err := readProxy(secret); ok && err == nil && p.address == r.Record.ProxyURL {
		r.proxy = p.full()
	}
	return nil
}

// proxiesInUse are the outbound proxies that connections name.
func proxiesInUse(routes []*Route) []string {
	var out []string
	for _, r := range routes {
		if r.proxy != "" {
			out = append(out, r.proxy)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// checkProxy validates what depends on the rest of the connection.
func checkProxy(bad *problems, r ConnectionRecord) {
	proxy, err := url.Parse(r.ProxyURL)
	if err != nil || proxy.Host == "" {
		return
	}
	if base, err := url.Parse(r.BaseURL); err == nil && base.Scheme == "http" && !LoopbackHost(base.Hostname()) && !isPrivateHost(proxy.Hostname()) {
		bad.add("proxyUrl", "a plain http base URL may only be reached through a proxy on this machine or in the private network: the key would be readable on the way")
	}
}

// useRoots reads the file of extra root certificates. What it returns puts
// them in force.
func (s *Service) useRoots(path string) (use func(), err error) {
	if s.cfg.Roots == nil {
		return func() {}, nil
	}
	if use, err = s.cfg.Roots(path); err != nil {
		return nil, Invalid("caFile", "%v", err)
	}
	return use, nil
}

// startRoots puts the stored file of root certificates in force. One that has
// become unreadable is told and done without: connections that do not need it
// still work.
func (s *Service) startRoots(path string) {
	use, err := s.useRoots(path)
	if inv, ok := errors.AsType[*InvalidError](err); ok {
		s.cfg.Log.Warn("the extra root certificates are not in use", "reason", inv.Fields[0].Message)
		s.rootsLost.Store(&inv.Fields[0].Message)
		return
	}
	use()
}

// rootsNotice tells that the stored file of root certificates is not in use.
func (s *Service) rootsNotice(list []Notice) []Notice {
	why := s.rootsLost.Load()
	if why == nil {
		return list
	}
	return append(slices.Clone(list), Notice{Code: "ca_file", Text: "The file of root certificates is not in use: " + *why + "."})
}
