package sim

import (
	"bytes"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// windowBefore draws the windows that lie before a write.
func (s *Sim) windowBefore(ops []store.Op) bool {
	switch op := s.cur.op; {
	case op == "start" && createsRun(ops):
		return s.window("trigger received / run created")
	case op == "start" && runBecomes(ops, `"status":"in_progress"`):
		return s.window("execution running / run still new")
	case op == "settle":
		return s.window("output written / settle")
	}
	return false
}

// windowAfter draws the windows that lie after a write that was done.
func (s *Sim) windowAfter(ops []store.Op) bool {
	run := writtenRun(ops)
	switch op := s.cur.op; {
	case op == "start" && createsRun(ops):
		return s.window("run created / execution started")
	case op == "admit" && replacesStep(ops, `"state":"running"`):
		return s.window("admit committed / answer lost")
	case op == "settle" && replacesStep(ops, `"last_nonce"`) && s.window("settle committed / token not completed"):
		return true
	case op == "decide" && len(ops) > 1:
		return s.window("decision / token not completed")
	case op == "start_child" && createsRun(ops):
		return s.window("child started / parent's state retried")
	case op == "rollback" && createsRun(ops):
		return s.window("rollback created / first undo not handed over")
	case op == "cancel" && run != nil && run.Numbers[record.RunCancelling] == 1:
		return s.window("cancelling / execution not stopped")
	case run != nil && bytes.Contains(run.Body, []byte(`"status":"blocked"`)):
		return s.window("halt decided / execution still running")
	case op == "finish" && run != nil && run.Numbers[record.RunClosed] == 1:
		return s.window("finish committed / answer lost")
	case run != nil && run.Numbers[record.RunClosed] == 1:
		return s.window("run closed / what follows not done")
	case (op == "redrive" || op == "resolve") && run != nil:
		return s.window("generation raised / new execution not started")
	}
	return false
}

func writtenRun(ops []store.Op) *store.Item {
	for i := range ops {
		if ops[i].Kind == store.KindReplace && ops[i].Item.Sort == "RUN" {
			return &ops[i].Item
		}
	}
	return nil
}

func runBecomes(ops []store.Op, text string) bool {
	run := writtenRun(ops)
	return run != nil && bytes.Contains(run.Body, []byte(text))
}

func replacesStep(ops []store.Op, text string) bool {
	for i := range ops {
		if strings.HasPrefix(ops[i].Item.Sort, "STEP#") && bytes.Contains(ops[i].Item.Body, []byte(text)) {
			return true
		}
	}
	return false
}
