package main

import (
	"context"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// oldestMacOS is what Go's programs need at least.
const oldestMacOS = "12.0"

// bundle is the .app with the program in it.
func (s *source) bundle(program []byte) (tree, error) {
	icon, err := s.icns()
	if err != nil {
		return nil, err
	}
	var t tree
	t.add("Contents/Info.plist", s.infoPlist())
	t.add("Contents/PkgInfo", []byte("APPL????"))
	t.program("Contents/MacOS/breakwater", program)
	t.add("Contents/Resources/"+s.app.Name+".icns", icon)
	if err := t.licences(s, "Contents/Resources/licences.txt"); err != nil {
		return nil, err
	}
	return t.under(s.app.Name + ".app"), t.read(s, "LICENSE", "Contents/Resources/LICENSE.txt")
}

// infoPlist says what the bundle is. LSUIElement: it lives in the menu bar,
// without an icon in the dock.
func (s *source) infoPlist() []byte {
	values := map[string]string{
		"CFBundleDevelopmentRegion": "en", "CFBundleInfoDictionaryVersion": "6.0", "CFBundlePackageType": "APPL",
		"CFBundleName": s.app.Name, "CFBundleDisplayName": s.app.Name, "CFBundleIdentifier": s.app.ID,
		"CFBundleExecutable": "breakwater", "CFBundleIconFile": s.app.Name + ".icns",
		"CFBundleShortVersionString": strings.Join(quad(s.app)[:3], "."), "CFBundleVersion": strconv.Itoa(s.app.Build),
		"LSApplicationCategoryType": "public.app-category.developer-tools", "LSMinimumSystemVersion": oldestMacOS,
		"NSHumanReadableCopyright": "The Breakwater authors, MIT licence",
	}
	switches := []string{"LSUIElement", "NSHighResolutionCapable", "NSSupportsAutomaticGraphicsSwitching"}
	var keys []string
	for k := range values {
		keys = append(keys, k)
	}
	keys = append(keys, switches...)
	slices.Sort(keys)
	var b strings.Builder
	b.WriteString(xml.Header + `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">` +
		"\n<plist version=\"1.0\">\n<dict>\n")
	for _, k := range keys {
		b.WriteString("\t<key>" + k + "</key>\n")
		if slices.Contains(switches, k) {
			b.WriteString("\t<true/>\n")
			continue
		}
		b.WriteString("\t<string>")
		_ = xml.EscapeText(&b, []byte(values[k])) // a Builder takes everything
		b.WriteString("</string>\n")
	}
	b.WriteString("</dict>\n</plist>\n")
	return []byte(b.String())
}

// icns is the icon in Apple's container: each picture as a PNG under the name
// of its size; some sizes also as the doubled form of the half.
func (s *source) icns() ([]byte, error) {
	var body []byte
	for _, p := range []struct{ kind, file string }{
		{"ic12", "app-64.png"},
		{"ic07", "app-128.png"},
		{"ic13", "app-256.png"},
		{"ic08", "app-256.png"},
		{"ic14", "app.png"},
		{"ic09", "app.png"},
	} {
		png, err := s.read("assets/icons/" + p.file)
		if err != nil {
			return nil, err
		}
		body = append(body, p.kind...)
		body = binary.BigEndian.AppendUint32(body, uint32(len(png)+8))
		body = append(body, png...)
	}
	return append(binary.BigEndian.AppendUint32([]byte("icns"), uint32(len(body)+8)), body...), nil
}

// sign lays the bundle out in a folder, has macOS sign it, and reads it back.
// BREAKWATER_SIGN_IDENTITY names a certificate of the keychain; without one the
// signature is ad hoc, which is enough for the machine's own checks but not for
// Gatekeeper. With BREAKWATER_NOTARY_PROFILE, the name of stored credentials,
// Apple's notary checks the result too.
func (s *source) sign(ctx context.Context, t tree) (tree, error) {
	dir := filepath.Join(s.dir, ".out", "bundle")
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	for _, f := range t.sorted() {
		path := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, f.data, os.FileMode(f.mode())); err != nil {
			return nil, err
		}
	}
	app := filepath.Join(dir, s.app.Name+".app")
	args := []string{"--force", "--sign", "-"}
	if identity := os.Getenv("BREAKWATER_SIGN_IDENTITY"); identity != "" {
		args = []string{"--force", "--options", "runtime", "--timestamp", "--sign", identity}
	}
	if _, err := output(ctx, dir, nil, "codesign", append(args, app)...); err != nil {
		return nil, err
	}
	if _, err := output(ctx, dir, nil, "codesign", "--verify", "--strict", app); err != nil {
		return nil, err
	}
	if profile := os.Getenv("BREAKWATER_NOTARY_PROFILE"); profile != "" {
		if err := notarise(ctx, dir, app, profile); err != nil {
			return nil, err
		}
	}
	return readTree(dir)
}

// notarise sends the bundle to Apple, waits for the verdict and staples it.
func notarise(ctx context.Context, dir, app, profile string) error {
	packed := filepath.Join(filepath.Dir(dir), "notarise.zip")
	if _, err := output(ctx, dir, nil, "ditto", "-c", "-k", "--keepParent", app, packed); err != nil {
		return err
	}
	_, err := output(ctx, dir, nil, "xcrun", "notarytool", "submit", packed, "--keychain-profile", profile, "--wait")
	if err == nil {
		_, err = output(ctx, dir, nil, "xcrun", "stapler", "staple", app)
	}
	return errors.Join(err, os.Remove(packed))
}

// readTree reads a folder of plain files back.
func readTree(dir string) (tree, error) {
	var t tree
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is no plain file", path)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		t = append(t, file{name: filepath.ToSlash(name), data: data, exec: info.Mode()&0o100 != 0})
		return err
	})
	return t, err
}
