package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// file is one file of a package.
type file struct {
	name string // with slashes, without one in front
	data []byte
	exec bool // a program
}

func (f file) mode() int64 {
	if f.exec {
		return 0o755
	}
	return 0o644
}

// tree is what goes into a package. Whatever order it was gathered in, the
// archives hold it sorted, with one time and no owner, so that they depend on
// the content alone.
type tree []file

func (t *tree) add(name string, data []byte) { *t = append(*t, file{name: name, data: data}) }
func (t *tree) program(name string, data []byte) {
	*t = append(*t, file{name: name, data: data, exec: true})
}

// read adds a file of the source under a new name.
func (t *tree) read(s *source, from, name string) error {
	data, err := s.read(from)
	if err == nil {
		t.add(name, data)
	}
	return err
}

// licences adds the texts that the commit's program carries, to be read without
// it.
func (t *tree) licences(s *source, name string) error {
	small, err := s.read(licenceFile)
	if err != nil {
		return err
	}
	z, err := gzip.NewReader(bytes.NewReader(small))
	if err != nil {
		return fmt.Errorf("%s: %w", licenceFile, err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return fmt.Errorf("%s: %w", licenceFile, err)
	}
	t.add(name, text)
	return nil
}

// under returns the tree moved below a folder.
func (t tree) under(dir string) tree {
	out := slices.Clone(t)
	for i := range out {
		out[i].name = path.Join(dir, out[i].name)
	}
	return out
}

func (t tree) sorted() tree {
	out := slices.Clone(t)
	slices.SortFunc(out, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return out
}

// size is what the tree takes when installed, in bytes.
func (t tree) size() int {
	n := 0
	for _, f := range t {
		n += len(f.data)
	}
	return n
}

// folders returns every folder of the tree, each after the one it lies in.
func (t tree) folders() []string {
	var out []string
	for _, f := range t {
		for dir := path.Dir(f.name); dir != "."; dir = path.Dir(dir) {
			if !slices.Contains(out, dir) {
				out = append(out, dir)
			}
		}
	}
	slices.Sort(out)
	return out
}

// tarGz packs the tree. prefix stands before every name ("./" in a .deb).
func (t tree) tarGz(prefix string, when time.Time) ([]byte, error) {
	var buf bytes.Buffer
	z, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	add := func(h tar.Header, data []byte) error {
		h.ModTime, h.Format, h.Uname, h.Gname = when, tar.FormatUSTAR, "root", "root"
		if err := w.WriteHeader(&h); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
		_, err := w.Write(data)
		return err
	}
	if prefix != "" {
		if err := add(tar.Header{Name: prefix, Typeflag: tar.TypeDir, Mode: 0o755}, nil); err != nil {
			return nil, err
		}
	}
	for _, dir := range t.folders() {
		if err := add(tar.Header{Name: prefix + dir + "/", Typeflag: tar.TypeDir, Mode: 0o755}, nil); err != nil {
			return nil, err
		}
	}
	for _, f := range t.sorted() {
		h := tar.Header{Name: prefix + f.name, Typeflag: tar.TypeReg, Mode: f.mode(), Size: int64(len(f.data))}
		if err := add(h, f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// zip packs the tree for systems that open zip files.
func (t tree) zip(when time.Time) ([]byte, error) {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, f := range t.sorted() {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: when.UTC()}
		h.SetMode(os.FileMode(f.mode()))
		out, err := w.CreateHeader(h)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if _, err := out.Write(f.data); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// squeeze compresses one file as Debian wants its documents, without a name or
// time inside.
func squeeze(data []byte) ([]byte, error) {
	var buf bytes.Buffer
	z, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// crlf gives a text the line ends that Windows' editors expect.
func crlf(text []byte) []byte {
	return []byte(strings.ReplaceAll(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n", "\r\n"))
}
