//go:build !bedrock

package main

import (
	"errors"

	llm "github.com/outerloop-dev/outerloop/pkg/agent"
	"github.com/outerloop-dev/outerloop/pkg/agent/catalog"
)

const bedrockLinked = false

// errNoBedrock says how to make the program that asks Amazon Bedrock: in every
// program, the AWS SDK for it would cost each command's start-up.
var errNoBedrock = errors.New("this program is built without Amazon Bedrock; `go build -tags bedrock -o build/outerloop ./cmd/outerloop` makes one with it")

// bedrock refuses, and says what to do.
var bedrock catalog.Opener = func(catalog.Source) (llm.Model, error) { return nil, errNoBedrock }
