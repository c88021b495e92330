package record

// Undo is the rollback of a reversible action, recorded beside it before it is
// done (R35): which action of the same worker reverses it, with what.
type Undo struct {
	Action string `json:"action"`
	// Entry is its own entry in the action log, Key the key in it.
	Entry    string `json:"entry"`
	Key      string `json:"key"`
	Resource string `json:"resource,omitempty"`
	// Input is what the worker gets: the input of the action.
	Input Value `json:"input"`
}

// Rollback makes a run one that undoes another's actions, one after the other.
type Rollback struct {
	// Of is the run whose actions are undone.
	Of    string     `json:"of"`
	Steps []UndoStep `json:"steps"`
	// Sent says which delivery was last handed over, SentMs when; Unix milliseconds.
	Sent   string `json:"sent,omitempty"`
	SentMs int64  `json:"sent_at,omitempty"`
}

// UndoStep is one action to be undone.
type UndoStep struct {
	// Path is the step's path in the rollback's run; Undoes is the entry that is reversed.
	Path   string `json:"path"`
	Worker string `json:"worker"`
	Undoes string `json:"undoes"`
	Undo
}

// Undoes is the undo step at an address; nil: the run is no rollback.
func (r *Run) Undoes(a Address) *UndoStep {
	if r.Rollback == nil {
		return nil
	}
	for i := range r.Rollback.Steps {
		if Address(r.Rollback.Steps[i].Path) == a {
			return &r.Rollback.Steps[i]
		}
	}
	return nil
}
