package view

import (
	"testing"

	"breakwater/app/i18n"
)

func TestRefusalsSpeakTheUsersLanguage(t *testing.T) {
	t.Cleanup(func() { _ = i18n.Use("en") })
	for _, c := range []struct{ message, en, es string }{
		{"must not be empty", "must not be empty", "no puede estar vacío"},
		{"must not contain a slash, control characters or signs that nobody sees", "must not contain a slash, control characters or signs that nobody sees", "no puede tener barras, caracteres de control ni signos que nadie ve"},
		{"at most 80 characters", "at most 80 characters", "como máximo 80 caracteres"},
		{"a base URL is needed, such as https://llm.example.com/v1", "a base URL is needed, such as https://llm.example.com/v1", "hace falta una URL base, como https://llm.example.com/v1"},
		{"must be a whole number from 1 to 64", "must be a whole number from 1 to 64", "debe ser un número entero de 1 a 64"},
		{"100 % of 99999999999999999999 is too much", "100 % of 99999999999999999999 is too much", "100 % of 99999999999999999999 is too much"},
		{"", "", ""},
	} {
		for lang, want := range map[string]string{"en": c.en, "es": c.es} {
			_ = i18n.Use(lang)
			if got := Refusal(c.message); got != want {
				t.Errorf("%s: %q became %q, want %q", lang, c.message, got, want)
			}
		}
	}
}
