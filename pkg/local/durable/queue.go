package durable

import (
	"context"
	"crypto/md5" //nolint:gosec // SQS answers it; it protects nothing
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/asl"
	"github.com/outerloop-dev/outerloop/pkg/store"
)

const (
	partQueue  = "QUEUE#"
	partDead   = "DEAD#"
	partFlight = "FLIGHT"
	receives   = "receives"
	// readyLimit is how many messages of a queue are kept in memory.
	readyLimit = 256
)

// Message is one delivery of a message: received, invisible to other
// receivers until its visibility ends.
type Message struct {
	Queue string
	ID    string
	Body  json.RawMessage
	// Receives counts this delivery and those before.
	Receives int64
	// Execution and Task are who sent it.
	Execution string
	Task      asl.TaskID
}

// message is a message that was sent just now.
type message struct {
	queue string
	item  store.Item
}

// queue is what is known of a queue in memory; the messages are in the store.
type queue struct {
	name string
	// ready are visible messages, oldest first; more: the store has others.
	ready []store.Item
	more  bool
	// flight are the received ones, by id.
	flight map[string]*flight
	// next is when an invisible message becomes visible; zero: not known to.
	next time.Time
}

// flight is a received message: until its visibility ends.
type flight struct {
	until time.Time
	gone  bool // answered: the message is not in the store any more
}

func (c *Core) queue(name string) *queue {
	q := c.queues[name]
	if q == nil {
		q = &queue{name: name, more: true, flight: make(map[string]*flight)}
		c.queues[name] = q
	}
	return q
}

func messageID(execution string, task asl.TaskID) string {
	return fmt.Sprintf("%s/%d", execution, task)
}

func messageKey(queue, id string) store.Key { return store.Key{Part: partQueue + queue, Sort: id} }

// queueOf is the queue's name: the last part of QueueUrl.
func queueOf(input json.RawMessage) string {
	var request struct{ QueueUrl string }
	_ = json.Unmarshal(input, &request) // a request without a URL goes to the queue ""
	if request.QueueUrl == "" {
		return "-"
	}
	return request.QueueUrl[strings.LastIndexByte(request.QueueUrl, '/')+1:]
}

// send puts a task's message into its queue.
func (ch *change) send(task asl.ScheduleTask) {
	var request struct {
		MessageBody  json.RawMessage
		DelaySeconds int
	}
	_ = json.Unmarshal(task.Input, &request) // checked by MessageBody below
	body := request.MessageBody
	if len(body) == 0 {
		ch.fail(task.Task, "SQS.SdkClientException", "The request has no MessageBody.")
		return
	}
	if text := ""; json.Unmarshal(body, &text) == nil {
		body = json.RawMessage(text)
	}
	queue := queueOf(task.Input)
	id := messageID(ch.ex.Name, task.Task)
	visible := ch.now.Add(time.Duration(request.DelaySeconds) * time.Second)
	item := store.Item{
		Key: messageKey(queue, id), Version: 1, Body: body, Numbers: map[string]int64{receives: 0},
		Due: &store.IndexKey{Part: partQueue + queue, Sort: dueKey(visible, id)},
	}
	ch.before = append(ch.before, store.Create(item))
	ch.messages = append(ch.messages, message{queue: queue, item: item})
	sum := md5.Sum(body) //nolint:gosec // as above
	answer := map[string]any{"MD5OfMessageBody": hex.EncodeToString(sum[:]), "MessageId": id}
	if task.Resource.Pattern == asl.WaitForTaskToken {
		ch.ex.sent[task.Task] = queue
		ch.submit(task.Task, answer)
		return
	}
	ch.answer(task.Task, answer)
}

// offer makes a sent message receivable.
func (q *queue) offer(m message) {
	if q.more || len(q.ready) >= readyLimit {
		q.more = true
		return
	}
	q.ready = append(q.ready, m.item)
}

// gone notes that a message was answered.
func (q *queue) gone(id string) {
	if f := q.flight[id]; f != nil {
		f.gone = true
		return
	}
	for i, item := range q.ready {
		if item.Sort == id {
			q.ready = append(q.ready[:i:i], q.ready[i+1:]...)
			return
		}
	}
}

// Receive takes the oldest visible message of a queue, for the given time; nil
// if there is none. A message that was received too often goes to the
// dead-letter queue instead. That a message is in flight is in the store, so
// that the next process finds it (InFlight); until when is not: that process
// receives it at once.
func (c *Core) Receive(ctx context.Context, name string, visibility time.Duration) (*Message, error) {
	unlock, err := c.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	m, err := c.receive(ctx, name, visibility)
	if err != nil {
		return nil, err
	}
	return m, c.work(ctx)
}

