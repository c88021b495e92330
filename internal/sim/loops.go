package sim

import "strings"

// head begins a loop; changes are pairs of an old and a new text in it.
func head(name string, changes ...string) string {
	return strings.NewReplacer(append(changes, "NAME", name)...).Replace(`
loop: NAME
version: 1
owner: ops
objective: A simulated loop.
subject: ${input.key}
overlap: allow
input: {type: object, properties: {key: {type: string}, n: {type: integer}, ask: {type: boolean}}, required: [key], additionalProperties: false}
budget: {cost: 1.00 USD, deadline: 23h, approvals: 20, otherwise: ask}
defaults:
  on_failure: {retry: {timeout: 1, transient: 2, invalid_output: 1}, then: skip}
  approval: {approvers: [leads], within: 4h, expired: skip, rejected: skip}
`)
}

// loops are written by hand, each for what it is named after.
var loops = map[string]string{
	"plain": head("plain") + `
steps:
  first: {worker: writer, input: {text: "${input.key}"}, on_failure: {retry: {transient: 3, timeout: 3}, then: halt}}
  second: {worker: board, input: {n: 1}, after: [first], on_failure: {retry: {transient: 2}, then: skip}}
output: {text: "${first.text}"}
`,
	"acts": head("acts") + `
steps:
  send:
    worker: sender
    action: send
    resource: contact/x
    input: {text: "${input.key}"}
    approval: {when: "default(input.ask, false)", ask: "Send ${input.key}?"}
    on_failure: {retry: {transient: 3, timeout: 2}, then: halt}
  book:
    worker: ledger
    action: book
    key: ${input.key}/b
    input: {text: "${input.key}"}
    on_failure: {retry: {transient: 1, timeout: 1}, then: ask}
  call:
    worker: caller
    action: call
    key: ${input.key}/c
    resource: contact/x
    input: {text: "${input.key}"}
    on_failure: {retry: {transient: 1, timeout: 1}, then: skip}
output: {id: '${default(send.id, "")}'}
`,
	"items": head("items") + `
steps:
  plan: {worker: lister, input: {n: "${default(input.n, 3)}"}, on_failure: {then: halt}}
  deals:
    each: plan.items
    as: deal
    key: ${deal.id}
    max_items: 50000
    at_once: 2
    join: {need: 90%, otherwise: halt}
    steps:
      draft:
        worker: writer
        input: {text: "to ${deal.id}", n: "${deal.n}"}
        review: {worker: checker, input: {text: "${output.text}"}, pass: verdict.faults.size() == 0, revisions: 2, otherwise: approve}
      send:
        worker: sender
        action: send
        key: ${deal.id}
        resource: contact/${deal.id}
        input: {text: "${draft.text}"}
        approval: {when: "deal.n >= 1 && default(input.ask, false)", ask: "Send to ${deal.id}?"}
    output: {id: "${deal.id}", mail: '${default(send.id, "")}'}
  board: {worker: board, input: {n: "${deals.counts.completed}"}, reads: {state: board/state}, writes: {board/state: "${output}"}, on_failure: {retry: {conflict: 3, transient: 2}, then: {substitute: {n: 0}}}}
output: {n: '${default(board.n, 0)}'}
accept:
  - {rule: "deals.counts.items == deals.counts.items", say: "Counted."}
`,
	"facts": head("facts") + `
steps:
  first: {worker: board, input: {n: 1}, writes: {board/state: "${output}"}}
  second:
    worker: board
    after: [first]
    input: {n: "${facts.state.n + 1}"}
    reads: {state: board/state}
    writes: {board/state: "${output}"}
    on_failure: {retry: {conflict: 3, missing_input: 2, transient: 2}, then: {substitute: {n: 9}}}
output: {n: '${default(second.n, 0)}'}
`,
	"money": head("money", "otherwise: ask", "per_day: 2.20 USD, otherwise: ask") + `
steps:
  one: {worker: poet, input: {text: a}, on_failure: {retry: {transient: 3, timeout: 3}, then: halt}}
  two: {worker: poet, input: {text: b}, on_failure: {retry: {transient: 3, timeout: 3}, then: skip}}
  six: {worker: writer, input: {text: "${one.text}"}}
`,
	"poor": head("poor", "cost: 1.00 USD", "cost: 0.60 USD", "otherwise: ask", "per_day: 1.00 USD, otherwise: halt") + `
steps:
  one: {worker: poet, input: {text: a}, on_failure: {retry: {transient: 3, timeout: 3}, then: ask}}
  two: {worker: poet, input: {text: b}, after: [one], on_failure: {retry: {transient: 3, timeout: 3}, then: {substitute: {text: none}}}}
`,
	"dear": head("dear", "deadline: 23h", "deadline: 30m", "within: 4h", "within: 20m") + `
steps:
  one: {worker: poet, input: {text: a}, on_failure: {retry: {transient: 3, timeout: 3}, then: ask}}
  pick:
    switch:
      - {when: one.n == 1, steps: {yes: {worker: poet, input: {text: b}, on_failure: {retry: {transient: 3}, then: ask}}}, output: {text: "${yes.text}"}}
      - {when: one.n == 2, steps: {no: {worker: writer, input: {text: b}, approval: {ask: "No?"}}}, output: {text: "${no.text}"}}
  two: {worker: poet, after: [one], input: {text: c}, on_failure: {retry: {transient: 3}, then: skip}}
output: {text: '${default(pick.text, "none")}'}
`,
	"agents": head("agents", "cost: 1.00 USD", "cost: 2.00 USD") + `
steps:
  help: {worker: clerk, input: {text: "${input.key}"}, on_failure: {retry: {transient: 3, timeout: 3}, then: ask}}
  more: {worker: clerk, input: {text: b}, approval: {when: output.n == 1, ask: "More?"}, on_failure: {retry: {transient: 3, timeout: 3}, then: skip}}
output: {text: "${help.text}"}
`,
	"inner": head("inner", "cost: 1.00 USD", "cost: 0.50 USD, per_day: 2.00 USD", "deadline: 23h", "deadline: 20h") + `
steps:
  work: {worker: writer, input: {text: "${input.key}"}, on_failure: {retry: {transient: 2}, then: halt}}
  tell: {worker: sender, action: send, key: "${input.key}/t", input: {text: "${work.text}"}, on_failure: {retry: {transient: 2}, then: ask}}
output: {text: "inner ${work.text}"}
`,
	"patterns": head("patterns") + `
steps:
  plan: {worker: writer, input: {text: "${input.key}"}}
  sub: {loop: inner, input: {key: "${plan.text}"}, budget: {cost: 0.20 USD}, on_failure: {then: skip}}
  closed:
    wait: {event: session.closed, match: event.key == input.key, within: 30m}
    after: [plan]
    on_failure: {then: {substitute: {key: late}}}
  reply:
    route:
      - {task: [a], ask: leads}
      - {worker: writer}
    by: {task: closed.key}
    input: {text: "${plan.text}"}
    on_failure: {then: ask}
  sides:
    after: [closed]
    branches:
      fast: {worker: writer, input: {text: fast}}
      asks: {worker: backup, input: {text: asks}, approval: {ask: "Right?"}}
      sub2: {loop: inner, input: {key: other}, budget: {cost: 0.10 USD}, on_failure: {then: ask}}
    join: {need: 1, enough: 2, otherwise: ask}
  last:
    switch:
      - {when: 'closed.key == "late"', steps: {tell: {worker: backup, after: [sides], input: {text: late}}}, output: {text: "${tell.text}"}}
      - {otherwise: true, steps: {rest: {wait: {for: 5m}}, say: {worker: writer, after: [rest], input: {text: in time}}}, output: {text: "${say.text}"}}
output: {sub: '${default(sub.text, "none")}', reply: '${default(reply.text, "none")}'}
`,
	"rooms": head("rooms") + `
steps:
  one: {worker: rooms, action: open, key: "${input.key}/1", input: {text: first, n: 1}}
  two: {worker: rooms, action: open, key: "${input.key}/2", input: {text: second, n: 2}, after: [one]}
  last: {worker: shaky, input: {text: x}, after: [two], on_failure: {then: halt}}
`,
	"skips":    head("skips", "overlap: allow", "overlap: skip\ntriggers:\n  - {schedule: \"cron(0 7 * * ? *)\", input: {key: daily}}") + twoSteps,
	"queues":   head("queues", "overlap: allow", "overlap: queue\nat_once: 2") + twoSteps,
	"replaces": head("replaces", "overlap: allow", "overlap: replace") + twoSteps,
	"breaks": head("breaks") + `
steps:
  one: {worker: shaky, backup: backup, input: {text: a}, on_failure: {retry: {transient: 1}, then: skip}}
  two: {worker: shaky, input: {text: b}, on_failure: {retry: {transient: 4}, then: ask}}
  three: {worker: shaky, backup: backup, input: {text: c}, after: [one], on_failure: {retry: {transient: 2}, then: halt}}
`,
	"rates": head("rates") + `
steps:
  plan: {worker: lister, input: {n: 4}, on_failure: {then: halt}}
  calls:
    each: plan.items
    as: it
    key: ${it.id}
    max_items: 10
    at_once: 4
    join: {need: 1, otherwise: ask}
    steps:
      call: {worker: rated, input: {text: "${it.id}"}, on_failure: {retry: {transient: 2}, then: skip}}
    output: {text: "${call.text}"}
`,
	"asks": head("asks", "within: 4h, expired: skip, rejected: skip", "within: 10m, expired: skip, rejected: skip, people: 2") + `
steps:
  one: {worker: writer, input: {text: one}, approval: {ask: "One?", rejected: revise}}
  two: {worker: writer, input: {text: two}, approval: {ask: "Two?", expired: proceed, rejected: halt, people: 1}}
  three: {worker: sender, action: send, input: {text: "${one.text}"}, approval: {ask: "Three?", expired: halt, people: 1}, on_failure: {retry: {transient: 2}, then: halt}}
  four: {worker: writer, after: [two], input: {text: four}, limits: [{rule: 'output.text == ""', otherwise: approve, say: Nothing may be said.}]}
`,
	"voids": head("voids", "deadline: 23h", "deadline: 45m", "within: 4h", "within: 44m") + `
steps:
  one: {worker: writer, input: {text: one}, approval: {ask: "One?"}}
  two: {worker: sender, action: send, after: [one], input: {text: two}, approval: {ask: "Two?"}, on_failure: {retry: {transient: 2}, then: ask}}
  three: {worker: shaky, input: {text: three}, on_failure: {then: ask}}
`,
	"tells": head("tells") + `
steps:
  first: {worker: board, input: {n: 1}, emit: {event: session.closed, data: {key: "${input.key}", n: "${output.n}"}}}
  second: {worker: board, after: [first], input: {n: 2}, emit: {event: session.closed, data: {key: "${input.key}", n: "${output.n}"}}}
output: {n: "${second.n}"}
`,
	"hears": head("hears", "subject: ${input.key}", "subject: ${input.key}/${default(input.n, 0)}\ntriggers:\n  - event: session.closed\n    when: event.key != \"not me\"\n    input: {key: \"${event.key}\", n: \"${default(event.n, 0)}\"}") + `
steps:
  hear: {worker: writer, input: {text: "${input.key}"}}
output: {heard: "${hear.text}"}
`,
	"follows": head("follows", "subject: ${input.key}", "subject: ${input.key}\ntriggers:\n  - after: tells\n    input: {key: \"${event.subject}\", n: \"${event.output.n}\"}") + `
steps:
  follow: {worker: board, input: {n: "${input.n + 1}"}}
output: {n: "${follow.n}"}
`,
}

const twoSteps = `
steps:
  one: {worker: writer, input: {text: "${input.key}"}}
  two: {worker: sender, action: send, after: [one], input: {text: two}, on_failure: {retry: {transient: 2}, then: ask}}
`
