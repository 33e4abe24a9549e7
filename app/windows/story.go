//go:build (cgo || ci) && !nogui

package windows

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
)

// storyLine is one paragraph of a story: a shape on a thread, words, a time.
type storyLine struct {
	widget.BaseWidget
	shape *glyph
	title *text
	sub   *text
	at    *text
	last  bool
}

func newStoryLine(l view.Line, last bool) *storyLine {
	s := &storyLine{
		shape: newShape(l.Shape, l.Role, 16), title: newText(l.Title, view.RoleText).bold().wrapped(),
		sub: newText(l.Sub, view.RoleMuted).wrapped(), at: newCaption(l.At).right(), last: last,
	}
	s.ExtendBaseWidget(s)
	return s
}

const (
	storyLeft  float32 = 28
	storyBelow float32 = 14
)

// Resize finds the height of the wrapped words for the new width.
func (s *storyLine) Resize(size fyne.Size) {
	s.arrange(size.Width)
	s.BaseWidget.Resize(size)
}

func (s *storyLine) arrange(width float32) float32 {
	when := s.at.MinSize().Width
	s.title.Resize(fyne.NewSize(max(40, width-storyLeft-when-8), s.title.MinSize().Height))
	y := s.title.MinSize().Height
	s.title.Resize(fyne.NewSize(s.title.Size().Width, y))
	s.title.Move(fyne.NewPos(storyLeft, 0))
	s.at.Move(fyne.NewPos(width-when, 2))
	s.at.Resize(fyne.NewSize(when, 16))
	if s.sub.content != "" {
		s.sub.Resize(fyne.NewSize(max(40, width-storyLeft), s.sub.MinSize().Height))
		h := s.sub.MinSize().Height
		s.sub.Resize(fyne.NewSize(s.sub.Size().Width, h))
		s.sub.Move(fyne.NewPos(storyLeft, y+1))
		y += h + 1
	}
	if !s.last {
		y += storyBelow
	}
	return y
}

// CreateRenderer draws shape, thread and words.
func (s *storyLine) CreateRenderer() fyne.WidgetRenderer {
	return &storyRenderer{s: s, thread: canvas.NewRectangle(paint(theme.ColorNameInputBorder))}
}

type storyRenderer struct {
	s      *storyLine
	thread *canvas.Rectangle
}

func (r *storyRenderer) Layout(size fyne.Size) {
	r.s.arrange(size.Width)
	r.s.shape.Move(fyne.NewPos(0, 1))
	r.s.shape.Resize(fyne.NewSquareSize(16))
	r.thread.Move(fyne.NewPos(7.5, 20))
	r.thread.Resize(fyne.NewSize(1, max(0, size.Height-22)))
	if r.s.last {
		r.thread.Hide()
	}
	show(r.s.sub, r.s.sub.content != "")
}

func (r *storyRenderer) MinSize() fyne.Size {
	return fyne.NewSize(160, r.s.arrange(max(160, r.s.Size().Width)))
}

func (r *storyRenderer) Refresh() {
	r.thread.FillColor = paint(theme.ColorNameInputBorder)
	for _, o := range r.Objects() {
		o.Refresh()
	}
}

func (r *storyRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.thread, r.s.shape, r.s.title, r.s.at, r.s.sub}
}
func (r *storyRenderer) Destroy() {}
