// Package schedule says when loops run: EventBridge's cron, rate and at expressions in IANA time zones, with its treatment of
// clock changes, and the durations and points in time of the loop language. It is pure: no clock, no environment, and the
// host's own zone never matters. Zones come from time.LoadLocation; a binary that runs where no zone files are installed
// imports time/tzdata itself.
package schedule
