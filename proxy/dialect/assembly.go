package dialect

import (
	"github.com/tidwall/gjson"

	"breakwater/proxy/sse"
)

// Assembly makes the JSON answer of a dialect from its event stream, for a
// client that asked for no stream and got one (the mirror of ruling 60).
type Assembly struct {
	reader Reader
	form   assembler
}

// assembler puts the parts of one answer together.
type assembler interface {
	// take takes the object of the next event.
	take(e sse.Event, root gjson.Result)
	// document returns the answer, empty when its beginning was not seen.
	document() string
}

// NewAssembly returns an assembly of one answer.
func NewAssembly(d Dialect) *Assembly {
	return &Assembly{reader: NewReader(d, 1), form: d.assembler()}
}

// See takes the next event and says what it means.
func (a *Assembly) See(e sse.Event) Progress {
	p := a.reader.Read(e)
	if root := gjson.ParseBytes(e.Data); p != Failed && root.IsObject() {
		a.form.take(e, root)
	}
	return p
}

// Document returns the answer. ok is false when the stream did not end it.
func (a *Assembly) Document() (doc []byte, ok bool) {
	if !a.reader.Complete() {
		return nil, false
	}
	if out := a.form.document(); gjson.Valid(out) {
		return []byte(out), true
	}
	return nil, false
}

// pieces are blocks or choices, by index.
type pieces map[int64]*piece

func (m pieces) at(index int64) *piece {
	p := m[index]
	if p == nil {
		p = newPiece()
		m[index] = p
	}
	return p
}
