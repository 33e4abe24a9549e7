package cases

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/upstream"
	"breakwater/tests/scenario"
)

// privateHost is a name that only the test's proxies and its dialer know.
const privateHost = "api.private.example"

// privateProvider answers over TLS with a certificate of an authority of the
// test's own, whose PEM form is returned.
func privateProvider(t *testing.T) (server *httptest.Server, authority []byte) {
	t.Helper()
	newKey := func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	caKey, key := newKey(), newKey()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: privateHost}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, DNSNames: []string{privateHost},
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		t.Fatal(err)
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	if err != nil {
		t.Fatal(err)
	}
	server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Header.Get("Proxy-Authorization") != "" {
			t.Error("the proxy's login reached the provider")
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":[],"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`)
	}))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{leafDER}, PrivateKey: key}}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER})
}

// tunnel is an outbound proxy of the test's own: CONNECT or SOCKS5.
type tunnel struct {
	listener   net.Listener
	to         string // where every tunnel leads
	user, word string
	opened     atomic.Int32
	denied     atomic.Int32

	mu   sync.Mutex
	open map[net.Conn]bool
	done sync.WaitGroup
}

func newTunnel(t *testing.T, to, user, word string, greet func(*tunnel, *bufio.Reader, net.Conn) error) *tunnel {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tunnel{listener: l, to: to, user: user, word: word, open: map[net.Conn]bool{}}
	p.done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.done.Go(func() { p.serve(c, greet) })
		}
	})
	t.Cleanup(p.close)
	return p
}

func (p *tunnel) address() string { return p.listener.Addr().String() }

func (p *tunnel) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	for c := range p.open {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.done.Wait()
}

// pooled is how many tunnels are open.
func (p *tunnel) pooled() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)
}

func (p *tunnel) serve(c net.Conn, greet func(*tunnel, *bufio.Reader, net.Conn) error) {
	defer c.Close()
	in := bufio.NewReader(c)
	if err := greet(p, in, c); err != nil {
		p.denied.Add(1)
		return
	}
	out, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer out.Close()
	p.opened.Add(1)
	p.mu.Lock()
	p.open[c] = true
	p.mu.Unlock()
	p.done.Go(func() {
		_, _ = io.Copy(c, out)
		_ = c.Close()
	})
	_, _ = io.Copy(out, in)
	p.mu.Lock()
	delete(p.open, c)
	p.mu.Unlock()
}

var errDenied = errors.New("denied")

// connect speaks HTTP CONNECT with a Basic login.
func connect(p *tunnel, in *bufio.Reader, c net.Conn) error {
	r, err := http.ReadRequest(in)
	if err != nil {
		return err
	}
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(p.user+":"+p.word))
	switch {
	case r.Method != http.MethodConnect || r.Host != privateHost+":443":
		_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
		return errDenied
	case p.user != "" && r.Header.Get("Proxy-Authorization") != want:
		_, _ = io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
		return errDenied
	}
	_, err = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
	return err
}

// socks speaks SOCKS5 with a user name and a password (RFC 1928, 1929).
func socks(p *tunnel, in *bufio.Reader, c net.Conn) error {
	field := func() string {
		n, _ := in.ReadByte()
		raw := make([]byte, n)
		_, _ = io.ReadFull(in, raw)
		return string(raw)
	}
	_, _ = in.ReadByte() // version
	field()              // methods
	_, _ = c.Write([]byte{5, 2})
	_, _ = in.ReadByte() // version of the login
	if user, word := field(), field(); user != p.user || word != p.word {
		_, _ = c.Write([]byte{1, 1})
		return errDenied
	}
	_, _ = c.Write([]byte{1, 0})
	head := make([]byte, 4)
	if _, err := io.ReadFull(in, head); err != nil || head[3] != 3 {
		return errDenied // a name is expected: it is looked up by the proxy
	}
	host, port := field(), make([]byte, 2)
	if _, err := io.ReadFull(in, port); err != nil || host != privateHost || port[0] != 443>>8 || port[1] != 443&255 {
		return errDenied
	}
	_, err := c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	return err
}

// network is a product with a provider that only proxies and direct calls of
// the test's own dialer reach, and whose certificate nobody trusts yet.
type network struct {
	*scenario.Kit
	http, socks, env *tunnel
	direct           atomic.Int32 // connections that were opened without a proxy
	caFile           string
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	server, authority := privateProvider(t)
	to := strings.TrimPrefix(server.URL, "https://")
	n := &network{
		http: newTunnel(t, to, "me", "pa@ss/word:1", connect), socks: newTunnel(t, to, "you", "other-word", socks),
		env: newTunnel(t, to, "", "", connect), caFile: filepath.Join(t.TempDir(), "roots.pem"),
	}
	if err := os.WriteFile(n.caFile, append([]byte("An authority of our own\n"), authority...), 0o600); err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, privateHost) {
			n.direct.Add(1)
			address = to
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	n.Kit = scenario.StartBehind(t, upstream.Options{Dial: dial, Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: n.env.address()})})
	return n
}

func (n *network) add(name, proxy string) control.Connection {
	n.Helper()
	return n.Add(name, "opencode-go", func(in *control.ConnectionInput) {
		in.BaseURL, in.APIKey, in.ProxyURL = "https://"+privateHost+"/v1", "key-of-"+name, proxy
	})
}

// ask sends a request to one connection and returns its status and by which
// address it left.
func (n *network) ask(name string) (status int, egress string) {
	n.Helper()
	a := n.Post("/v1/chat/completions", strings.Replace(scenario.NoStream(scenario.Chat), "m1", name+"/m1", 1))
	return a.Status, n.Last().EgressIP
}

func (n *network) trust(path string) {
	n.Helper()
	if _, err := n.Facade().EditSettings(n.Context(), control.SettingsPatch{CAFile: &path}); err != nil {
		n.Fatal(err)
	}
}

func (n *network) serves(name, egress string) {
	n.Helper()
	if status, by := n.ask(name); status != 200 || by != egress {
		n.Errorf("%s: status %d by %q, want 200 by %q", name, status, by, egress)
	}
}

// Each connection leaves by its own proxy, to a provider that is trusted once
// its authority is, also after a restart.
func TestProxyOfEachConnection(t *testing.T) {
	n := newNetwork(t)
	a := n.add("alpha", "http://me:pa%40ss%2Fword%3A1@"+n.http.address())
	b := n.add("beta", "socks5://you:other-word@"+n.socks.address())
	n.add("gamma", control.DirectProxy)
	n.add("delta", "")
	if a.ProxyURL != "http://"+n.http.address() || !a.HasProxyLogin || b.ProxyURL != "socks5://"+n.socks.address() {
		t.Errorf("shown as %q and %q", a.ProxyURL, b.ProxyURL)
	}
	for _, id := range []string{a.ID, b.ID} {
		res, err := n.Facade().TestConnection(t.Context(), id)
		if err != nil || res.Valid || res.Error != "the TLS certificate is not trusted" {
			t.Errorf("before the authority is trusted: %+v, %v", res, err)
		}
	}
	n.trust(n.caFile)
	all := func() {
		t.Helper()
		n.serves("alpha", n.http.address())
		n.serves("beta", n.socks.address())
		n.serves("gamma", "")
		n.serves("delta", n.env.address())
	}
	all()
	http, socks, env, direct := n.http.opened.Load(), n.socks.opened.Load(), n.env.opened.Load(), n.direct.Load()
	if http != 2 || socks != 2 || env != 1 || direct != 1 {
		t.Errorf("opened by HTTP %d, by SOCKS %d, as the environment says %d, directly %d", http, socks, env, direct)
	}
	all()
	if n.http.opened.Load() != http || n.socks.opened.Load() != socks || n.env.opened.Load() != env || n.direct.Load() != direct {
		t.Error("the connections of the first request were not used again")
	}
	n.Restart()
	all()
	n.trust("")
	if status, _ := n.ask("gamma"); status == 200 {
		t.Error("the authority is still trusted")
	}
}

// A proxy that no connection names any more keeps no connection open.
func TestProxyThatIsNotUsedAnyMore(t *testing.T) {
	n := newNetwork(t)
	n.trust(n.caFile)
	a := n.add("alpha", "http://me:pa%40ss%2Fword%3A1@"+n.http.address())
	b := n.add("beta", a.ProxyURL) // without the login
	n.serves("alpha", n.http.address())
	if n.http.pooled() != 1 {
		t.Fatalf("%d connections are open", n.http.pooled())
	}
	if status, _ := n.ask("beta"); status == 200 {
		t.Error("one connection's login was sent for another one")
	}
	edit := func(id, proxy string) control.Connection {
		t.Helper()
		c, err := n.Facade().EditConnection(t.Context(), id, control.ConnectionPatch{ProxyURL: &proxy})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := edit(a.ID, a.ProxyURL); !c.HasProxyLogin {
		t.Error("the address as it is shown lost the login")
	}
	n.serves("alpha", n.http.address())
	edit(a.ID, "socks5://you:other-word@"+n.socks.address())
	n.Until("the tunnels are closed", func() bool { return n.http.pooled() == 0 })
	n.serves("alpha", n.socks.address())
	if c := edit(a.ID, "socks5://@"+n.socks.address()); c.HasProxyLogin {
		t.Error("the login is still there")
	}
	if status, _ := n.ask("alpha"); status == 200 {
		t.Error("the login is still sent")
	}
	if err := n.Facade().DeleteConnection(t.Context(), b.ID); err != nil {
		t.Error(err)
	}
}

// Case 22: a proxy that fails is not the provider's fault.
func TestProxyThatFails(t *testing.T) {
	n := newNetwork(t)
	n.trust(n.caFile)
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	for name, proxy := range map[string]struct{ url, words string }{
		"wrong-http":  {"http://me:wrong@" + n.http.address(), "the outbound proxy refuses the user name or password"},
		"wrong-socks": {"socks5://you:wrong@" + n.socks.address(), "the outbound proxy refuses the user name or password"},
		"gone":        {"http://" + gone.Addr().String(), "the outbound proxy does not answer"},
		"gone-socks":  {"socks5://" + gone.Addr().String(), "the outbound proxy does not answer"},
	} {
		c := n.add(name, proxy.url)
		if res, err := n.Facade().TestConnection(t.Context(), c.ID); err != nil || res.Valid || res.Error != proxy.words {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
		if status, _ := n.ask(name); status == 200 {
			t.Errorf("%s answers", name)
		}
		if n.CoolsFor(name) == 0 {
			t.Errorf("%s does not rest", name)
		}
	}
	if b := n.Breaker("opencode-go"); b.FailureCount != 0 {
		t.Errorf("the provider's breaker counts %d failures", b.FailureCount)
	}
	n.add("straight", control.DirectProxy)
	n.serves("straight", "")
}

// Case P58: what stays on this machine goes through no proxy.
func TestProxyIsNotUsedOnThisMachine(t *testing.T) {
	n := newNetwork(t)
	n.Add("near", "demo", func(in *control.ConnectionInput) { in.ProxyURL = "http://" + n.http.address() })
	a := n.Post("/v1/chat/completions", strings.Replace(scenario.NoStream(scenario.Chat), "m1", "near/m1", 1))
	if a.Status != 200 || n.http.opened.Load()+n.http.denied.Load() != 0 || n.Last().EgressIP != "" {
		t.Errorf("%d %s, the proxy was asked %d times", a.Status, a.Body, n.http.denied.Load())
	}
}

// The login of a proxy is shown, logged and exported nowhere but in a sealed
// backup, which brings it back.
func TestProxyLoginIsASecret(t *testing.T) {
	n := newNetwork(t)
	n.trust(n.caFile)
	c := n.add("alpha", "http://me:pa%40ss%2Fword%3A1@"+n.http.address())
	n.serves("alpha", n.http.address())
	plain, err := n.Facade().Export(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := n.Facade().Export(t.Context(), "a long passphrase")
	if err != nil {
		t.Fatal(err)
	}
	if plain.Connections[0].ProxyURL != c.ProxyURL {
		t.Errorf("exported as %q", plain.Connections[0].ProxyURL)
	}
	if _, err := n.Facade().EditConnection(t.Context(), c.ID, control.ConnectionPatch{ProxyURL: new("http://me:pa%40ss%2Fword%3A1/x@" + n.http.address())}); err == nil {
		t.Error("an address that is none was taken")
	} else if strings.Contains(err.Error(), "word") && strings.Contains(err.Error(), "pa%40") {
		t.Errorf("the refusal repeats it: %v", err)
	}
	exported, err := json.Marshal(plain)
	if err != nil {
		t.Fatal(err)
	}
	shown := n.Do("GET", "/api/providers", "", "Authorization", "Bearer "+n.Token)
	texts := map[string]string{"the API": shown.Body, "the log": n.Log.String(), "the export": string(exported)}
	for where, text := range texts {
		if strings.Contains(text, "ss/word") || strings.Contains(text, "ss%2Fword") || strings.Contains(text, "me:") {
			t.Errorf("%s holds the login: %s", where, text)
		}
	}
	if err := n.Facade().DeleteConnection(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Facade().Import(t.Context(), control.ImportRequest{Backup: sealed, Passphrase: "a long passphrase", DryRun: new(false)}); err != nil {
		t.Fatal(err)
	}
	n.serves("alpha", n.http.address())
}

// A file of root certificates that cannot be used is refused in words, and the
// old ones stay; one that is gone at the start is told and done without.
func TestRootsThatCannotBeUsed(t *testing.T) {
	n := newNetwork(t)
	n.trust(n.caFile)
	n.add("alpha", control.DirectProxy)
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, words := range map[string]string{
		filepath.Join(t.TempDir(), "missing.pem"): "there is no such file",
		write("empty.pem", ""):                    "the file holds no certificate in PEM form",
		write("key.pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"):    "the file holds no certificate in PEM form",
		write("broken.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"): "certificate 1 of the file cannot be read",
		t.TempDir(): "it is a folder, a pipe or a device; a file is needed",
		"roots.pem": "the whole path of the file is needed",
	} {
		_, err := n.Facade().EditSettings(t.Context(), control.SettingsPatch{CAFile: &path, Theme: new("dark")})
		inv, ok := errors.AsType[*control.InvalidError](err)
		if !ok || inv.Fields[0] != (control.FieldError{Field: "caFile", Message: words}) {
			t.Errorf("%s: %v, want %q", path, err, words)
		}
	}
	set, err := n.Facade().Settings(t.Context())
	if err != nil || set.CAFile != n.caFile || set.Theme == "dark" {
		t.Errorf("after the refusals %q, %q, %v", set.CAFile, set.Theme, err)
	}
	n.serves("alpha", "")
	if err := os.Rename(n.caFile, n.caFile+".away"); err != nil {
		t.Fatal(err)
	}
	n.Restart()
	notice := func() string {
		snap, err := n.Facade().Snapshot(t.Context())
		if err != nil || len(snap.Notices) == 0 {
			return ""
		}
		return snap.Notices[0].Code
	}
	if status, _ := n.ask("alpha"); status == 200 || notice() != "ca_file" {
		t.Errorf("status %d without the file, notice %q", status, notice())
	}
	n.trust(n.caFile + ".away")
	if notice() != "" {
		t.Errorf("the notice %q stays", notice())
	}
	if err := n.Facade().ClearCooldown(t.Context(), n.Connection("alpha").ID); err != nil {
		t.Error(err)
	}
	n.serves("alpha", "")
}
