//go:build (cgo || ci) && !nogui

package windows

import (
	"strings"
	"unicode/utf8"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
)

// text is a label without padding of its own: one line with an ellipsis, or
// wrapped at words. Setting it to what it shows already costs nothing.
type text struct {
	widget.BaseWidget
	content string
	size    float32
	role    view.Role
	style   fyne.TextStyle
	align   fyne.TextAlign
	clip    bool // may shrink, with an ellipsis
	wrap    bool // breaks at words to the width it gets

	onPrimary bool // drawn on the accent colour

	shown  []string // lines as laid out
	atSize float32  // width they were laid out for
}

func newText(s string, role view.Role) *text {
	t := &text{content: s, size: sizeBody, role: role}
	t.ExtendBaseWidget(t)
	return t
}

func newTitle(s string) *text {
	t := newText(s, view.RoleText)
	t.size, t.style.Bold, t.clip = sizeTitle, true, true
	return t
}

func newCaption(s string) *text {
	t := newText(s, view.RoleMuted)
	t.size = sizeCaption
	return t
}

func newMono(s string) *text {
	t := newText(s, view.RoleText)
	t.style.Monospace, t.size = true, 12
	return t
}

func (t *text) bold() *text  { t.style.Bold = true; return t }
func (t *text) right() *text { t.align = fyne.TextAlignTrailing; return t }
func (t *text) clipped() *text {
	t.clip = true
	return t
}
func (t *text) wrapped() *text { t.wrap = true; return t }

// set shows s; it does nothing when s is shown already.
func (t *text) set(s string) {
	if t.content == s {
		return
	}
	t.content, t.shown = s, nil
	t.Refresh()
}

// show sets words and colour in one step.
func (t *text) show(s string, r view.Role) {
	if t.content == s && t.role == r {
		return
	}
	t.role = r
	if t.content != s {
		t.content, t.shown = s, nil
	}
	t.Refresh()
}

// cut reports whether the text does not show whole.
func (t *text) cut() bool { return t.clip && len(t.shown) == 1 && t.shown[0] != t.content }

func (t *text) measure(s string) fyne.Size {
	return fyne.MeasureText(s, t.size, speltOut(s, t.style))
}

// Resize lays the words out for the new width.
func (t *text) Resize(s fyne.Size) {
	changed := s.Width != t.atSize
	t.BaseWidget.Resize(s)
	if changed && (t.wrap || t.clip) {
		t.shown = nil
		t.Refresh()
	}
}

func (t *text) lines() []string {
	if t.shown != nil {
		return t.shown
	}
	t.atSize = t.Size().Width
	switch {
	case t.wrap && t.atSize > 0:
		t.shown = t.wrapLines(t.atSize)
	case t.wrap:
		t.shown = strings.Split(t.content, "\n")
	case t.clip && t.atSize > 0:
		t.shown = []string{t.ellipsis(t.content, t.atSize)}
	default:
		t.shown = []string{t.content}
	}
	return t.shown
}

func (t *text) ellipsis(s string, width float32) string {
	if t.measure(s).Width <= width+0.5 {
		return s
	}
	r := []rune(s)
	low, high := 0, len(r)
	for low < high {
		mid := (low + high + 1) / 2
		if t.measure(strings.TrimRight(string(r[:mid]), " ")+"…").Width <= width {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return strings.TrimRight(string(r[:low]), " ") + "…"
}

func (t *text) wrapLines(width float32) []string {
	var out []string
	for para := range strings.SplitSeq(t.content, "\n") {
		indent := para[:len(para)-len(strings.TrimLeft(para, " "))]
		line := ""
		for _, word := range together(strings.Fields(para)) {
			next := word
			if line == "" && indent != "" {
				next, indent = indent+word, ""
			}
			if line != "" {
				next = line + " " + word
			}
			if line != "" && t.measure(next).Width > width {
				out = append(out, line)
				next = word
			}
			line = next
			for t.measure(line).Width > width && len([]rune(line)) > 1 {
				head := t.fit(line, width)
				out = append(out, head)
				line = line[len(head):]
			}
		}
		out = append(out, line)
	}
	return out
}

// together keeps a number and its unit in one piece.
func together(words []string) []string {
	out := words[:0]
	for i := 0; i < len(words); i++ {
		word := words[i]
		if i+1 < len(words) && strings.Trim(word, "0123456789.,") == "" && !strings.HasSuffix(word, ",") && utf8.RuneCountInString(words[i+1]) <= 3 {
			i++
			word += " " + words[i]
		}
		out = append(out, word)
	}
	return out
}

// fit returns the longest beginning of a long word that fits.
func (t *text) fit(s string, width float32) string {
	r := []rune(s)
	low, high := 1, len(r)
	for low < high {
		mid := (low + high + 1) / 2
		if t.measure(string(r[:mid])).Width <= width {
			low = mid
		} else {
			high = mid - 1
		}
	}
	if head := string(r[:low]); strings.ContainsAny(head, "/-") {
		return head[:strings.LastIndexAny(head, "/-")+1] // a path or a model breaks at its own joints
	}
	return string(r[:low])
}

func (t *text) lineHeight() float32 { return t.measure("Ág").Height }

// MinSize is the room of the text; a clipped or wrapped one asks for no width.
func (t *text) MinSize() fyne.Size {
	t.ExtendBaseWidget(t)
	h := t.lineHeight()
	if t.wrap {
		return fyne.NewSize(40, h*float32(max(1, len(t.lines()))))
	}
	if t.clip {
		return fyne.NewSize(16, h)
	}
	return fyne.NewSize(t.measure(t.content).Width, h)
}

// CreateRenderer draws the lines.
func (t *text) CreateRenderer() fyne.WidgetRenderer { return &textRenderer{t: t} }

type textRenderer struct {
	t     *text
	lines []*canvas.Text
}

func (r *textRenderer) Layout(size fyne.Size) {
	lines := r.t.lines()
	for len(r.lines) < len(lines) {
		r.lines = append(r.lines, canvas.NewText("", paint(roleColor(r.t.role))))
	}
	r.lines = r.lines[:len(lines)]
	h := r.t.lineHeight()
	top := float32(0)
	if len(lines) == 1 {
		top = (size.Height - h) / 2 // one line sits in the middle of its cell
	}
	colour := paint(roleColor(r.t.role))
	if r.t.onPrimary {
		colour = paint("foregroundOnPrimary")
	}
	for i, s := range lines {
		l := r.lines[i]
		l.Text, l.Color, l.TextSize, l.TextStyle, l.Alignment = s, colour, r.t.size, speltOut(s, r.t.style), r.t.align
		l.Move(fyne.NewPos(0, top+float32(i)*h))
		l.Resize(fyne.NewSize(size.Width, h))
	}
}

func (r *textRenderer) MinSize() fyne.Size { return r.t.MinSize() }

func (r *textRenderer) Refresh() {
	r.Layout(r.t.Size())
	for _, l := range r.lines {
		l.Refresh()
	}
	canvas.Refresh(r.t)
}

func (r *textRenderer) Objects() []fyne.CanvasObject {
	out := make([]fyne.CanvasObject, len(r.lines))
	for i, l := range r.lines {
		out[i] = l
	}
	return out
}

func (r *textRenderer) Destroy() {}
