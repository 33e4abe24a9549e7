package upstream

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"breakwater/proxy/folder"
)

// maxRoots is the size of the largest file of root certificates, in bytes: the
// lists of all public authorities take a quarter of a mebibyte.
const maxRoots = 4 << 20

// Roots reads a PEM file with root certificates beyond those that the system,
// or SSL_CERT_FILE, names. What it returns puts them in force; before that
// nothing has changed. An empty path goes back to the system's alone. Errors
// are sentences for the user.
func (c *Client) Roots(path string) (use func(), err error) {
	if path == "" {
		return func() {
			if c.ways.Load().roots != c.base {
				c.trust(c.base)
			}
		}, nil
	}
	extra, err := readRoots(path)
	if err != nil {
		return nil, err
	}
	pool := c.base
	if pool != nil {
		pool = pool.Clone()
	} else if pool, err = x509.SystemCertPool(); err != nil {
		return nil, fmt.Errorf("the certificates of the system cannot be read: %w", err)
	}
	for _, cert := range extra {
		pool.AddCert(cert)
	}
	return func() { c.trust(pool) }, nil
}

// readRoots returns the certificates in a PEM file.
func readRoots(path string) ([]*x509.Certificate, error) {
	if !filepath.IsAbs(path) {
		return nil, errors.New("the whole path of the file is needed")
	}
	raw, err := folder.ReadNamed(context.Background(), path, maxRoots) // bounds itself
	if err != nil {
		return nil, unreadable(err)
	}
	var list []*x509.Certificate
	for block, rest := pem.Decode(raw); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d of the file cannot be read", len(list)+1)
		}
		list = append(list, cert)
	}
	if len(list) == 0 {
		return nil, errors.New("the file holds no certificate in PEM form")
	}
	return list, nil
}

// unreadable says why a file cannot be read, without its path.
func unreadable(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("there is no such file")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("the file may not be read by Breakwater")
	case errors.Is(err, folder.ErrTooLarge):
		return fmt.Errorf("the file is larger than %d MiB", maxRoots>>20)
	case errors.Is(err, folder.ErrNotPlain):
		return errors.New("it is a folder, a pipe or a device; a file is needed")
	case errors.Is(err, folder.ErrSlow):
		return errors.New("the drive or network folder of the file does not answer")
	}
	return errors.New("the file cannot be read")
}
