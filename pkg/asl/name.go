package asl

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrName says that a name is not one that Step Functions takes.
var ErrName = errors.New("asl: invalid name")

// CheckName checks the name of an execution or state machine by the rules of
// Step Functions: 1 to 80 characters, no white space, brackets, wildcards,
// control or special characters. An ISO timestamp has colons and is none.
// Errors are ErrName.
func CheckName(name string) error {
	n := utf8.RuneCountInString(name)
	if n == 0 || n > MaxName {
		return fmt.Errorf("%w: %q has %d characters, it must have 1 to %d", ErrName, name, n, MaxName)
	}
	for _, r := range name {
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError || strings.ContainsRune("<>{}[]?*\"#%\\^|~`$&,;:/", r) {
			return fmt.Errorf("%w: %q must not have %q in it", ErrName, name, r)
		}
	}
	return nil
}
