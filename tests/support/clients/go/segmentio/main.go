// segmentio/kafka-go against our brokers: it has neither idempotent nor transactional producers.
package main

import (
	"context"
	"net"

	"github.com/segmentio/kafka-go"

	"quorate.dev/clients/story"
)

var codecs = map[string]kafka.Compression{
	"gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
}

type client struct{ bootstrap []string }

func (c client) admin() *kafka.Client { return &kafka.Client{Addr: kafka.TCP(c.bootstrap...)} }

func (c client) Create(ctx context.Context, topic string, partitions int32, replicas int16) error {
	config := kafka.TopicConfig{Topic: topic, NumPartitions: int(partitions), ReplicationFactor: int(replicas)}
	answer, err := c.admin().CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{config}})
	if err != nil {
		return err
	}
	return answer.Errors[topic]
}

func (c client) Delete(ctx context.Context, topic string) error {
	answer, err := c.admin().DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	if err != nil {
		return err
	}
	return answer.Errors[topic]
}

func (c client) Write(ctx context.Context, topic, codec string, idempotent bool, records []story.Record) error {
	if idempotent {
		return story.Unsupported
	}
	chosen := kafka.BalancerFunc(func(one kafka.Message, _ ...int) int { return one.WriterData.(int) })
	writer := &kafka.Writer{Addr: kafka.TCP(c.bootstrap...), Topic: topic, Balancer: chosen, RequiredAcks: kafka.RequireAll,
		Compression: codecs[codec]}
	messages := make([]kafka.Message, len(records))
	for at, one := range records {
		messages[at] = kafka.Message{Key: one.Key, Value: one.Value, WriterData: int(one.Partition)}
	}
	if err := writer.WriteMessages(ctx, messages...); err != nil {
		return err
	}
	return writer.Close()
}

func (c client) Transact(context.Context, string, string, []story.Record, []story.Record) error {
	return story.Unsupported
}

func (c client) Read(ctx context.Context, topic string, count int, committed bool) ([]story.Record, error) {
	connection, err := kafka.DialContext(ctx, "tcp", c.bootstrap[0])
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	partitions, err := connection.ReadPartitions(topic)
	if err != nil {
		return nil, err
	}
	read, failed := make(chan story.Read), make(chan error, len(partitions))
	for _, partition := range partitions {
		config := kafka.ReaderConfig{Brokers: c.bootstrap, Topic: topic, Partition: partition.ID}
		if committed {
			config.IsolationLevel = kafka.ReadCommitted
		}
		go pass(ctx, kafka.NewReader(config), 0, read, failed)
	}
	found, err := story.Members(ctx, 1, story.Wanted{Count: count}, read, failed)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

func pass(ctx context.Context, reader *kafka.Reader, member int, read chan<- story.Read, failed chan<- error) {
	for {
		each, err := reader.ReadMessage(ctx)
		if err != nil {
			if ctx.Err() == nil {
				failed <- err
			}
			return
		}
		record := story.Record{Partition: int32(each.Partition), Key: each.Key, Value: each.Value}
		read <- story.Read{Member: member, Record: record}
	}
}

func (c client) Group(ctx context.Context, topic, group string, wanted story.Wanted) ([][]story.Record, error) {
	read, failed := make(chan story.Read), make(chan error, 2)
	readers := make([]*kafka.Reader, 2)
	for member := range readers {
		readers[member] = kafka.NewReader(kafka.ReaderConfig{Brokers: c.bootstrap, GroupID: group, Topic: topic,
			StartOffset: kafka.FirstOffset, Dialer: &kafka.Dialer{DialFunc: (&net.Dialer{}).DialContext}})
		go pass(ctx, readers[member], member, read, failed)
	}
	found, err := story.Members(ctx, len(readers), wanted, read, failed)
	for _, one := range readers {
		if closed := one.Close(); err == nil {
			err = closed
		}
	}
	return found, err
}

func main() {
	story.Main(func(bootstrap []string) story.Client { return client{bootstrap} })
}
