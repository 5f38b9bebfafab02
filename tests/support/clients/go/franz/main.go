// franz-go against our brokers.
package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"quorate.dev/clients/story"
)

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

type client struct{ seeds []string }

func (c client) open(options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(options, kgo.SeedBrokers(c.seeds...), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
}

func (c client) admin(do func(*kadm.Client) error) error {
	one, err := c.open()
	if err != nil {
		return err
	}
	defer one.Close()
	return do(kadm.NewClient(one))
}

func (c client) Create(ctx context.Context, topic string, partitions int32, replicas int16) error {
	return c.admin(func(admin *kadm.Client) error {
		_, err := admin.CreateTopic(ctx, partitions, replicas, nil, topic)
		return err
	})
}

func (c client) Delete(ctx context.Context, topic string) error {
	return c.admin(func(admin *kadm.Client) error {
		_, err := admin.DeleteTopic(ctx, topic)
		return err
	})
}

func of(topic string, records []story.Record) []*kgo.Record {
	found := make([]*kgo.Record, len(records))
	for at, one := range records {
		found[at] = &kgo.Record{Topic: topic, Partition: one.Partition, Key: one.Key, Value: one.Value}
	}
	return found
}

func (c client) Write(ctx context.Context, topic, codec string, idempotent bool, records []story.Record) error {
	options := []kgo.Opt{kgo.ProducerBatchCompression(codecs[codec])}
	if !idempotent {
		options = append(options, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1))
	}
	one, err := c.open(options...)
	if err != nil {
		return err
	}
	defer one.Close()
	return one.ProduceSync(ctx, of(topic, records)...).FirstErr()
}

func (c client) Transact(ctx context.Context, topic, id string, committed, aborted []story.Record) error {
	one, err := c.open(kgo.TransactionalID(id))
	if err != nil {
		return err
	}
	defer one.Close()
	for _, part := range []struct {
		records []story.Record
		end     kgo.TransactionEndTry
	}{{committed, kgo.TryCommit}, {aborted, kgo.TryAbort}} {
		if err := one.BeginTransaction(); err != nil {
			return err
		}
		if err := one.ProduceSync(ctx, of(topic, part.records)...).FirstErr(); err != nil {
			return err
		}
		if err := one.EndTransaction(ctx, part.end); err != nil {
			return err
		}
	}
	return nil
}

func (c client) Read(ctx context.Context, topic string, count int, committed bool) ([]story.Record, error) {
	options := []kgo.Opt{kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
	if committed {
		options = append(options, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	one, err := c.open(options...)
	if err != nil {
		return nil, err
	}
	defer one.Close()
	found := []story.Record{}
	for len(found) < count {
		fetches := one.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		fetches.EachRecord(func(each *kgo.Record) {
			found = append(found, story.Record{Partition: each.Partition, Key: each.Key, Value: each.Value})
		})
	}
	return found, nil
}

func (c client) Group(ctx context.Context, topic, group string, wanted story.Wanted) ([][]story.Record, error) {
	read, failed := make(chan story.Read), make(chan error, 2)
	polling, stop := context.WithCancel(ctx)
	defer stop()
	members := make([]*kgo.Client, 2)
	for member := range members {
		one, err := c.open(kgo.ConsumeTopics(topic), kgo.ConsumerGroup(group), kgo.DisableAutoCommit(),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		if err != nil {
			return nil, err
		}
		members[member] = one
		go poll(polling, one, member, read, failed)
	}
	found, err := story.Members(ctx, len(members), wanted, read, failed)
	stop()
	for _, one := range members {
		if err == nil {
			err = one.CommitUncommittedOffsets(ctx)
		}
		one.CloseAllowingRebalance()
	}
	return found, err
}

func poll(ctx context.Context, one *kgo.Client, member int, read chan<- story.Read, failed chan<- error) {
	for ctx.Err() == nil {
		fetches := one.PollFetches(ctx)
		if err := fetches.Err(); err != nil && ctx.Err() == nil {
			failed <- err
			return
		}
		fetches.EachRecord(func(each *kgo.Record) {
			record := story.Record{Partition: each.Partition, Key: each.Key, Value: each.Value}
			select {
			case read <- story.Read{Member: member, Record: record}:
			case <-ctx.Done():
			}
		})
	}
}

func main() {
	story.Main(func(bootstrap []string) story.Client { return client{bootstrap} })
}
