//go:build (cgo || ci) && !nogui

package windows

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/layout"
)

// bordered sets objects around a centre, any of them nil. Unlike Fyne's own
// border container it keeps them in reading order, which Tab follows.
func bordered(top, bottom, left, right, centre fyne.CanvasObject) *fyne.Container {
	c := container.New(layout.NewBorderLayout(top, bottom, left, right))
	for _, o := range []fyne.CanvasObject{top, left, centre, right, bottom} {
		if o != nil {
			c.Add(o)
		}
	}
	return c
}

// stack lays objects out one below the other with a gap, each as wide as the
// room there is.
type stack struct{ gap float32 }

func (s stack) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	y := float32(0)
	for _, o := range objects {
		if !o.Visible() {
			continue
		}
		if o.Size().Width != size.Width {
			o.Resize(fyne.NewSize(size.Width, o.Size().Height)) // wrapped texts find their height from the width
		}
		h := o.MinSize().Height
		o.Move(fyne.NewPos(0, y))
		o.Resize(fyne.NewSize(size.Width, h))
		y += h + s.gap
	}
}

func (s stack) MinSize(objects []fyne.CanvasObject) fyne.Size {
	var out fyne.Size
	n := 0
	for _, o := range objects {
		if !o.Visible() {
			continue
		}
		m := o.MinSize()
		out.Width = max(out.Width, m.Width)
		out.Height += m.Height
		n++
	}
	if n > 1 {
		out.Height += s.gap * float32(n-1)
	}
	return out
}

// line lays objects out side by side, centred in height; the object grow takes
// what is left.
type line struct {
	gap  float32
	grow fyne.CanvasObject
}

func (l line) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	left := size.Width
	n := 0
	for _, o := range objects {
		if !o.Visible() {
			continue
		}
		if o != l.grow {
			left -= o.MinSize().Width
		}
		n++
	}
	left -= l.gap * float32(max(0, n-1))
	x := float32(0)
	for _, o := range objects {
		if !o.Visible() {
			continue
		}
		m := o.MinSize()
		w := m.Width
		if o == l.grow {
			w = max(left, m.Width)
		}
		h := min(m.Height, size.Height)
		if t, ok := o.(*text); ok && t.wrap {
			h = size.Height
		}
		o.Resize(fyne.NewSize(w, h))
		o.Move(fyne.NewPos(x, (size.Height-h)/2))
		x += w + l.gap
	}
}

func (l line) MinSize(objects []fyne.CanvasObject) fyne.Size {
	var out fyne.Size
	n := 0
	for _, o := range objects {
		if !o.Visible() {
			continue
		}
		m := o.MinSize()
		out.Width += m.Width
		out.Height = max(out.Height, m.Height)
		n++
	}
	out.Width += l.gap * float32(max(0, n-1))
	return out
}

// inset keeps room around its content.
type inset struct{ top, right, bottom, left float32 }

func (i inset) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	for _, o := range objects {
		o.Move(fyne.NewPos(i.left, i.top))
		o.Resize(fyne.NewSize(size.Width-i.left-i.right, size.Height-i.top-i.bottom))
	}
}

// MinSize is nothing when there is nothing to see.
func (i inset) MinSize(objects []fyne.CanvasObject) fyne.Size {
	var out fyne.Size
	seen := len(objects) == 0
	for _, o := range objects {
		out = out.Max(o.MinSize())
		seen = seen || o.Visible()
	}
	if !seen {
		return fyne.Size{}
	}
	return out.Add(fyne.NewSize(i.left+i.right, i.top+i.bottom))
}

// halves sets two objects side by side, or one below the other where the room
// is narrower than turn.
type halves struct {
	gap, turn float32
}