func (c *Core) receive(ctx context.Context, name string, visibility time.Duration) (*Message, error) {
	q, now := c.queue(name), c.cfg.Clock()
	for {
		item, err := c.pick(ctx, q, now)
		if err != nil || item == nil {
			return nil, err
		}
		m := received(name, item)
		if m.Receives > c.cfg.MaxReceive {
			item.Due = &store.IndexKey{Part: partDead + name, Sort: dueKey(now, item.Sort)}
			item.List, item.Body = nil, withoutToken(item.Body)
		} else {
			item.Numbers = map[string]int64{receives: m.Receives}
			item.List = &store.IndexKey{Part: partFlight, Sort: item.Part + "/" + item.Sort}
		}
		if err := c.apply(ctx, store.Replace(*item)); err != nil {
			if c.broken != nil {
				return nil, fmt.Errorf("receiving from %s: %w", name, err)
			}
			continue // it is not there any more
		}
		if m.Receives <= c.cfg.MaxReceive {
			q.flight[item.Sort] = &flight{until: now.Add(visibility)}
			return m, nil
		}
		if c.cfg.DeadLetter != "" && m.Execution != "" {
			c.jobs = append(c.jobs, job{kind: failDead, name: m.Execution, task: m.Task})
		}
	}
}

// InFlight lists the messages that somebody had received when the store was
// last closed, or crashed. Call it before the first Receive.
func (c *Core) InFlight(ctx context.Context) ([]Message, error) {
	var found []Message
	query := store.Query{Index: store.ByList, Part: partFlight, Limit: 1000}
	for {
		page, err := c.cfg.Store.List(ctx, query)
		if err != nil {
			return nil, fmt.Errorf("reading messages in flight: %w", err)
		}
		for _, item := range page.Items {
			m := received(strings.TrimPrefix(item.Part, partQueue), &item)
			m.Receives--
			found = append(found, *m)
		}
		if query.After = page.Next; query.After == "" {
			return found, nil
		}
	}
}

func received(queue string, item *store.Item) *Message {
	m := &Message{Queue: queue, ID: item.Sort, Body: item.Body, Receives: item.Numbers[receives] + 1}
	if i := strings.LastIndexByte(item.Sort, '/'); i > 0 {
		m.Execution = item.Sort[:i]
		_, _ = fmt.Sscan(item.Sort[i+1:], &m.Task)
	}
	return m
}

// pick finds the next receivable message.
func (c *Core) pick(ctx context.Context, q *queue, now time.Time) (*store.Item, error) {
	q.expire(now)
	if len(q.ready) == 0 && q.more {
		if err := c.refill(ctx, q, now); err != nil {
			return nil, err
		}
	}
	if len(q.ready) == 0 {
		return nil, nil
	}
	item := q.ready[0]
	q.ready = q.ready[1:]
	return &item, nil
}

// expire makes visible what is due: messages in flight for too long, and
// delayed ones. It tells whether there were any.
func (q *queue) expire(now time.Time) (any bool) {
	for id, f := range q.flight {
		if !f.until.After(now) {
			delete(q.flight, id)
			any = any || !f.gone
		}
	}
	if !q.next.IsZero() && !q.next.After(now) {
		any, q.next = true, time.Time{}
	}
	q.more = q.more || any
	return any
}

// refill reads visible messages that are not in flight.
func (c *Core) refill(ctx context.Context, q *queue, now time.Time) error {
	query := store.Query{Index: store.ByDue, Part: partQueue + q.name, To: store.TimeKey(now.Add(time.Millisecond)), Limit: readyLimit}
	for {
		page, err := c.cfg.Store.List(context.WithoutCancel(ctx), query)
		if err != nil {
			return fmt.Errorf("reading queue %s: %w", q.name, err)
		}
		for _, item := range page.Items {
			if q.flight[item.Sort] == nil {
				q.ready = append(q.ready, item)
			}
		}
		query.After = page.Next
		if page.Next == "" || len(q.ready) >= readyLimit {
			break
		}
	}
	if query.After != "" {
		return nil
	}
	q.more = false
	later := store.Query{Index: store.ByDue, Part: partQueue + q.name, From: query.To, Limit: 1}
	page, err := c.cfg.Store.List(context.WithoutCancel(ctx), later)
	if err != nil {
		return fmt.Errorf("reading queue %s: %w", q.name, err)
	}
	if len(page.Items) > 0 {
		q.note(page.Items[0].Due)
	}
	return nil
}

