//go:build bedrock

package main

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"

	llm "github.com/outerloop-dev/outerloop/pkg/agent"
	awsbedrock "github.com/outerloop-dev/outerloop/pkg/agent/bedrock"
	"github.com/outerloop-dev/outerloop/pkg/agent/catalog"
)

const bedrockLinked = true

// bedrock asks Amazon Bedrock, with the environment's credentials and region.
// It is in programs that are built with the tag bedrock.
var bedrock catalog.Opener = func(s catalog.Source) (llm.Model, error) {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		return nil, fmt.Errorf("reading the AWS configuration: %w", err)
	}
	client := bedrockruntime.NewFromConfig(cfg, func(o *bedrockruntime.Options) {
		if s.URL != "" {
			o.BaseEndpoint = &s.URL
		}
	})
	return awsbedrock.New(client, awsbedrock.Config{Model: s.ID})
}
