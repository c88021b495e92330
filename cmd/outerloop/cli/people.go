package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator"
)

// writeApprovals prints requests for approval, each with what will happen and
// the command that decides it.
func (a *app) writeApprovals(list []coordinator.ApprovalView) {
	for _, v := range list {
		a.say("%s  %s", a.bold(v.ID), plain(v.Ask))
		a.say("  %s of %s", plain(v.Step), v.Run)
		a.say("  asked %s ago, expires %s", span(a.Now().Sub(v.Since)), a.expiry(v.ExpiresAt))
		for _, reason := range v.Reasons {
			if reason = plain(reason); reason != plain(v.Ask) {
				a.wrap("  ", "because "+reason)
			}
		}
		if len(v.Approvers) > 0 {
			a.say("  asked of %s", strings.Join(v.Approvers, ", "))
		}
		a.writeContent(v.Content)
		a.say("")
	}
	if len(list) > 0 {
		a.say("%s", a.command("approve %s --by %s --reason \"checked\"", list[0].ID, a.someone(list[0].Approvers)))
		a.say("or reject; approve --edit FILE changes the content")
	}
}

func (a *app) expiry(at time.Time) string {
	left := at.Sub(a.Now())
	if left <= 0 {
		return "now"
	}
	return fmt.Sprintf("in %s (%s UTC)", span(left), stamp(&at))
}

// writeContent prints a JSON document field by field; texts of several lines keep their lines.
func (a *app) writeContent(raw json.RawMessage) {
	var fields map[string]any
	if len(raw) == 0 || json.Unmarshal(raw, &fields) != nil {
		if len(raw) > 0 {
			a.say("    %s", plain(string(raw)))
		}
		return
	}
	var long []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if text, ok := fields[name].(string); ok && strings.ContainsRune(text, '\n') {
			long = append(long, name) // after the short ones
			continue
		}
		a.writeField(name, fields[name])
	}
	for _, name := range long {
		a.writeField(name, fields[name])
	}
}

func (a *app) writeField(name string, value any) {
	if list, ok := value.([]any); ok && len(list) > 0 {
		a.say("    %s", a.dim(name))
		for _, item := range list {
			a.wrap("      ", "- "+plain(oneLine(item)))
		}
		return
	}
	text := oneLine(value)
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
	if len(lines) == 1 {
		a.wrap("    ", a.dim(name)+"  "+plain(lines[0]))
		return
	}
	a.say("    %s", a.dim(name))
	for _, line := range lines {
		a.wrap("      ", strings.TrimRight(plainLines(line), " "))
	}
}

// oneLine is a JSON value in words: texts as they are, objects as "name value" pairs.
func oneLine(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, name+": "+oneLine(v[name]))
		}
		return strings.Join(parts, ", ")
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// jsonText is a JSON document without the escapes that only HTML needs.
func jsonText(raw json.RawMessage) string {
	return strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(raw))
}

// writeExceptions prints exceptions so that each is understood in half a minute (R39).
func (a *app) writeExceptions(list []coordinator.ExceptionView) {
	for _, v := range list {
		a.say("%s  %s", a.bold(v.ID), a.red(plain(v.Cause)))
		t := table{}
		row := func(name, text string) {
			if text = plain(text); text != "" {
				t.add("  "+name, text)
			}
		}
		where := v.Run
		switch {
		case v.Step != "":
			where = v.Step + " of " + v.Run
		case v.Run == "":
			where = "queue " + v.Queue
		}
		row("where", where)
		row("detail", v.Detail)
		row("tried", v.Tried)
		row("state", v.State)
		row("action", v.Entry)
		row("needed", v.Needed)
		row("ways", strings.Join(v.Ways, ", "))
		row("owner", v.Owner+", since "+stamp(&v.Since)+" UTC")
		if v.Resolution != "" {
			row("resolved", fmt.Sprintf("%s by %s at %s UTC: %s", v.Resolution, v.By, stamp(v.At), v.Reason))
		}
		wide := *a
		wide.Width = 0 // these lines wrap rather than lose their end
		t.write(&wide, a.Out)
		if v.Body != "" {
			a.say("  body")
			a.writeContent(json.RawMessage(v.Body))
		}
		if v.Resolution == "" && len(v.Ways) > 0 {
			a.say("  %s", a.resolveLine(v))
		}
		a.say("")
	}
}

// writeWaiting says what waits for a person and the exact command to go on.
func (a *app) writeWaiting(approvals []coordinator.ApprovalView, exceptions []coordinator.ExceptionView) {
	if len(approvals) > 0 {
		a.say("\n%s", a.bold(count(len(approvals), "approval waits", "approvals wait")+" for a person"))
		t := table{}
		for _, v := range approvals {
			t.add("  "+v.ID, plain(v.Step), plain(v.Ask))
		}
		t.write(a, a.Out)
		a.say("  %s", approversText(approvals))
		a.say("  %s   shows what would be sent; then, for each:", a.command("approvals"))
		a.say("  %s", a.command("approve %s --by %s --reason \"checked\"", approvals[0].ID, a.someone(approvals[0].Approvers)))
	}
	if len(exceptions) > 0 {
		a.say("\n%s", a.bold(count(len(exceptions), "exception needs", "exceptions need")+" a decision"))
		t := table{}
		for _, v := range exceptions {
			t.add("  "+v.ID, plain(v.Cause), plain(v.Step))
		}
		t.write(a, a.Out)
		a.say("  %s   says what happened and what can be done", a.command("exceptions"))
		if len(exceptions[0].Ways) > 0 {
			a.say("  %s", a.resolveLine(exceptions[0]))
		}
	}
}

// resolveLine is the command that resolves an exception in its first way.
func (a *app) resolveLine(v coordinator.ExceptionView) string {
	return a.command("resolve %s %s --by %s --reason \"…\"", v.ID, v.Ways[0], a.someone([]string{v.Owner}))
}

func approversText(approvals []coordinator.ApprovalView) string {
	var who []string
	earliest := approvals[0].ExpiresAt
	for _, v := range approvals {
		for _, name := range v.Approvers {
			if !slices.Contains(who, name) {
				who = append(who, name)
			}
		}
		if v.ExpiresAt.Before(earliest) {
			earliest = v.ExpiresAt
		}
	}
	return fmt.Sprintf("asked of %s; the first expires %s UTC", strings.Join(who, ", "), stamp(&earliest))
}
