// Package assets embeds the icons and the translations as bytes.
package assets

import "embed"

// Translations holds i18n/LANG.json: flat objects whose keys are the English
// texts.
//
//go:embed i18n/*.json
var Translations embed.FS
