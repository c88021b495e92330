package sim

import (
	"math/rand/v2"
	"slices"
)

// Fault names one thing that goes wrong.
type Fault string

// The faults that are no window of the protocol by themselves: they may fall at
// any call.
const (
	CrashBeforeWrite Fault = "process dies before a write"
	CrashAfterWrite  Fault = "process dies after a write"
	CrashAtRead      Fault = "process dies at a read"
	CrashAtEngine    Fault = "process dies at a call of the engine"
	StoreThrottled   Fault = "store throttled"
	StoreLost        Fault = "store: done, answer lost"
	StoreNotDone     Fault = "store: not done, answer lost"
	TokenLost        Fault = "token: the engine does not answer"
	EngineSlow       Fault = "engine: start not answered"
	NewProcess       Fault = "new processes"
	Takeover         Fault = "engine dies with its workers and is taken over"
	HandlerFails     Fault = "handler fails"
	CallRefused      Fault = "provider: certainly not done"
	CallLost         Fault = "provider: call did not get through, nobody knows"
	AnswerLost       Fault = "provider: done, answer lost"
	StepAgain        Fault = "engine: coordinator called twice"
	Aborted          Fault = "engine: execution aborted by hand"
	SecondDecider    Fault = "two people decide at once"
	OtherPayload     Fault = "worker: another payload than its input"
	EngineLies       Fault = "engine: a state goes on although its step is not settled"
	SleepsAtWrite    Fault = "process sleeps before a write"
	CancelledAtWrite Fault = "run cancelled between a read and a write"
	RedrivenUnder    Fault = "run blocked and redriven under a worker"
	ManyTimes        Fault = "worker fails again and again"
)

// anywhere are the faults that are no window.
var anywhere = []Fault{
	CrashBeforeWrite, CrashAfterWrite, CrashAtRead, CrashAtEngine, StoreThrottled, StoreLost, StoreNotDone, TokenLost, EngineSlow, NewProcess, Takeover,
	HandlerFails, CallRefused, CallLost, AnswerLost, StepAgain, Aborted, SecondDecider, OtherPayload, EngineLies, SleepsAtWrite, CancelledAtWrite, RedrivenUnder, ManyTimes,
}

// faults are all that a seed may aim at.
func faults() []Fault {
	out := slices.Clone(anywhere)
	for _, w := range Windows {
		if w.Forced {
			out = append(out, w.Name)
		}
	}
	return out
}

// plan is what goes wrong in a seed: how much, and what it aims at.
type plan struct {
	random *rand.Rand
	// left is how many faults may still fall.
	left int
	// aims are drawn often, everything else seldom.
	aims []Fault
	// own are aims that fall once more when nothing else may any more.
	own []Fault
	// dropped are faults, counted from 0 in the order in which they fell, that do
	// not fall: how a failing seed is made smaller.
	dropped map[int]bool
	fell    int
}

// newPlan draws a plan.
func newPlan(random *rand.Rand) *plan {
	p := &plan{random: random, dropped: map[int]bool{}}
	if random.IntN(10) > 0 { // one seed in ten has only its interleaving
		p.left = 1 + random.IntN(10)
	}
	all := faults()
	for range 3 {
		p.aims = append(p.aims, all[random.IntN(len(all))])
	}
	return p
}

// aimAt lets every second seed of a scenario aim at what only it can show.
func (p *plan) aimAt(more []Fault) {
	for _, f := range more {
		if p.random.IntN(2) == 0 {
			p.aims = append(p.aims, f)
			p.own = append(p.own, f)
		}
	}
}

