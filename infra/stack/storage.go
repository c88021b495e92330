package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/constructs-go/constructs/v10"

	"github.com/outerloop-dev/outerloop/pkg/store/dynamostore"
)

// The folders of the bucket.
const (
	blobs       = "blobs/"
	connections = "connections/"
	inputs      = "inputs/"
)

// storage makes what keeps data: table and bucket stay when the stack goes.
func (d *deployment) storage(scope constructs.Construct) {
	d.table(scope)
	d.bucket(scope)
	d.alertTopic(scope)
}

// alertTopic makes the topic of alerts and alarms. It has no key at rest:
// alarms cannot publish under SNS's own, and one of the account's costs more
// than all of them. Alerts name runs and steps; sensitive fields are redacted.
func (d *deployment) alertTopic(scope constructs.Construct) {
	d.topic = awssns.NewTopic(scope, str("Alerts"), &awssns.TopicProps{TopicName: str(d.name("alerts")), DisplayName: str("outerloop " + d.project), EnforceSSL: yes()})
	// A topic with a policy of its own has lost the one by which alarms could publish.
	d.topic.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid:        str("AllowAlarms"),
		Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(str("cloudwatch.amazonaws.com"), nil)},
		Actions:    strs([]string{"sns:Publish"}), Resources: &[]*string{d.topic.TopicArn()},
		Conditions: &map[string]any{
			"StringEquals": map[string]any{"aws:SourceAccount": *awscdk.Aws_ACCOUNT_ID()},
			"ArnLike":      map[string]any{"aws:SourceArn": arn("cloudwatch", "alarm:"+d.project+"-*")},
		},
	}))
}

// table makes the table that dynamostore describes.
func (d *deployment) table(scope constructs.Construct) {
	if d.Table != "" {
		d.tableName, d.tableARN = d.Table, arn("dynamodb", "table/"+d.Table)
		return
	}
	described := dynamostore.Table(d.project)
	part, sort := keys(described.KeySchema)
	table := awsdynamodb.NewTable(scope, str("Table"), &awsdynamodb.TableProps{
		TableName:                        described.TableName,
		PartitionKey:                     text(part),
		SortKey:                          text(sort),
		BillingMode:                      awsdynamodb.BillingMode_PAY_PER_REQUEST,
		TimeToLiveAttribute:              str(dynamostore.ExpiresAttribute),
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: yes()},
		DeletionProtection:               yes(),
		Encryption:                       awsdynamodb.TableEncryption_AWS_MANAGED,
		RemovalPolicy:                    awscdk.RemovalPolicy_RETAIN,
	})
	for _, index := range described.GlobalSecondaryIndexes {
		part, sort := keys(index.KeySchema)
		table.AddGlobalSecondaryIndex(&awsdynamodb.GlobalSecondaryIndexProps{
			IndexName: index.IndexName, PartitionKey: text(part), SortKey: text(sort), ProjectionType: awsdynamodb.ProjectionType_KEYS_ONLY,
		})
	}
	d.tableName, d.tableARN = *table.TableName(), *table.TableArn()
}

func keys(schema []types.KeySchemaElement) (part, sort string) {
	for _, element := range schema {
		if element.KeyType == types.KeyTypeHash {
			part = *element.AttributeName
		} else {
			sort = *element.AttributeName
		}
	}
	return part, sort
}

// text is a key attribute; all of the store's are texts.
func text(name string) *awsdynamodb.Attribute {
	return &awsdynamodb.Attribute{Name: str(name), Type: awsdynamodb.AttributeType_STRING}
}

// bucket makes the bucket of blobs, connections and inputs.
func (d *deployment) bucket(scope constructs.Construct) {
	if d.Bucket != "" {
		d.bucketName, d.bucketARN = d.Bucket, "arn:"+*awscdk.Aws_PARTITION()+":s3:::"+d.Bucket
		return
	}
	bucket := awss3.NewBucket(scope, str("Bucket"), &awss3.BucketProps{
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(),
		Encryption:        awss3.BucketEncryption_S3_MANAGED,
		EnforceSSL:        yes(),
		Versioned:         yes(),
		RemovalPolicy:     awscdk.RemovalPolicy_RETAIN,
		LifecycleRules: &[]*awss3.LifecycleRule{{
			Id:                                  str("what-was-replaced"),
			NoncurrentVersionExpiration:         awscdk.Duration_Days(num(30)),
			AbortIncompleteMultipartUploadAfter: awscdk.Duration_Days(num(7)),
		}},
	})
	suppress(bucket, "AwsSolutions-S1", "Only this stack's functions read and write here; who reads objects is recorded by CloudTrail where an account wants it.", "")
	d.bucketName, d.bucketARN = *bucket.BucketName(), *bucket.BucketArn()
}
