package notify

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"image/png"
	"slices"
	"sync"

	"github.com/godbus/dbus/v5"

	"breakwater/app/i18n"
	"breakwater/assets"
)

const (
	busName = "org.freedesktop.Notifications"
	busPath = "/org/freedesktop/Notifications"
	// byServer lets the notification expire after the server's own time.
	byServer = int32(-1)
)

// The actions: a click on the message itself, as the specification names it,
// and the button, where the desktop shows one. Both open the message's page.
const (
	defaultAction = "default"
	openAction    = "open"
)

// dbusSender speaks the Desktop Notifications specification. The connection is
// made with the first message, so a program that has nothing to say has none.
type dbusSender struct {
	app, id string
	clicked func(page string)

	mu     sync.Mutex
	conn   *dbus.Conn
	markup bool
	icon   any
	ids    map[string]uint32 // by key
	pages  map[uint32]string // where a click leads
}

// New returns the desktop's sender. app is the name that the user sees, id the
// desktop entry's name without its suffix. clicked is called with the message's
// page when the user clicks a message, where the desktop tells.
func New(app, id string, clicked func(page string)) Sender {
	return &dbusSender{app: app, id: id, clicked: clicked, ids: map[string]uint32{}, pages: map[uint32]string{}}
}

// Send shows m; it replaces an earlier message of the same key.
func (s *dbusSender) Send(m Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.connect(); err != nil {
		return err
	}
	body := m.Body
	if s.markup {
		body = html.EscapeString(body)
	}
	hints := map[string]dbus.Variant{
		"urgency":       dbus.MakeVariant(byte(1)), // 2 would stay until it is clicked away
		"desktop-entry": dbus.MakeVariant(s.id),
		"category":      dbus.MakeVariant("network"),
	}
	if s.icon != nil {
		hints["image-data"] = dbus.MakeVariant(s.icon)
	}
	var id uint32
	err := s.conn.Object(busName, busPath).Call(busName+".Notify", 0,
		s.app, s.ids[m.Key], "", m.Title, body, actions(m), hints, byServer).Store(&id)
	if err != nil {
		_ = s.conn.Close()
		s.conn = nil // the next message begins anew: the bus or the server may be back
		return fmt.Errorf("desktop notification: %w", err)
	}
	s.ids[m.Key], s.pages[id] = id, m.Page
	return nil
}

// connect opens the bus and asks what the server understands.
func (s *dbusSender) connect() error {
	if s.conn != nil {
		return nil
	}
	conn, err := dbus.ConnectSessionBus()
	if err != nil {
		return fmt.Errorf("session bus: %w", err)
	}
	var caps []string
	err = conn.Object(busName, busPath).Call(busName+".GetCapabilities", 0).Store(&caps)
	if err != nil {
		_ = conn.Close()
		return fmt.Errorf("no notification server answers: %w", err)
	}
	if err := s.listen(conn); err != nil {
		_ = conn.Close()
		return err
	}
	s.conn, s.markup = conn, slices.Contains(caps, "body-markup")
	clear(s.ids) // ids belong to one server
	clear(s.pages)
	if s.icon == nil {
		s.icon = pixels(assets.AppIcon(64))
	}
	return nil
}

// listen has clicks on our messages reported until the connection closes.
func (s *dbusSender) listen(conn *dbus.Conn) error {
	err := conn.AddMatchSignal(dbus.WithMatchInterface(busName), dbus.WithMatchMember("ActionInvoked"))
	if err != nil {
		return fmt.Errorf("listen for clicks on notifications: %w", err)
	}
	signals := make(chan *dbus.Signal, 8)
	conn.Signal(signals)
	go func() {
		for signal := range signals {
			var id uint32
			var action string
			if dbus.Store(signal.Body, &id, &action) != nil || action != defaultAction && action != openAction {
				continue
			}
			if page, ours := s.sent(id); ours {
				s.clicked(page)
			}
		}
	}()
	return nil
}

// sent returns the page of a message and whether it is ours: the signal goes
// to every program.
func (s *dbusSender) sent(id uint32) (page string, ours bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	page, ours = s.pages[id]
	return page, ours
}

// actions are what can be done with a message, each with its words.
func actions(m Message) []string {
	all := []string{defaultAction, i18n.T("Open Breakwater")}
	if m.Action != "" {
		all = append(all, openAction, m.Action)
	}
	return all
}

// Close leaves the bus.
func (s *dbusSender) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return nil
	}
	err := s.conn.Close()
	s.conn = nil
	return err
}

// rawImage is the specification's image-data: size, row length, alpha, bits,
// channels and pixels.
type rawImage struct {
	Width, Height, Stride int32
	Alpha                 bool
	Bits, Channels        int32
	Data                  []byte
}

// pixels decodes a PNG for the bus; nil when it cannot be read.
func pixels(file []byte) any {
	img, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		return nil
	}
	b := img.Bounds()
	raw := rawImage{
		Width: int32(b.Dx()), Height: int32(b.Dy()), Stride: int32(4 * b.Dx()),
		Alpha: true, Bits: 8, Channels: 4,
		Data: make([]byte, 0, 4*b.Dx()*b.Dy()),
	}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
			raw.Data = append(raw.Data, c.R, c.G, c.B, c.A)
		}
	}
	return raw
}
