// sarama against our brokers.
package main

import (
	"context"
	"sync"

	"github.com/IBM/sarama"

	"quorate.dev/clients/story"
)

var codecs = map[string]sarama.CompressionCodec{
	"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
	"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
}

type client struct{ bootstrap []string }

func settings() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Return.Errors = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	return config
}

func (c client) admin(do func(sarama.ClusterAdmin) error) error {
	admin, err := sarama.NewClusterAdmin(c.bootstrap, settings())
	if err != nil {
		return err
	}
	defer admin.Close()
	return do(admin)
}

func (c client) Create(_ context.Context, topic string, partitions int32, replicas int16) error {
	return c.admin(func(admin sarama.ClusterAdmin) error {
		return admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: replicas}, false)
	})
}

func (c client) Delete(_ context.Context, topic string) error {
	return c.admin(func(admin sarama.ClusterAdmin) error { return admin.DeleteTopic(topic) })
}

func of(topic string, records []story.Record) []*sarama.ProducerMessage {
	found := make([]*sarama.ProducerMessage, len(records))
	for at, one := range records {
		key, value := sarama.ByteEncoder(one.Key), sarama.ByteEncoder(one.Value)
		found[at] = &sarama.ProducerMessage{Topic: topic, Partition: one.Partition, Key: key, Value: value}
	}
	return found
}

func (c client) Write(_ context.Context, topic, codec string, idempotent bool, records []story.Record) error {
	config := settings()
	config.Producer.Compression = codecs[codec]
	config.Producer.Idempotent = idempotent
	if idempotent {
		config.Net.MaxOpenRequests = 1
	}
	producer, err := sarama.NewSyncProducer(c.bootstrap, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	return producer.SendMessages(of(topic, records))
}

func (c client) Transact(_ context.Context, topic, id string, committed, aborted []story.Record) error {
	config := settings()
	config.Producer.Idempotent, config.Net.MaxOpenRequests = true, 1
	config.Producer.Transaction.ID = id
	producer, err := sarama.NewSyncProducer(c.bootstrap, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	for _, part := range []struct {
		records []story.Record
		end     func() error
	}{{committed, producer.CommitTxn}, {aborted, producer.AbortTxn}} {
		if err := producer.BeginTxn(); err != nil {
			return err
		}
		if err := producer.SendMessages(of(topic, part.records)); err != nil {
			return err
		}
		if err := part.end(); err != nil {
			return err
		}
	}
	return nil
}

func (c client) Read(ctx context.Context, topic string, count int, committed bool) ([]story.Record, error) {
	config := settings()
	if committed {
		config.Consumer.IsolationLevel = sarama.ReadCommitted
	}
	consumer, err := sarama.NewConsumer(c.bootstrap, config)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	partitions, err := consumer.Partitions(topic)
	if err != nil {
		return nil, err
	}
	read, failed := make(chan story.Read), make(chan error, len(partitions))
	for _, partition := range partitions {
		one, err := consumer.ConsumePartition(topic, partition, sarama.OffsetOldest)
		if err != nil {
			return nil, err
		}
		go func() {
			for {
				select {
				case each := <-one.Messages():
					record := story.Record{Partition: each.Partition, Key: each.Key, Value: each.Value}
					read <- story.Read{Record: record}
				case err := <-one.Errors():
					failed <- err
					return
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	found, err := story.Members(ctx, 1, story.Wanted{Count: count}, read, failed)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

type member struct {
	number int
	read   chan<- story.Read
}

func (m member) Setup(sarama.ConsumerGroupSession) error { return nil }

func (m member) Cleanup(session sarama.ConsumerGroupSession) error {
	session.Commit()
	return nil
}

func (m member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case each, open := <-claim.Messages():
			if !open {
				return nil
			}
			record := story.Record{Partition: each.Partition, Key: each.Key, Value: each.Value}
			select {
			case m.read <- story.Read{Member: m.number, Record: record}:
				session.MarkMessage(each, "")
			case <-session.Context().Done():
				return nil
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

func (c client) Group(ctx context.Context, topic, group string, wanted story.Wanted) ([][]story.Record, error) {
	read, failed := make(chan story.Read), make(chan error, 2)
	running, stop := context.WithCancel(ctx)
	defer stop()
	var ended sync.WaitGroup
	groups := make([]sarama.ConsumerGroup, 2)
	for number := range groups {
		one, err := sarama.NewConsumerGroup(c.bootstrap, group, settings())
		if err != nil {
			return nil, err
		}
		groups[number] = one
		ended.Add(1)
		go func() {
			defer ended.Done()
			for running.Err() == nil {
				if err := one.Consume(running, []string{topic}, member{number, read}); err != nil && running.Err() == nil {
					failed <- err
					return
				}
			}
		}()
	}
	found, err := story.Members(ctx, len(groups), wanted, read, failed)
	stop()
	ended.Wait()
	for _, one := range groups {
		if closed := one.Close(); err == nil {
			err = closed
		}
	}
	return found, err
}

func main() {
	story.Main(func(bootstrap []string) story.Client { return client{bootstrap} })
}