// draw tells whether a fault falls now: one time in so many where the seed does
// not aim at it. Every occasion takes one number, so that a fault that is
// dropped changes nothing before it.
func (s *Sim) draw(f Fault, oneIn int) bool {
	p := s.plan
	if s.resting || p.left <= 0 && !slices.Contains(p.own, f) {
		return false
	}
	if slices.Contains(p.aims, f) {
		oneIn = min(oneIn, 4)
	} else {
		oneIn *= 3
	}
	if p.random.IntN(oneIn) != 0 {
		return false
	}
	if p.left--; p.left < 0 {
		p.own = slices.DeleteFunc(p.own, func(o Fault) bool { return o == f })
	}
	p.fell++
	if p.dropped[p.fell-1] {
		return false
	}
	s.Fell[f]++
	s.logFault(f)
	return true
}

// Window is one place of the protocol at which things may die between two
// writes, as PROTOCOL names it.
type Window struct {
	Name Fault
	// Forced: a fault of this name makes it happen; else it is only seen.
	Forced bool
	// How says what the simulation does there, or when it counts as seen.
	How string
}

// Windows are those of the protocol, in its order.
var Windows = []Window{
	{"trigger received / run created", true, "the start dies before the write that creates the run"},
	{"run created / execution started", true, "the start dies after that write"},
	{"started / answer lost", true, "the start dies after the engine has taken the execution"},
	{"execution running / run still new", true, "the start dies before it notes that the run is in progress"},
	{"message delivered twice", true, "a message is given to two workers"},
	{"message sent twice", true, "a state's message is sent again"},
	{"message waits longer than any clock", true, "a message is hidden for hours"},
	{"received / admit", true, "the worker dies before it calls"},
	{"admit committed / answer lost", true, "the gate dies after the claim; the worker calls again"},
	{"a late copy of a gate call", true, "a call is carried out once more, minutes later"},
	{"admit / handler dies", true, "the worker dies while it works"},
	{"owner paused past its lease begins", true, "the worker sleeps before it begins its action"},
	{"owner paused past its lease settles", true, "the worker sleeps before it hands over"},
	{"begin / call", true, "the worker dies before the call"},
	{"inside the call", true, "the worker dies while the provider works: done or not"},
	{"call / done", true, "the worker dies after the call"},
	{"output written / settle", true, "the gate dies before the write that settles"},
	{"settle committed / answer lost", true, "the gate dies after it, the token completed"},
	{"settle committed / token not completed", true, "the gate dies after it, the token not completed"},
	{"token completed / message not deleted", true, "the worker dies before it acknowledges"},
	{"settled / answer lost with no retry left", true, "the state times out although its step is settled"},
	{"timed out, new token, old worker alive", true, "the state times out while a worker has its message"},
	{"rule ran, old worker settles", false, "an attempt hands over work of a step that a rule has settled"},
	{"rule of an older generation arrives late", true, "a coordinator's state is carried out again, minutes later"},
	{"dead-lettered before admit", true, "every worker that gets a message dies"},
	{"decision / token not registered yet", true, "a request is decided before its token is there"},
	{"registration delayed past a redrive", true, "a registration is carried out late, as of an older generation"},
	{"decision / token not completed", true, "the decider's process dies after the decision"},
	{"expiry and decision in one second", true, "somebody decides when the request expires"},
	{"approval edited", false, "what is approved is not what was asked"},
	{"halt decided / execution still running", true, "the process dies after the write that blocks the run"},
	{"finish committed / answer lost", true, "the process dies after the write that completes the run"},
	{"execution ended, event lost", false, "an execution ends and its run does not"},
	{"cancelling / execution not stopped", true, "the process dies after the mark, before the engine is told"},
	{"generation raised / new execution not started", true, "the process dies between the two"},
	{"child started / parent's state retried", true, "a sub-loop's start dies after its write and is made again"},
	{"begin on a run cancelled a moment ago", true, "somebody cancels the run while a worker is about to begin"},
	{"run closed / what follows not done", true, "the process dies after the write that closes a run, before its slot, its children and its requests are seen to"},
	{"rollback created / first undo not handed over", true, "the process dies between the two"},
}

// window draws the fault of a window.
func (s *Sim) window(name Fault) bool { return s.draw(name, 12) }

// saw counts a window that came about by itself.
func (s *Sim) saw(name Fault) { s.Seen[name]++ }
