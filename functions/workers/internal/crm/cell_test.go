package crm

import (
	"strings"
	"testing"
)

func TestParseAmount(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]int64{
		"12500": 1250000, "12,500.00": 1250000, "12 500.5": 1250050, "12'500.05": 1250005, "12’500": 1250000,
		"12\u00a0500.00": 1250000, "12\u202f500": 1250000, "1,234,567.89": 123456789, "0": 0, " 7.10 ": 710, "999": 99900,
	} {
		if got, err := ParseAmount(cell); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", cell, got, err, want)
		}
	}
	for _, cell := range []string{
		"", " ", "-5", "+5", "12.500,00", "1.234", "1,23", "12,50,000", "1,234 567", ",500", "1,", "1.", ".5", "1.2.3",
		"€5", "5 EUR", "1e3", "NaN", "٣", "1000000000000", "99999999999999999999", "1234,567",
	} {
		if got, err := ParseAmount(cell); err == nil {
			t.Errorf("%q was read as %d cents", cell, got)
		}
	}
}

func TestParseEmail(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"Maria.Gomez@Firm.Example": "maria.gomez@firm.example", " li+crm@sub.firm.example ": "li+crm@sub.firm.example",
	} {
		if got, err := ParseEmail(cell); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", cell, got, err, want)
		}
	}
	for _, cell := range []string{
		"", "tom@@becker.example", "zoe@localhost", "a b@firm.example", "Li <li@firm.example>", "<li@firm.example>",
		"karel@firm..example", "ole.müller@firm.example", "x@-firm.example", "x@firm-.example", "x@[127.0.0.1]",
		"x@firm.example\r\nBcc: y@firm.example", "x@firm.example, y@firm.example", `"a b"@firm.example`, "@firm.example",
		strings.Repeat("a", 250) + "@firm.example",
	} {
		if got, err := ParseEmail(cell); err == nil {
			t.Errorf("%q was read as %q", cell, got)
		}
	}
}

func TestParseDayAndDiscountAndText(t *testing.T) {
	t.Parallel()
	for _, cell := range []string{"", "03.11.2026", "2026-02-31", "11/03/2026", "2026-9-1", "2026-11-30T00:00:00Z", "20261130"} {
		if day, err := ParseDay(cell); err == nil {
			t.Errorf("%q was read as %s", cell, day)
		}
	}
	for cell, want := range map[string]int64{"": 0, "5%": 500, "12.5 %": 1250, "0%": 0, "100%": 10000} {
		if got, err := ParseDiscount(cell); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", cell, got, err, want)
		}
	}
	for _, cell := range []string{"5", "ten", "120%", "-5%", "5%%", "%"} {
		if got, err := ParseDiscount(cell); err == nil {
			t.Errorf("%q was read as %d", cell, got)
		}
	}
	if got, err := ParseText("Site survey\r\nand \u00a0 installation "); err != nil || got != "Site survey and installation" {
		t.Errorf("%q, %v", got, err)
	}
	for _, cell := range []string{"a\u200bb", "a\x1bb", strings.Repeat("x", 201)} {
		if got, err := ParseText(cell); err == nil {
			t.Errorf("%q was read as %q", cell, got)
		}
	}
}

func TestWording(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		Money(1250000, "EUR"): "EUR 12,500.00", Money(5, "USD"): "USD 0.05", Money(100000000, "CHF"): "CHF 1,000,000.00",
		Money(99999, "GBP"): "GBP 999.99", Percent(0.05): "5%", Percent(0.125): "12.5%", Percent(0): "0%",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
