package proxy

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadAllTakesWhatComes(t *testing.T) {
	ways := map[string]func(io.Reader) io.Reader{
		"at once": func(r io.Reader) io.Reader { return r }, "in halves": iotest.HalfReader, "with its end": iotest.DataErrReader,
	}
	for _, n := range []int{0, 1, firstPart - 1, firstPart, firstPart + 1, firstPart*partGrowth + 1, 1 << 20, 3<<20 + 7} {
		body := bytes.Repeat([]byte("breakwater"), n/10+1)[:n]
		for name, way := range ways {
			for _, announced := range []int64{int64(n), -1, 65 << 20} {
				got, err := readAll(way(bytes.NewReader(body)), announced, 64<<20)
				if err != nil || !bytes.Equal(got, body) {
					t.Errorf("%d bytes %s, announced %d: %d bytes, %v", n, name, announced, len(got), err)
				}
			}
		}
		if got, err := readAll(bytes.NewReader(body), int64(n)+1, 64<<20); !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != n {
			t.Errorf("one of %d bytes missing: %d, %v", n+1, len(got), err)
		}
	}
	broken := errors.New("broken")
	if got, err := readAll(io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(broken)), 9, 99); !errors.Is(err, broken) || string(got) != "ab" {
		t.Errorf("a broken body: %q, %v", got, err)
	}
}

// What is announced and does not come costs no memory: at most a first part, or
// four times what came.
func TestReadAllAllocatesWhatComes(t *testing.T) {
	for _, came := range []int{0, 1, firstPart, firstPart + 1, 1 << 20} {
		body := strings.NewReader(strings.Repeat("x", came))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = readAll(body, 64<<20, 64<<20) // it ends early
		runtime.ReadMemStats(&after)
		got, most := after.TotalAlloc-before.TotalAlloc, uint64(2*firstPart+2*partGrowth*came)
		if got > most {
			t.Errorf("%d bytes came, %d were allocated, at most %d are right", came, got, most)
		}
	}
}
