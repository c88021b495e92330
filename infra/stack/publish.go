package stack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"

	"github.com/outerloop-dev/outerloop/infra/bundle"
)

// publish makes the function that CloudFormation asks to publish definitions,
// versions and files, and to refuse what open runs still need.
func (d *deployment) publish(scope constructs.Construct) {
	own := "A project's machines begin with its name; versions come and go."
	rights := append(d.writes(), d.removes(),
		right{
			Do: []string{
				"states:CreateStateMachineAlias", "states:DeleteStateMachineVersion", "states:ListStateMachineVersions",
				"states:PublishStateMachineVersion", "states:UpdateStateMachineAlias",
			},
			On: []string{arn("states", "stateMachine:"+d.project+"-*")}, Because: own,
		},
		right{Do: []string{"s3:GetObject"}, On: []string{d.assets() + "/*"}, Because: "The names of assets are hashes of their content."},
		right{Do: []string{"s3:PutObject"}, On: []string{d.bucketARN + "/" + connections + "*", d.bucketARN + "/" + inputs + "*"}, Because: "Files of the project's folders."},
	)
	d.publishes = d.coordinator(scope, function{
		Name: rolePublish, Says: "Publishes definitions and versions during a deployment", Timeout: 300 * time.Second,
		Environment: d.store(nil),
	}, rights...)
	d.listed = d.published(scope, "Workers", "workers", map[string]any{"Workers": d.workerNames(), "Loops": d.loopNames()})
}

func (d *deployment) workerNames() []string {
	var names []string
	for _, u := range d.Units {
		names = append(names, u.Name)
	}
	return names
}

func (d *deployment) loopNames() []string {
	var names []string
	for _, m := range d.Machines {
		names = append(names, m.Name)
	}
	return names
}

// assets is the bucket that assets are uploaded to before a deployment.
func (d *deployment) assets() string {
	bucket := fmt.Sprintf("cdk-%s-assets-%s-%s", *awscdk.DefaultStackSynthesizer_DEFAULT_QUALIFIER(), *awscdk.Aws_ACCOUNT_ID(), *awscdk.Aws_REGION())
	if synthesizer, ok := awscdk.Stack_Of(d.scope).Synthesizer().(awscdk.IReusableStackSynthesizer); ok && synthesizer.BootstrapQualifier() != nil {
		bucket = fmt.Sprintf("cdk-%s-assets-%s-%s", *synthesizer.BootstrapQualifier(), *awscdk.Aws_ACCOUNT_ID(), *awscdk.Aws_REGION())
	}
	return "arn:" + *awscdk.Aws_PARTITION() + ":s3:::" + bucket
}

// published is one thing that publish does; what says which. All stand in the
// root stack: there is one place to see what a deployment published.
func (d *deployment) published(scope constructs.Construct, id, what string, properties map[string]any) awscdk.CustomResource {
	properties["Publish"] = what
	return awscdk.NewCustomResource(scope, str(id), &awscdk.CustomResourceProps{
		ServiceToken: d.publishes.FunctionArn(), ResourceType: str("Custom::Outerloop" + camel(what)), Properties: &properties,
		ServiceTimeout: awscdk.Duration_Seconds(num(600)),
	})
}

// seeds publishes the folders that connections name, and the files that
// schedules hand to runs, as far as the project has them.
func (d *deployment) seeds() error {
	for _, c := range d.Project.Registry.Connections {
		if c.URL == "" || strings.Contains(c.URL, "://") || !d.uses(c.Name) {
			continue
		}
		files, err := tree(filepath.Join(d.Root, filepath.FromSlash(c.URL)))
		if err != nil {
			return fmt.Errorf("reading connection %s: %w", c.Name, err)
		}
		if err := d.seed(connections+c.Name+"/", files); err != nil {
			return err
		}
	}
	files := map[string][]byte{}
	for _, m := range d.Machines {
		if err := d.inputs(m, files); err != nil {
			return fmt.Errorf("reading inputs of %s: %w", m.Name, err)
		}
	}
	return d.seed(inputs, files)
}

// uses tells whether a deployed worker uses a connection.
func (d *deployment) uses(connection string) bool {
	for _, u := range d.Units {
		for _, tool := range u.Charter.Tools {
			if tool.Connection == connection {
				return true
			}
		}
		if u.Charter.Agent == nil {
			continue
		}
		if m, ok := d.Project.Registry.Model(u.Charter.Agent.Model); ok && m.Connection == connection {
			return true
		}
	}
	return false
}

func (d *deployment) seed(prefix string, files map[string][]byte) error {
	if len(files) == 0 {
		return nil
	}
	zip, err := bundle.Zip(files, 0o644)
	if err != nil {
		return err
	}
	id := "Files" + camel(strings.TrimSuffix(prefix, "/"))
	archive, err := d.asset(d.scope, id+"Archive", id+".zip", zip)
	if err != nil {
		return err
	}
	d.published(d.scope, id, "files", map[string]any{"Prefix": prefix, "Archive": place(archive)})
	return nil
}

// inputs collects the files that a loop's triggers name in their inputs.
func (d *deployment) inputs(m machine, files map[string][]byte) error {
	property, ok := m.Input.FileProperty()
	if !ok {
		return nil
	}
	for _, t := range m.Triggers {
		name := literal(t.Trigger.Input.Node, property)
		if name == "" {
			continue
		}
		content, err := d.read(name)
		if err != nil {
			return err
		}
		if content != nil {
			files[name] = content
		}
	}
	return nil
}

// tree reads a folder's files by their paths in it; a folder that is not there is empty.
func tree(root string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == root {
			return nil
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	return files, err
}

// write writes a file where its content is another.
func write(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}
