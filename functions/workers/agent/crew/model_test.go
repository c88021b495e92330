package crew_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/outerloop-dev/outerloop/pkg/agent/wiretest"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// told collects alerts.
type told struct {
	mu     sync.Mutex
	alerts []coordinator.Alert
}

func (c *told) notify(_ context.Context, a coordinator.Alert) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alerts = append(c.alerts, a)
}

// R56: the provider answers as another model behind the same name. The run names
// both versions, and one notice is given, although many steps see it at once.
func TestChangedModelIsToldOnce(t *testing.T) {
	t.Parallel()
	s := wiretest.Start(t, func(seen wiretest.Seen) wiretest.Reply {
		r := reply(fmt.Sprintf(letter, 0))
		r.Answer.Usage.Model = "small-2026-10"
		if seen.Number > 5 {
			r.Answer.Usage.Model = "small-2026-11"
		}
		if seen.Number == 20 { // one that was still under way at the old one
			r.Answer.Usage.Model = "small-2026-10"
		}
		return r
	})
	var notes []string
	for i := range 30 {
		notes = append(notes, fmt.Sprintf("note %02d", i))
	}
	var heard told
	o := openNotified(t, read(t), over(t, s), heard.notify)
	view := o.work(notes...)
	o.work("another run")
	if len(view.Models) != 1 || len(view.Models[0].Reported) != 2 || view.Models[0].ID != "small" || len(view.Models[0].Prompt) != 64 {
		t.Errorf("the run used %+v", view.Models)
	}
	heard.mu.Lock()
	defer heard.mu.Unlock()
	changed := slices.DeleteFunc(heard.alerts, func(a coordinator.Alert) bool { return a.Kind != coordinator.KindModel })
	if len(changed) != 1 || changed[0].To != "ops" || !strings.Contains(changed[0].Text, "now answers as small-2026-11; until now it was small-2026-10") {
		t.Errorf("told %+v", changed)
	}
}
