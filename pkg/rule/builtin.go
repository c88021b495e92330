package rule

import (
	"slices"

	"github.com/outerloop-dev/outerloop/pkg/schema"
)

func field(name string, t *schema.Type) schema.Field {
	return schema.Field{Name: name, Type: t, Required: true}
}

// RunType is the type of the name run: id, subject (text), as_of, started_at, deadline (times), spent (a number, in the
// budget's currency).
func RunType() *schema.Type { return runType }

var runType = schema.ObjectOf(
	field("id", schema.Scalar(schema.String)),
	field("subject", schema.Scalar(schema.String)),
	field("as_of", schema.Scalar(schema.Time)),
	field("started_at", schema.Scalar(schema.Time)),
	field("deadline", schema.Scalar(schema.Time)),
	field("spent", schema.Scalar(schema.Number)),
)

// Outcomes are the values of about.STEP.status.
var Outcomes = []string{"completed", "substituted", "not_needed", "skipped", "declined", "proposed", "cancelled", "failed"}

var evidenceType = schema.ListOf(schema.ObjectOf(
	field("claim", schema.Scalar(schema.String)),
	field("source", schema.Scalar(schema.String)),
	field("at", schema.Scalar(schema.String)),
))

// EvidenceType is the type of the name evidence: a list of {claim, source, at}.
func EvidenceType() *schema.Type { return evidenceType }

// ConfidenceType is the type of the name confidence: high, medium, low, or null where a worker gave none.
func ConfidenceType() *schema.Type { return confidenceType }

var confidenceType = schema.EnumOf("high", "medium", "low").OrNull()

// UnresolvedType is the type of the name unresolved: a list of questions.
func UnresolvedType() *schema.Type { return unresolvedType }

var unresolvedType = schema.ListOf(schema.Scalar(schema.String))

var stepType = schema.ObjectOf(
	field("status", schema.EnumOf(Outcomes...)),
	field("confidence", confidenceType),
	field("reason", schema.Scalar(schema.String).OrNull()),
	field("evidence", evidenceType),
	field("attempts", schema.Scalar(schema.Int)),
	field("cost", schema.Scalar(schema.Number)),
	field("started_at", schema.Scalar(schema.Time).OrNull()),
	field("ended_at", schema.Scalar(schema.Time).OrNull()),
	field("decided_by", schema.Scalar(schema.String).OrNull()),
)

// StepType is the type of about.STEP. What a step does not have (a time it never started, a confidence) is null.
func StepType() *schema.Type { return stepType }

// AboutType is the type of the name about, for the steps in scope.
func AboutType(steps ...string) *schema.Type {
	fields := make([]schema.Field, 0, len(steps))
	for _, s := range slices.Sorted(slices.Values(steps)) {
		fields = append(fields, field(s, stepType))
	}
	return schema.ObjectOf(fields...)
}

// EventType is the type of the name event in a webhook trigger: body and headers.
func EventType(body *schema.Type) *schema.Type {
	return schema.ObjectOf(field("body", body), field("headers", schema.MapOf(schema.Scalar(schema.String))))
}
