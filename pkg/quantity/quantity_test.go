package quantity

import "testing"

func TestMoneyIsExact(t *testing.T) {
	t.Parallel()
	for text, micro := range map[string]int64{"0.50 USD": 500_000, "2 USD": 2_000_000, "0.000001 EUR": 1, "200.00 USD": 200_000_000} {
		m, err := ParseMoney(text)
		if err != nil || m.Micro != micro {
			t.Errorf("%s: got %d, %v", text, m.Micro, err)
		}
		if again, err := ParseMoney(m.String()); err != nil || again != m {
			t.Errorf("%s comes back as %s", text, m)
		}
	}
	for _, text := range []string{"", "1", "1USD", "1 usd", "-1 USD", "+1 USD", "1.0000001 USD", "1,50 USD", ".5 USD", "1  USD", "1 USDX", "99999999999999999999 USD", "1e3 USD"} {
		if m, err := ParseMoney(text); err == nil {
			t.Errorf("%q was read as %s", text, m)
		}
	}
}

func TestPercentRoundsUp(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		of   int
		want int
	}{{"90%", 10, 9}, {"90%", 11, 10}, {"100%", 7, 7}, {"0%", 7, 0}, {"33.33%", 3, 1}, {"66.67%", 3, 3}, {"90%", 0, 0}, {"50%", 50_000, 25_000}} {
		p, err := ParsePercent(test.text)
		if err != nil || p.Of(test.of) != test.want {
			t.Errorf("%s of %d: got %d, %v, want %d", test.text, test.of, p.Of(test.of), err, test.want)
		}
		if again, err := ParsePercent(p.String()); err != nil || again != p {
			t.Errorf("%s comes back as %s", test.text, p)
		}
	}
	for _, text := range []string{"", "%", "90", "101%", "-1%", "1.234%", "x%"} {
		if p, err := ParsePercent(text); err == nil {
			t.Errorf("%q was read as %s", text, p)
		}
	}
}
