package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

// The names under which the engine shows things; account and region are not real.
const (
	arnPrefix = "arn:aws:states:local:000000000000:"
	roleARN   = "arn:aws:iam::000000000000:role/outerloop-local"
)

// MachineARN is a machine's ARN.
func MachineARN(machine string) string { return arnPrefix + "stateMachine:" + machine }

// ExecutionARN is an execution's ARN.
func ExecutionARN(machine, execution string) string {
	return arnPrefix + "execution:" + machine + ":" + execution
}

// StartRequest starts an execution. Names are unique over all machines here.
type StartRequest struct {
	Name string
	// Machine is the hash of a published definition.
	Machine string
	// MachineName is shown in ARNs and the context object.
	MachineName string
	Input       json.RawMessage
}

// Start starts an execution. The same name with the same machine and input is
// one execution while it runs and is no error; answers whether this call
// started it. Errors: ErrName, ErrExists, ErrNoMachine, ErrTooLarge, ErrOutput
// (input that is not JSON).
func (c *Core) Start(ctx context.Context, req StartRequest) (started bool, err error) {
	if !ValidName(req.Name) {
		return false, fmt.Errorf("%w: %q", ErrName, req.Name)
	}
	input := orObject(req.Input)
	if len(input) > asl.MaxPayload {
		return false, fmt.Errorf("%w: input of %d bytes, at most %d", ErrTooLarge, len(input), asl.MaxPayload)
	}
	if !json.Valid(input) {
		return false, fmt.Errorf("%w: input is not JSON", ErrOutput)
	}
	unlock, err := c.lock()
	if err != nil {
		return false, err
	}
	defer unlock()
	r := &record{
		Name: req.Name, Machine: req.Machine, MachineName: req.MachineName,
		Created: c.cfg.Clock(), InputHash: hashOf(input), Input: input,
	}
	if there, err := c.started(ctx, r); err != nil || there {
		return false, err
	}
	if _, err := c.machine(ctx, req.Machine); err != nil {
		return false, err
	}
	ex := &execution{record: r}
	c.cache.put(ex)
	if err := c.beginExecution(ctx, ex); err != nil {
		c.cache.drop(r.Name)
		return false, err
	}
	return true, c.work(ctx)
}

// started tells whether this very execution runs already.
func (c *Core) started(ctx context.Context, r *record) (bool, error) {
	ex, err := c.load(ctx, r.Name)
	if isAbsent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	same := ex.InputHash == r.InputHash && ex.MachineName == r.MachineName && sameParent(ex.Parent, r.Parent)
	if same && ex.Status.Ended() {
		return false, fmt.Errorf("%w: %w: %s", ErrExists, ErrEnded, r.Name)
	}
	if !same {
		return false, fmt.Errorf("%w: %s", ErrExists, r.Name)
	}
	return true, nil
}

func sameParent(a, b *parent) bool { return a == b || a != nil && b != nil && *a == *b }

// Stop aborts an execution (StopExecution); nil: no error or cause is given.
// One that has ended is no error. Error: ErrAbsent.
func (c *Core) Stop(ctx context.Context, name string, errorName, cause *string) error {
	err := c.on(ctx, name, func(ch *change) error {
		return ch.apply(asl.Event{Kind: asl.Stop, Error: errorName, Cause: cause})
	})
	if refused(err) {
		return nil
	}
	return err
}

// ValidName tells whether Step Functions takes a name: 1 to 80 characters, no
// white space, brackets, wildcards, special or control characters.
func ValidName(name string) bool {
	if name == "" || utf8.RuneCountInString(name) > asl.MaxName || !utf8.ValidString(name) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("<>{}[]?*\"#%\\^|~`$&,;:/", r)
	})
}

// Publish keeps a definition under its hash. It checks it and that every
// resource has an executor. Errors: *asl.DefinitionError, ErrResource.
func (c *Core) Publish(ctx context.Context, definition []byte) (hash string, err error) {
	machine, err := Load(definition)
	if err != nil {
		return "", err
	}
	unlock, err := c.lock()
	if err != nil {
		return "", err
	}
	defer unlock()
	hash = hashOf(definition)
	c.machines[hash] = machine
	key := machineKey(hash)
	if item, err := c.get(ctx, key); err != nil || item != nil {
		return hash, err
	}
	ref, err := c.cfg.Blobs.PutBlob(context.WithoutCancel(ctx), definition)
	if err != nil {
		return "", fmt.Errorf("keeping machine %s: %w", hash, err)
	}
	if err := c.apply(ctx, store.Create(store.Item{Key: key, Body: []byte(ref)})); err != nil {
		return "", fmt.Errorf("keeping machine %s: %w", hash, err)
	}
	return hash, nil
}

// ErrResource says that a definition names a resource without an executor.
var ErrResource = errors.New("resource has no executor")

