package rule

import (
	"fmt"
	"regexp"

	"github.com/outerloop-dev/outerloop/pkg/schedule"
)

// checkText checks a constant that a function reads.
func checkText(function, text string) error {
	switch function {
	case "duration":
		_, err := parseSpan(text)
		return err
	case "timestamp":
		return checkTimestamp(text)
	case "next":
		_, err := schedule.ParseMoment(text)
		return err
	case "day", "week", "month", "quarter", "month_end":
		_, err := parseTime(text, utc)
		return err
	case "matches":
		if _, err := regexp.Compile(text); err != nil {
			return fmt.Errorf("the pattern cannot be read: %w", err)
		}
	}
	return nil
}