func (h halves) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	objects = visible(objects)
	if size.Width < h.turn {
		stack{h.gap}.Layout(objects, size)
		return
	}
	w := (size.Width - h.gap*float32(len(objects)-1)) / float32(len(objects))
	for i, o := range objects {
		o.Move(fyne.NewPos(float32(i)*(w+h.gap), 0))
		o.Resize(fyne.NewSize(w, size.Height))
	}
}

func (h halves) MinSize(objects []fyne.CanvasObject) fyne.Size {
	var out fyne.Size
	objects = visible(objects)
	narrow := len(objects) > 0 && objects[0].Size().Width > 0 && objects[len(objects)-1].Position().Y > 0
	if narrow {
		return stack{h.gap}.MinSize(objects)
	}
	for _, o := range objects {
		out = out.Max(o.MinSize())
	}
	return out
}

// visible returns the objects that are not hidden.
func visible(objects []fyne.CanvasObject) []fyne.CanvasObject {
	out := make([]fyne.CanvasObject, 0, len(objects))
	for _, o := range objects {
		if o.Visible() {
			out = append(out, o)
		}
	}
	return out
}

// sized gives its content a fixed or least size; zero leaves a side alone.
type sized struct{ width, height float32 }

func (s sized) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	for _, o := range objects {
		o.Move(fyne.Position{})
		o.Resize(size)
	}
}

func (s sized) MinSize(objects []fyne.CanvasObject) fyne.Size {
	var out fyne.Size
	for _, o := range objects {
		out = out.Max(o.MinSize())
	}
	if s.width > 0 {
		out.Width = s.width
	}
	if s.height > 0 {
		out.Height = s.height
	}
	return out
}

// upTo gives a scroll the height of its content, and no more than most: what is
// higher scrolls.
type upTo struct {
	content fyne.CanvasObject
	most    float32
}

// Layout gives the scroll all there is.
func (u upTo) Layout(objects []fyne.CanvasObject, size fyne.Size) { sized{}.Layout(objects, size) }

// MinSize is the content's, bounded.
func (u upTo) MinSize([]fyne.CanvasObject) fyne.Size {
	least := u.content.MinSize()
	return fyne.NewSize(least.Width, min(least.Height, u.most))
}

// column is one column of a table: a fixed width, or a share of what is left.
type column struct {
	key      string
	title    string
	width    float32 // least width
	flex     float32 // share of the room that is left
	right    bool    // figures
	priority int     // columns with a higher number hide first; 0 stays
	sort     bool
}

// columns places the cells of a row and of the header alike.
type columns struct {
	list []column
	gap  float32
	edge float32

	order []int     // as the user moved them, places in list; nil: as listed
	own   []float32 // widths that the user gave, by place in list; 0: none
	turn  int       // grows with every change of the two
}

// place returns position and width of each column; width 0 means hidden.
func (c columns) place(width float32) (x, w []float32) {
	n := len(c.list)
	x, w = make([]float32, n), make([]float32, n)
	hidden := make([]bool, n)
	room := width - 2*c.edge
	for {
		need, worst := float32(-c.gap), -1
		for i, col := range c.list {
			if hidden[i] {
				continue
			}
			need += c.least(i) + c.gap
			if col.priority > 0 && (worst < 0 || col.priority > c.list[worst].priority) {
				worst = i
			}
		}
		if need > room && worst < 0 && c.own != nil {
			c.own = nil // what the user gave does not fit here
			return c.place(width)
		}
		if need <= room || worst < 0 {
			c.spread(x, w, hidden, room-need)
			return x, w
		}
		hidden[worst] = true
	}
}

func (c columns) spread(x, w []float32, hidden []bool, spare float32) {
	shares := float32(0)
	for i := range c.list {
		if !hidden[i] {
			shares += c.share(i)
		}
	}
	at := c.edge
	for _, i := range c.sequence() {
		if hidden[i] {
			continue
		}
		w[i] = c.least(i)
		if shares > 0 && spare > 0 {
			w[i] += spare * c.share(i) / shares
		}
		x[i] = at
		at += w[i] + c.gap
	}
}
