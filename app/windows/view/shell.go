package view

import "strings"

// Shells in which a set-up line can be written.
const (
	ShellPosix      = "posix"
	ShellFish       = "fish"
	ShellPowerShell = "powershell"
	ShellCmd        = "cmd"
)

// Shells returns the shells to choose from.
func Shells() []Option {
	return []Option{
		{ID: ShellPosix, Word: "bash, zsh"},
		{ID: ShellFish, Word: "fish"},
		{ID: ShellPowerShell, Word: "PowerShell"},
		{ID: ShellCmd, Word: "cmd"},
	}
}

// UsualShell returns the shell that a system's terminals begin with.
func UsualShell(system string) string {
	if system == "windows" {
		return ShellPowerShell
	}
	return ShellPosix
}

// variable is one variable of a command's environment.
type variable struct{ name, value string }

// commandLine writes a command with its variables as a shell reads it.
func commandLine(shell string, vars []variable, command string) string {
	var parts []string
	switch shell {
	case ShellPowerShell:
		for _, v := range vars {
			parts = append(parts, "$env:"+v.name+" = "+psQuote(v.value))
		}
		return strings.Join(append(parts, command), "\n")
	case ShellCmd:
		for _, v := range vars {
			parts = append(parts, `set "`+v.name+"="+v.value+`"`)
		}
		return strings.Join(append(parts, command), "\n")
	case ShellFish: // which knows the short form only from version 3.1 on
		parts = append(parts, "env")
	}
	for _, v := range vars {
		parts = append(parts, v.name+"="+posixQuote(v.value))
	}
	return strings.Join(append(parts, command), " ")
}

// psQuote quotes for PowerShell: double quotes where nothing in the text has a
// meaning in them.
func psQuote(s string) string {
	if strings.ContainsAny(s, "\"$`") {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return `"` + s + `"`
}

// posixQuote quotes for bash, zsh and fish where that is needed.
func posixQuote(s string) string {
	if strings.ContainsAny(s, " \"'{}$\\*;&|<>()") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// lasting tells how the variables outlive the terminal.
func lasting(shell string) string {
	switch shell {
	case ShellPowerShell:
		return T("They hold in this terminal. With setx NAME VALUE they hold in every new one.")
	case ShellCmd:
		return T("They hold in this window. With setx NAME VALUE in place of set they hold in every new one.")
	}
	return ""
}
