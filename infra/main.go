// Command infra is the CDK app that puts this repository's project into an AWS
// account. The CDK runs it (see cdk.json): `make synth`, or `cdk deploy` in this
// directory. A project of its own has one like it: `outerloop init`.
package main

import "github.com/outerloop-dev/outerloop/infra/app"

func main() { app.Main() }
