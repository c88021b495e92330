// Package console is the API by which programs and people look at runs and
// decide about them: JSON over HTTP, described in docs/openapi.json. One
// http.Handler serves a listener, a Lambda function (package payload) and tests.
//
// It reads only. What changes something is handed on through the Forward port:
// in one process to the coordinator, on AWS to the functions that may write.
// Lists come by pages of bounded size, and nothing walks through a whole table.
//
// It knows no callers: who may reach it is decided in front of it, by IAM on AWS.
// The name in a decision's "by" is what the caller says; the coordinator only
// checks that it is one of the people who may decide.
package console

//go:generate go test ./openapi -run TestDocumentIsFresh -update
