package protocol

import (
	"slices"
	"time"

	"github.com/outerloop-dev/outerloop/pkg/coordinator/record"
)

// Register puts a token into the request. An older generation's late
// registration is refused; a newer one makes a decision undelivered again.
func Register(ap *record.Approval, gen int, token string) bool {
	if gen < ap.Gen || ap.Void {
		return false
	}
	if gen == ap.Gen {
		ap.Before = record.Earlier(ap.Before, ap.Token, token)
	} else {
		ap.Before = nil
	}
	ap.Gen, ap.Token, ap.Delivered = gen, token, false
	return true
}

// Voted is what a person's approval led to.
type Voted string

// The results of an approval.
const (
	// VotedDecided: the decision stands now.
	VotedDecided Voted = "decided"
	// VotedMore: recorded; more people must approve.
	VotedMore Voted = "more"
	// VotedAuthor: the author of an edit never approves it.
	VotedAuthor Voted = "author"
)

// Vote records a person's approval. An edit makes all earlier votes void; where
// several people must approve, its author counts as having seen it and can
// approve it no more: the others must.
func Vote(ap *record.Approval, v record.Vote, edit *record.Value) Voted {
	if edit != nil {
		ap.Content, ap.Hash, ap.Editor, ap.Edited, ap.Votes = *edit, edit.Hash, v.By, true, nil
		if ap.People > 1 {
			return VotedMore
		}
		ap.Editor = ""
	} else if ap.Editor == v.By && ap.People > 1 {
		return VotedAuthor
	}
	ap.Votes = slices.DeleteFunc(ap.Votes, func(o record.Vote) bool { return o.By == v.By })
	ap.Votes = append(ap.Votes, v)
	need := ap.People
	if ap.Editor != "" {
		need--
	}
	if len(ap.Votes) < need {
		return VotedMore
	}
	Decide(ap, record.DecisionApproved, v.By, v.Reason, v.At)
	return VotedDecided
}

// Decide makes the decision, which is final: the caller has seen that none stands.
func Decide(ap *record.Approval, decision, by, reason string, at time.Time) {
	ap.Decision, ap.By, ap.Reason, ap.At, ap.Delivered = decision, by, reason, at, false
}
