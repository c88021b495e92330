package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/outerloop-dev/outerloop/pkg/loop"
	"github.com/outerloop-dev/outerloop/pkg/schedule"
)

// fireView is one line of `schedule -o json`.
type fireView struct {
	// ID is the schedule's expression and the UTC time.
	ID         string    `json:"id"`
	Expression string    `json:"expression"`
	At         time.Time `json:"at"`
	Local      string    `json:"local"`
	Zone       string    `json:"zone"`
	// Skipped are local times that a clock change left out before this fire.
	Skipped  []string `json:"skipped,omitempty"`
	Repeated bool     `json:"repeated,omitempty"`
}

// mostFires bounds -n.
const mostFires = 1000

func (a *app) scheduleCommand() *cobra.Command {
	var from string
	var n int
	cmd := &cobra.Command{
		Use:   "schedule LOOP",
		Short: "Print when a loop's schedules fire next",
		Long: `Prints the next fires of every schedule of a loop, in its zone and in UTC, with the
local times that a clock change skips or repeats.`,
		Example: "  outerloop schedule crm-followup\n  outerloop schedule crm-followup --from 2027-03-26 -n 5",
		Args:    one("a loop", "outerloop validate   names the project's files"),
		RunE: func(_ *cobra.Command, args []string) error {
			if n < 1 || n > mostFires {
				return usage(fmt.Sprintf("-n %d is out of range", n), fmt.Sprintf("write a number from 1 to %d", mostFires))
			}
			return a.schedule(args[0], from, n)
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "fires after `TIME`: a date in the loop's zone or RFC 3339 (default now)")
	cmd.Flags().IntVarP(&n, "number", "n", 10, "how `many` fires of each schedule")
	return cmd
}

func (a *app) schedule(name, from string, n int) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	def, err := p.loop(name)
	if err != nil {
		return err
	}
	after := a.Now()
	if from != "" {
		if after, err = parseTime("--from", from, def.Zone); err != nil {
			return err
		}
		after = after.Add(-time.Nanosecond) // a fire at --from itself counts
	}
	fires := []fireView{}
	for _, trigger := range def.Triggers {
		if trigger.Kind != loop.TriggerSchedule {
			continue
		}
		s, err := schedule.Parse(trigger.Name, def.Zone)
		if err != nil {
			return err
		}
		fires = append(fires, nextFires(s, after, n)...)
	}
	if a.asJSON() {
		return a.writeJSON(fires)
	}
	a.printFires(name, fires)
	return nil
}

func nextFires(s schedule.Schedule, after time.Time, n int) []fireView {
	var fires []fireView
	for range n {
		fire, ok := s.Next(after)
		if !ok {
			break
		}
		view := fireView{
			ID: s.String() + "@" + fire.At.UTC().Format(time.RFC3339), Expression: s.String(), At: fire.At.UTC(),
			Local: fire.At.Format("Mon 2006-01-02 15:04"), Zone: s.Zone().String(), Repeated: fire.Repeated,
		}
		for _, skipped := range fire.Skipped {
			view.Skipped = append(view.Skipped, skipped.Format("Mon 2006-01-02 15:04"))
		}
		fires = append(fires, view)
		after = fire.At
	}
	return fires
}

func (a *app) printFires(name string, fires []fireView) {
	if len(fires) == 0 {
		a.say("%s has no schedule that fires any more", name)
		return
	}
	t := table{head: []string{"LOCAL", "ZONE", "UTC", "SCHEDULE"}}
	for _, f := range fires {
		for _, skipped := range f.Skipped {
			t.add(skipped, f.Zone, "skipped", "the clock change leaves this time out")
		}
		note := f.Expression
		if f.Repeated {
			note += "  (second pass of this local time)"
		}
		t.add(f.Local, f.Zone, f.At.Format("2006-01-02 15:04"), note)
	}
	t.write(a, a.Out)
}

// parseTime reads a date in a zone, or an RFC 3339 time.
func parseTime(flag, text string, zone *time.Location) (time.Time, error) {
	if at, err := time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		return at, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, usage(fmt.Sprintf("%s %q is not a date", flag, text),
			"write a day, 2026-11-30 (midnight in "+zone.String()+"), or a time, 2026-11-30T07:00:00Z")
	}
	return at, nil
}
