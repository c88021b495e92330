//go:build !bedrock

package main

import "github.com/outerloop-dev/outerloop/pkg/agent/catalog"

// bedrock is nil: the AWS SDK would cost every command's start-up.
var bedrock catalog.Opener
