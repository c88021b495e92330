package machines

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

// Alias is the name that a machine's released version has in Step Functions. It
// is for people who look: runs start the version that their definition names.
const Alias = "live"

// VersionClient is what is called of *sfn.Client.
type VersionClient interface {
	PublishStateMachineVersion(context.Context, *sfn.PublishStateMachineVersionInput, ...func(*sfn.Options)) (*sfn.PublishStateMachineVersionOutput, error)
	CreateStateMachineAlias(context.Context, *sfn.CreateStateMachineAliasInput, ...func(*sfn.Options)) (*sfn.CreateStateMachineAliasOutput, error)
	UpdateStateMachineAlias(context.Context, *sfn.UpdateStateMachineAliasInput, ...func(*sfn.Options)) (*sfn.UpdateStateMachineAliasOutput, error)
	ListStateMachineVersions(context.Context, *sfn.ListStateMachineVersionsInput, ...func(*sfn.Options)) (*sfn.ListStateMachineVersionsOutput, error)
	DeleteStateMachineVersion(context.Context, *sfn.DeleteStateMachineVersionInput, ...func(*sfn.Options)) (*sfn.DeleteStateMachineVersionOutput, error)
}

// Versions publishes versions of machines, and retires old ones (Publisher.Retire).
type Versions struct{ Client VersionClient }

// Publish makes a version of a machine as it stands. A machine that has not
// changed since its last version answers with that one.
func (v Versions) Publish(ctx context.Context, machine, hash string) (arn string, err error) {
	out, err := v.Client.PublishStateMachineVersion(ctx, &sfn.PublishStateMachineVersionInput{
		StateMachineArn: &machine, Description: aws.String("definition " + hash),
	})
	if err != nil {
		return "", fmt.Errorf("publishing a version of %s: %w", machine, err)
	}
	return aws.ToString(out.StateMachineVersionArn), nil
}

// Point points the alias at a version.
func (v Versions) Point(ctx context.Context, version string) error {
	i := strings.LastIndexByte(version, ':')
	if i < 0 {
		return fmt.Errorf("%q is no ARN of a machine's version", version)
	}
	routes := []types.RoutingConfigurationListItem{{StateMachineVersionArn: &version, Weight: 100}}
	_, err := v.Client.UpdateStateMachineAlias(ctx, &sfn.UpdateStateMachineAliasInput{
		StateMachineAliasArn: aws.String(version[:i+1] + Alias), RoutingConfiguration: routes,
	})
	var absent *types.ResourceNotFound
	if !errors.As(err, &absent) {
		return pointing(version, err)
	}
	_, err = v.Client.CreateStateMachineAlias(ctx, &sfn.CreateStateMachineAliasInput{Name: aws.String(Alias), RoutingConfiguration: routes})
	return pointing(version, err)
}

func pointing(version string, err error) error {
	if err != nil {
		return fmt.Errorf("pointing the alias %s at %s: %w", Alias, version, err)
	}
	return nil
}
