//go:build (cgo || ci) && !nogui

package windows

import (
	"bytes"
	"embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
	"breakwater/assets"
)

//go:embed icons/*.svg
var iconFiles embed.FS

// appIcon is the program's own icon as a picture.
func appIcon(pixels int) fyne.Resource {
	return fyne.NewStaticResource("breakwater-"+strconv.Itoa(pixels)+".png", assets.AppIcon(pixels))
}

// painted is a drawing whose strokes and fills take a colour of the theme, the
// present one each time it is asked.
type painted struct {
	name   string
	colour fyne.ThemeColorName
	side   float32 // in pixels of the screen
}

// drawing returns an icon of the usual size in the colour of the theme's name.
func drawing(name string, colour fyne.ThemeColorName) fyne.Resource { return painted{name, colour, 16} }

// Name tells drawings, colours and sizes apart, for Fyne's cache of pictures.
func (p painted) Name() string {
	return fmt.Sprintf("%s-%s-%.0f.svg", p.name, strings.TrimPrefix(p.hex(), "#"), p.side)
}

var strokeWidth = regexp.MustCompile(`stroke-width="([0-9.]+)"`)

// Content is the drawing with its colour put in. Fyne's renderer takes stroke
// widths for pixels whatever the size of the picture, so they are scaled here.
func (p painted) Content() []byte {
	b, err := iconFiles.ReadFile("icons/" + p.name + ".svg")
	if err != nil {
		return theme.BrokenImageIcon().Content()
	}
	b = strokeWidth.ReplaceAllFunc(b, func(m []byte) []byte {
		w, _ := strconv.ParseFloat(string(strokeWidth.FindSubmatch(m)[1]), 32)
		return fmt.Appendf(nil, `stroke-width="%.2f"`, w*float64(p.side)/24)
	})
	return bytes.ReplaceAll(b, []byte("#000"), []byte(p.hex()))
}

func (p painted) hex() string {
	r, g, b, _ := paint(p.colour).RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

// glyph is a small drawing in a theme colour.
type glyph struct {
	widget.BaseWidget
	name   string
	colour fyne.ThemeColorName
	side   float32
}

func newGlyph(name string, colour fyne.ThemeColorName, side float32) *glyph {
	g := &glyph{name: name, colour: colour, side: side}
	g.ExtendBaseWidget(g)
	return g
}

func newShape(s view.Shape, r view.Role, side float32) *glyph {
	return newGlyph(string(s), roleColor(r), side)
}

// set changes drawing and colour; it does nothing when they are shown already.
func (g *glyph) set(name string, colour fyne.ThemeColorName) {
	if g.name == name && g.colour == colour {
		return
	}
	g.name, g.colour = name, colour
	g.Refresh()
}

func (g *glyph) show(s view.Shape, r view.Role) { g.set(string(s), roleColor(r)) }

// MinSize is the square of the drawing.
func (g *glyph) MinSize() fyne.Size {
	g.ExtendBaseWidget(g)
	return fyne.NewSquareSize(g.side)
}

// CreateRenderer draws the icon in the middle of its room.
func (g *glyph) CreateRenderer() fyne.WidgetRenderer {
	r := &glyphRenderer{g: g, img: canvas.NewImageFromResource(nil)}
	r.img.FillMode = canvas.ImageFillContain
	r.img.Resource = r.resource()
	return r
}

type glyphRenderer struct {
	g   *glyph
	img *canvas.Image
}

// resource is the drawing for the size that it has on the screen.
func (r *glyphRenderer) resource() fyne.Resource {
	scale := float32(1)
	if c := fyne.CurrentApp().Driver().CanvasForObject(r.g); c != nil {
		scale = c.Scale()
	}
	return painted{r.g.name, r.g.colour, r.g.side * scale}
}

func (r *glyphRenderer) Layout(size fyne.Size) {
	if now := r.resource(); now != r.img.Resource {
		r.img.Resource = now
		r.img.Refresh()
	}
	side := min(r.g.side, size.Width, size.Height)
	r.img.Resize(fyne.NewSquareSize(side))
	r.img.Move(fyne.NewPos((size.Width-side)/2, (size.Height-side)/2))
}

func (r *glyphRenderer) MinSize() fyne.Size { return fyne.NewSquareSize(r.g.side) }

func (r *glyphRenderer) Refresh() {
	r.img.Resource = r.resource()
	r.img.Refresh()
}

func (r *glyphRenderer) Objects() []fyne.CanvasObject { return []fyne.CanvasObject{r.img} }
func (r *glyphRenderer) Destroy()                     {}
