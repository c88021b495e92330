package asl

import (
	"strings"
	"time"
)

// parseTimestamp reads an RFC 3339 time with upper-case T and Z.
func parseTimestamp(s string) (time.Time, bool) {
	if strings.ContainsAny(s, "tz ,") {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, s)
	return at, err == nil
}

// formatTime is how times appear in the context object.
func formatTime(t time.Time) string {
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
