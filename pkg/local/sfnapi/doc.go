// Package sfnapi speaks enough of the AWS Step Functions JSON API that
// `aws stepfunctions --endpoint-url` and the AWS SDKs work against the embedded
// engine: starting, describing, listing and stopping executions, their
// histories, task tokens, and machines. It checks no signature, so it is served
// on the loopback interface only (Listen) and refuses what a browser sends.
//
// It differs from AWS in this: execution names are unique over all machines, a
// machine's role is not used, and TestState takes one state with a mocked
// answer, which stands for the branches of a Parallel and the iterations of a
// Map. For TestState the SDKs and the CLI prefix the
// endpoint's host with "sync-"; switch that off
// (AWS_DISABLE_HOST_PREFIX_INJECTION=true) or let that name resolve.
package sfnapi
