package problem

// Title is the short name of a code's rule; "problem" for a code that does not exist.
func Title(code string) string {
	if entry, ok := Lookup(code); ok {
		return entry.Title
	}
	return "problem"
}

// Code is one row of the table of codes.
type Code struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Text explains the rule and its reason.
	Text string `json:"text"`
	// Wrong and Right are an example and its remedy.
	Wrong string `json:"wrong,omitempty"`
	Right string `json:"right,omitempty"`
}

// Lookup finds a code; a warning made an error by --strict is found as well.
func Lookup(id string) (Code, bool) {
	for _, code := range table {
		if code.ID == id {
			return code, true
		}
	}
	if len(id) > 1 && id[0] == 'E' {
		return lookupWarning(id[1:])
	}
	return Code{}, false
}

func lookupWarning(number string) (Code, bool) {
	for _, code := range table {
		if code.ID == "W"+number {
			return code, true
		}
	}
	return Code{}, false
}

// Codes are all codes, in order.
func Codes() []Code { return append([]Code(nil), table...) }
