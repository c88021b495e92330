package cost

import (
	"fmt"
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
)

// month is the twelfth of a year.
const month = 365 * 24 * time.Hour / 12

// TriggerShare is one trigger's part of a month.
type TriggerShare struct {
	// ID is the trigger's kind and name.
	ID string `json:"id"`
	// Runs is how many runs it starts; Basis says how that is known.
	Runs  float64 `json:"runs_a_month"`
	Basis string  `json:"basis"`
	// USD is what its runs cost, with what watching costs on the way.
	USD float64 `json:"usd"`

	// Watching is the cost of fires and probes themselves.
	Watching Split `json:"-"`
	// every is the mean distance of fires or probes; 0: unknown.
	every time.Duration
	// polls tells that only probes are spared by a longer interval.
	polls bool
}

// Saving is what one change of interval would save.
type Saving struct {
	ID string `json:"id"`
	// Instead is the longer interval.
	Instead string  `json:"instead"`
	Runs    float64 `json:"runs_a_month"`
	USD     float64 `json:"usd_a_month"`
}

// triggers counts what each trigger starts in a month.
func (e *estimator) triggers(run float64) []TriggerShare {
	out := []TriggerShare{}
	for _, t := range e.Loop.Triggers {
		var share TriggerShare
		switch t.Kind {
		case loop.TriggerSchedule:
			share = e.scheduled(t)
		case loop.TriggerMonitor:
			share = e.monitored(t)
		case loop.TriggerAfter:
			share = e.following(t)
		default:
			share = TriggerShare{ID: fmt.Sprintf("%s %s", t.Kind, t.Name), Runs: e.Runs, Basis: "assumed (--runs N)"}
		}
		share.Watching.sum()
		share.USD = share.Runs*run + share.Watching.Total
		out = append(out, share)
	}
	if len(out) == 0 {
		out = append(out, TriggerShare{ID: "by hand", Runs: e.Runs, Basis: "assumed (--runs N)", USD: e.Runs * run})
	}
	return out
}

func (e *estimator) scheduled(t loop.TriggerRule) TriggerShare {
	share := TriggerShare{ID: "schedule " + t.Name}
	if t.Schedule == nil {
		return share
	}
	fires, span := firesOf(*t.Schedule, e.From)
	if fires == 0 {
		share.Basis = "it fires no more"
		return share
	}
	share.Runs = float64(fires) * float64(month) / float64(span)
	share.Basis = fmt.Sprintf("%d fires in %.0f days", fires, span.Hours()/24)
	share.every = time.Duration(float64(month) / share.Runs)
	if t.When != nil {
		share.Basis += ", as if its `when` always held"
	}
	share.Watching.Other = e.of("schedule_fire", share.Runs)
	return share
}

// mostFires bounds the counting of a schedule that fires often.
const mostFires = 20000

// firesOf counts a year's fires, or, where they are very many, some weeks'.
func firesOf(s schedule.Schedule, from time.Time) (int, time.Duration) {
	const year = 365 * 24 * time.Hour
	end, at := from.Add(year), from.Add(-time.Nanosecond)
	for n := 0; ; n++ {
		fire, ok := s.Next(at)
		if !ok || !fire.At.Before(end) {
			return n, year
		}
		if n == mostFires {
			return n, fire.At.Sub(from)
		}
		at = fire.At
	}
}

// monitored counts the probes; how many of them find something, nobody knows.
func (e *estimator) monitored(t loop.TriggerRule) TriggerShare {
	share := TriggerShare{ID: fmt.Sprintf("monitor %s every %s", t.Monitor.Probe, schedule.FormatDuration(t.Monitor.Every)),
		Runs: e.Runs, every: t.Monitor.Every, polls: true}
	polls := float64(month) / float64(t.Monitor.Every)
	share.Basis = fmt.Sprintf("%.0f probes; the runs are assumed (--runs N)", polls)
	share.Watching = e.probes(polls)
	return share
}

func (e *estimator) probes(polls float64) Split {
	s := Split{
		Lambda:   e.lambda(2*polls, polls*(e.quantity("gate_seconds")+e.quantity("worker_seconds_go")), "worker_gb"),
		DynamoDB: e.of("write_unit", polls) + e.of("read_unit", 2*polls),
		Other:    e.of("schedule_fire", polls),
	}
	s.sum()
	return s
}

// following counts the runs of the loop that is followed.
func (e *estimator) following(t loop.TriggerRule) TriggerShare {
	share := TriggerShare{ID: "after " + t.Name, Runs: e.Runs, Basis: "assumed (--runs N)"}
	other := e.Loops[t.Name]
	if other == nil || slices.Contains(e.within, t.Name) {
		return share
	}
	upper := *e
	upper.Loop, upper.within = other, append(slices.Clone(e.within), e.Loop.Loop.Name, t.Name)
	share.Runs, share.Basis = 0, "each run of "+t.Name
	for _, s := range upper.triggers(0) {
		share.Runs += s.Runs
	}
	return share
}

// intervals are the steps of the ladder that savings go up.
var intervals = []struct {
	every time.Duration
	words string
}{
	{5 * time.Minute, "every 5 minutes"}, {15 * time.Minute, "every 15 minutes"}, {30 * time.Minute, "every 30 minutes"},
	{time.Hour, "every hour"}, {2 * time.Hour, "every 2 hours"}, {6 * time.Hour, "every 6 hours"}, {12 * time.Hour, "twice a day"},
	{24 * time.Hour, "once a day"}, {7 * 24 * time.Hour, "once a week"}, {month, "once a month"},
}

// savings says what the next longer interval of each schedule and monitor saves.
func (e *estimator) savings(shares []TriggerShare, run float64) []Saving {
	out := []Saving{}
	for _, share := range shares {
		if share.every == 0 {
			continue
		}
		for _, longer := range intervals {
			if float64(longer.every) < 1.5*float64(share.every) {
				continue
			}
			fires, now := float64(month)/float64(longer.every), float64(month)/float64(share.every)
			s := Saving{ID: share.ID, Instead: longer.words, Runs: fires, USD: (now - fires) * run}
			if share.polls {
				s.Runs, s.USD = share.Runs, e.probes(now-fires).Total
			} else {
				s.USD += e.of("schedule_fire", now-fires)
			}
			out = append(out, s)
			break
		}
	}
	return out
}