// note remembers when a message becomes visible.
func (q *queue) note(due *store.IndexKey) {
	if at := dueTime(due); q.next.IsZero() || at.Before(q.next) {
		q.next = at
	}
}

// Delete acknowledges a message: it is answered, or not worth repeating.
func (c *Core) Delete(ctx context.Context, m *Message) error {
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	q := c.queue(m.Queue)
	f := q.flight[m.ID]
	delete(q.flight, m.ID)
	if f != nil && f.gone {
		return nil
	}
	return c.drop(ctx, m)
}

// drop removes a message; it may have gone already.
func (c *Core) drop(ctx context.Context, m *Message) error {
	err := c.apply(ctx, store.Remove(messageKey(m.Queue, m.ID), 0))
	if c.broken == nil {
		return nil
	}
	return err
}

// Bury removes a message that nobody can answer, from its queue or from its
// dead letters. The task that still waits for its answer fails by the error.
func (c *Core) Bury(ctx context.Context, m *Message, errorName, cause string) error {
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if m.Execution != "" {
		err := c.change(ctx, m.Execution, func(ch *change) error {
			return ch.apply(asl.Event{Kind: asl.TaskFailed, Task: m.Task, Error: &errorName, Cause: &cause})
		})
		if err != nil && !refused(err) && !isAbsent(err) {
			return fmt.Errorf("burying message %s: %w", m.ID, err)
		}
	}
	delete(c.queue(m.Queue).flight, m.ID)
	if err := c.drop(ctx, m); err != nil {
		return fmt.Errorf("burying message %s: %w", m.ID, err)
	}
	return c.work(ctx)
}

// Extend keeps a message invisible until a time from now on; it stays received.
func (c *Core) Extend(m *Message, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.queue(m.Queue).flight[m.ID]; f != nil {
		f.until = until
	}
}

// Return gives a message back that nobody answered: it is visible again at a
// time, also after a restart.
func (c *Core) Return(ctx context.Context, m *Message, visible time.Time) error {
	return c.giveBack(ctx, m, visible, m.Receives)
}

// Postpone gives a message back whose receiver asked for it again later. Unlike
// on SQS this receive does not count, however often it is postponed.
func (c *Core) Postpone(ctx context.Context, m *Message, visible time.Time) error {
	return c.giveBack(ctx, m, visible, m.Receives-1)
}

func (c *Core) giveBack(ctx context.Context, m *Message, visible time.Time, count int64) error {
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	q := c.queue(m.Queue)
	f := q.flight[m.ID]
	delete(q.flight, m.ID)
	if f != nil && f.gone {
		return nil
	}
	item, err := c.get(ctx, messageKey(m.Queue, m.ID))
	if err != nil || item == nil {
		return err
	}
	item.Due = &store.IndexKey{Part: partQueue + m.Queue, Sort: dueKey(visible, m.ID)}
	item.List, item.Numbers = nil, map[string]int64{receives: count}
	if err := c.apply(ctx, store.Replace(*item)); err != nil {
		return fmt.Errorf("returning message %s: %w", m.ID, err)
	}
	q.note(item.Due)
	return nil
}

// withoutToken takes the credential out of a message that is kept for people.
func withoutToken(body []byte) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || fields["token"] == nil {
		return body
	}
	delete(fields, "token")
	return encode(fields)
}

// failDead fails the task of a message that went to the dead-letter queue.
func (c *Core) failDead(ctx context.Context, name string, task asl.TaskID) error {
	cause := fmt.Sprintf("The message was received %d times and never answered.", c.cfg.MaxReceive)
	err := c.change(ctx, name, func(ch *change) error {
		delete(ch.ex.sent, task) // the message stays where it is
		return ch.apply(asl.Event{Kind: asl.TaskFailed, Task: task, Error: &c.cfg.DeadLetter, Cause: &cause})
	})
	if refused(err) || isAbsent(err) {
		return nil
	}
	return err
}

// Dead lists messages of a queue's dead-letter queue, oldest first, at most limit.
func (c *Core) Dead(ctx context.Context, name string, limit int) ([]Message, error) {
	page, err := c.cfg.Store.List(ctx, store.Query{Index: store.ByDue, Part: partDead + name, Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("reading dead-letter queue of %s: %w", name, err)
	}
	dead := make([]Message, 0, len(page.Items))
	for _, item := range page.Items {
		m := received(name, &item)
		m.Receives--
		dead = append(dead, *m)
	}
	return dead, nil
}
