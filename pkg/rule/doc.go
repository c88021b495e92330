// Package rule holds the expressions of the loop language: CEL, type-checked against JSON Schemas before anything runs and
// cost-limited when it runs. It has no clock and no environment: a rule's value depends on its names alone.
//
// Beyond CEL's standard functions and its strings and math extensions there are default(x.y, v), sum(list),
// day, week, month and quarter (text), next(t, "Thu 10:00"), month_end(t), and durations such as duration("14d").
// Whole and decimal numbers compare and compute with each other: a whole number becomes decimal where it must.
// Data stays plain JSON: map[string]any, []any, string, bool, nil, int64 and float64.
package rule
