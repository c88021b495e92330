package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/outerloop-dev/outerloop"
	"github.com/outerloop-dev/outerloop/pkg/coordinator"
	"github.com/outerloop-dev/outerloop/pkg/local"
)

// How often the progress line is drawn again, and how far apart lines are where
// it cannot be drawn in place.
const (
	redrawEvery = 100 * time.Millisecond
	lineEvery   = 5 * time.Second
	// echoed is room at the line's end for what a terminal shows of Ctrl-C.
	echoed = 3
)

// progress shows how far runs are: one line in place on a terminal, else a line
// now and then. It is told by the engine from several goroutines.
type progress struct {
	mu      sync.Mutex
	out     io.Writer
	now     func() time.Time
	inPlace bool
	width   int

	// quiet: nothing is drawn yet.
	quiet   bool
	started time.Time
	drawn   time.Time
	steps   map[string]*stepProgress
	order   []string
	shown   string
}

type stepProgress struct{ entered, done, waiting int }

func (a *app) newProgress() *progress {
	return &progress{
		out: a.Err, now: a.Now, inPlace: a.Live, width: a.LiveWidth,
		started: a.Now(), drawn: a.Now(), steps: map[string]*stepProgress{},
	}
}

// tell takes one event of the engine.
func (p *progress) tell(e local.Progress) {
	step, kind := progressState(e)
	if step == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.steps[step]
	if s == nil {
		s = &stepProgress{}
		p.steps[step] = s
		p.order = append(p.order, step)
	}
	switch kind {
	case "entered":
		s.entered++
	case "done":
		s.done++
	case "asked":
		s.waiting++
	case "answered":
		s.waiting--
	}
	p.draw(false)
}

// progressState is the step that an event is about and what happened to it; ""
// for events that say nothing to a person.
func progressState(e local.Progress) (step, kind string) {
	entered := e.Event == "TaskStateEntered"
	if !entered && e.Event != "TaskStateExited" {
		return "", ""
	}
	name, state, beside := strings.Cut(e.State, ".")
	switch {
	case e.State == "" || e.State == "finish":
		return "", ""
	case beside && state == "approval" && entered:
		return name, "asked"
	case beside && state == "approval":
		return name, "answered"
	case beside:
		return "", ""
	case entered:
		return name, "entered"
	}
	return name, "done"
}

// hold draws nothing until begin, while other lines are printed.
func (p *progress) hold() *progress {
	p.quiet = true
	return p
}

// begin draws from now on.
func (p *progress) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quiet = false
}

// draw shows the line if it is due. Callers hold the lock.
func (p *progress) draw(last bool) {
	now := p.now()
	every := lineEvery
	if p.inPlace {
		every = redrawEvery
	}
	if p.quiet || !last && now.Sub(p.drawn) < every {
		return
	}
	line := p.line(now)
	if line == p.shown || line == "" {
		return
	}
	p.drawn, p.shown = now, line
	if !p.inPlace {
		fmt.Fprintln(p.out, line)
		return
	}
	if p.width > 0 {
		line = cut(line, max(p.width-echoed, 1))
	}
	fmt.Fprintf(p.out, "\r\x1b[K%s", line)
}

// line is the state in words: "3.2 s  scan 1  qualify 120/180  send 40 (6 waiting)".
func (p *progress) line(now time.Time) string {
	if len(p.order) == 0 {
		return ""
	}
	parts := []string{span(now.Sub(p.started))}
	for _, step := range p.order {
		s := p.steps[step]
		text := fmt.Sprintf("%s %d", step[strings.LastIndexByte(step, '/')+1:], s.done)
		if s.done < s.entered {
			text = fmt.Sprintf("%s/%d", text, s.entered)
		}
		if s.waiting > 0 {
			text += fmt.Sprintf(" (%d waiting)", s.waiting)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "  ")
}

// end takes the line away; where it was not in place, the last state follows
// the earlier ones.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.shown == "":
	case !p.inPlace:
		p.draw(true)
	default:
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = ""
	}
}

// see takes a run of a deployment as it stands.
func (p *progress) see(v coordinator.ShowView) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps = map[string]*stepProgress{}
	for _, step := range v.Steps {
		if step.Worker == "" {
			continue // a block: its steps say more
		}
		name := staticPath(step.Path)
		s := p.steps[name]
		if s == nil {
			s = &stepProgress{}
			p.steps[name] = s
			if !slices.Contains(p.order, name) {
				p.order = append(p.order, name)
			}
		}
		s.entered++
		switch step.Status {
		case outerloop.StepSettled:
			s.done++
		case outerloop.StepParked:
			s.waiting++
		case outerloop.StepOpen, outerloop.StepRunning:
		}
	}
	p.draw(false)
}
