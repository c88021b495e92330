//go:build race

package schedule_test

// samples is the number of random expressions for each window; fewer where every step costs ten times as much.
const samples = 1
