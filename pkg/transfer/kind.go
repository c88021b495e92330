package transfer

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// The kinds of records, by what their partition begins with.
const (
	kindRun       = "RUN"
	kindAction    = "ACT"
	kindApproval  = "APPROVAL"
	kindException = "EXC"
	kindLoop      = record.LoopsPart
	kindQuota     = "QUOTA"
	kindFact      = "FACT"
	kindEvent     = "EVENT"
	kindTold      = "TOLD"
	kindWaiter    = "WAITER"
	kindDay       = "DAY"
	kindDef       = "DEF"
	kindSchedule  = "SCHEDULE"
	kindPurse     = "PURSE"
	kindMonitor   = "MONITOR"
	kindTrust     = "TRUST"
	kindProposal  = "PROPOSAL"
	kindModel     = "MODEL"
	kindAlert     = "ALERT" // what is still to be sent, and what is quiet
	kindDigest    = "DIGEST"
)

// carried are the kinds that a file holds.
var carried = map[string]bool{
	kindRun: true, kindAction: true, kindApproval: true, kindException: true, kindLoop: true, kindQuota: true,
	kindFact: true, kindEvent: true, kindTold: true, kindWaiter: true, kindDay: true, kindDef: true, kindSchedule: true,
	kindPurse: true, kindMonitor: true, kindTrust: true, kindProposal: true, kindModel: true,
	kindAlert: true, kindDigest: true,
}

// left are the kinds that belong to an engine (the beat of its watch, too), a
// place (that its alerts arrive), a moment or a store.
var left = map[string]bool{
	"LEASE": true, "RATE": true, "BREAKER": true, "WATCH": true, "ALERTPROOF": true, "EXEC": true, "QUEUE": true, "MACHINE": true, sealPart: true, importKind: true,
}

func kindOf(part string) string {
	kind, _, _ := strings.Cut(part, "#")
	return kind
}

// isRun tells whether an item is a run's own record.
func isRun(key store.Key) bool { return kindOf(key.Part) == kindRun && key.Sort == "RUN" }

func (c *Counts) add(item store.Item) {
	c.Items++
	switch kindOf(item.Part) {
	case kindRun:
		if isRun(item.Key) {
			c.Runs++
			c.Open += int(item.Numbers[record.RunOpen])
		}
	case kindAction:
		c.Actions++
		if a, err := record.DecodeAction(&item); err == nil && a.State == record.ActionExecuting {
			c.Executing++
		}
	case kindApproval, kindException:
		if item.List != nil && (item.List.Part == record.ApprovalsOpen || item.List.Part == record.ExceptionsOpen) {
			c.Waiting++
		}
	}
}

// portable is an item without what must not leave its engine: task tokens and
// the hash of a machine.
func portable(item store.Item) (store.Item, error) {
	switch kindOf(item.Part) {
	case kindRun:
		if !strings.HasPrefix(item.Sort, record.ChildPrefix) {
			return item, nil
		}
		child, err := record.DecodeChild(&item)
		if err != nil || child.Token == "" {
			return item, err
		}
		child.Token = ""
		return child.Put().Item, nil
	case kindApproval:
		ap, err := record.DecodeApproval(&item)
		if err != nil || ap.Token == "" {
			return item, err
		}
		ap.Token = ""
		return ap.Put().Item, nil
	case kindException:
		exc, err := record.DecodeException(&item)
		if err != nil || exc.Token == "" {
			return item, err
		}
		exc.Token = ""
		return exc.Put().Item, nil
	case kindWaiter:
		w, err := record.DecodeWaiter(&item)
		if err != nil || w.Token == "" {
			return item, err
		}
		w.Token = ""
		return w.Put().Item, nil
	case kindDef:
		var def map[string]json.RawMessage
		if err := json.Unmarshal(item.Body, &def); err != nil {
			return item, fmt.Errorf("reading %s: %w", item.Part, err)
		}
		delete(def, "machine")
		var err error
		item.Body, err = json.Marshal(def)
		return item, err
	}
	return item, nil
}

// name says for people what an item is.
func name(key store.Key) string {
	kind, id, _ := strings.Cut(key.Part, "#")
	switch kind {
	case kindRun:
		return "run " + id
	case kindAction:
		return "action " + strings.Replace(id, "#", "/", 1)
	case kindApproval:
		return "approval " + id
	case kindException:
		return "exception " + id
	case kindLoop:
		return "loop " + key.Sort
	case kindFact:
		return "fact " + id
	case kindEvent, kindTold:
		return "event " + id + " " + key.Sort
	case kindWaiter:
		return "wait for event " + id + " of " + key.Sort
	case kindPurse:
		return "budget " + id
	case kindMonitor:
		return "monitor " + key.Sort + " of " + id
	case kindDay:
		return "figures of " + id + " for " + key.Sort
	case kindDef:
		return "definition " + id
	}
	return key.Part + "/" + key.Sort
}