// Load checks a definition for this engine.
func Load(definition []byte) (*asl.Machine, error) {
	machine, err := asl.Load(definition)
	if err != nil {
		return nil, err
	}
	var missing []error
	for _, r := range machine.Resources() {
		if !Executable(r) {
			missing = append(missing, fmt.Errorf("%w: %s", ErrResource, r.ARN))
		}
	}
	return machine, errors.Join(missing...)
}

// Name gives a published machine a name, which it takes from another machine if
// need be: executions that start by it run this one from now on.
func (c *Core) Name(ctx context.Context, machine, hash string) error {
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	item, err := c.get(ctx, nameKey(machine))
	if err != nil {
		return fmt.Errorf("naming machine %s: %w", machine, err)
	}
	have := Registered{Name: machine, Hash: hash, Created: c.cfg.Clock().UTC()}
	op := store.Create(store.Item{Key: nameKey(machine), Body: encode(have)})
	if item != nil {
		if err := json.Unmarshal(item.Body, &have); err != nil {
			return fmt.Errorf("naming machine %s: %w", machine, err)
		}
		if have.Hash == hash {
			return nil
		}
		have.Hash = hash
		op = store.Replace(store.Item{Key: nameKey(machine), Version: item.Version, Body: encode(have)})
	}
	if err := c.apply(ctx, op); err != nil {
		return fmt.Errorf("naming machine %s: %w", machine, err)
	}
	return nil
}

// Register gives a published machine a name that no other machine has. A name
// that has one is ErrExists.
func (c *Core) Register(ctx context.Context, machine, hash string) (Registered, error) {
	unlock, err := c.lock()
	if err != nil {
		return Registered{}, err
	}
	defer unlock()
	have, ok, err := Reader{c.cfg.Store}.Registered(ctx, machine)
	if err != nil {
		return Registered{}, err
	}
	if ok && have.Hash != hash {
		return have, fmt.Errorf("%w: machine %s", ErrExists, machine)
	}
	if ok {
		return have, nil
	}
	have = Registered{Name: machine, Hash: hash, Created: c.cfg.Clock().UTC()}
	if err := c.apply(ctx, store.Create(store.Item{Key: nameKey(machine), Body: encode(have)})); err != nil {
		return have, fmt.Errorf("registering machine %s: %w", machine, err)
	}
	return have, nil
}

// machine reads a published machine.
func (c *Core) machine(ctx context.Context, hash string) (*asl.Machine, error) {
	if m := c.machines[hash]; m != nil {
		return m, nil
	}
	definition, err := Reader{c.cfg.Store}.Definition(context.WithoutCancel(ctx), c.cfg.Blobs, hash)
	if err != nil {
		return nil, err
	}
	m, err := Load(definition)
	if err != nil {
		return nil, fmt.Errorf("reading machine %s: %w", hash, err)
	}
	c.machines[hash] = m
	return m, nil
}

// Recover finds what was under way when the store was last used: calls that
// were not answered are to be made again, children begin, parents are told. It
// reads only hot rows.
func (c *Core) Recover(ctx context.Context) error {
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	query := store.Query{Index: store.ByDue, Part: partHot, Limit: 1000}
	for {
		page, err := c.cfg.Store.List(ctx, query)
		if err != nil {
			return fmt.Errorf("reading open work: %w", err)
		}
		for _, item := range page.Items {
			if err := c.recover(ctx, splitDue(item.Due.Sort)); err != nil {
				return fmt.Errorf("recovering %s: %w", splitDue(item.Due.Sort), err)
			}
		}
		if page.Next == "" {
			return c.work(ctx)
		}
		query.After = page.Next
	}
}

// recover puts the open work of one hot execution in line.
func (c *Core) recover(ctx context.Context, name string) error {
	ex, err := c.load(ctx, name)
	if err != nil {
		return err
	}
	switch {
	case !ex.begun():
		c.jobs = append(c.jobs, job{kind: beginChild, name: name})
		return nil
	case ex.Tell:
		c.jobs = append(c.jobs, job{kind: tellParent, name: name})
		return nil
	case len(ex.Stop) > 0:
		c.jobs = append(c.jobs, job{kind: stopChildren, name: name})
	}
	for _, effect := range ex.x.Open() {
		if task, ok := effect.(asl.ScheduleTask); ok && ex.calls[task.Task] {
			c.calls = append(c.calls, newCall(name, task))
		}
	}
	c.timers.set(ex)
	return nil
}

// Quiet tells whether no call is in line and no time has come; what is in
// flight outside the core is not counted.
func (c *Core) Quiet(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	hot, ok := c.timers.first()
	return len(c.calls) == 0 && len(c.jobs) == 0 && (!ok || hot.at.After(now))
}
