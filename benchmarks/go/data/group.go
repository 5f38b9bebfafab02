package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// GroupResult of a group; seconds.
type GroupResult struct {
	Joined    float64 `json:"joined"`    // from nobody to an assignment for every member
	Rebalance float64 `json:"rebalance"` // one member more: until every member is in the new generation
	Commits   float64 `json:"commits"`   // a second, of all members together
}

// group of so many members, one client each; the topic has at least as many partitions.
func group() (*GroupResult, error) {
	name := fmt.Sprintf("group-%d", time.Now().UnixNano())
	var assigned atomic.Int64
	join := func() (*kgo.Client, error) {
		return kgo.NewClient(
			kgo.SeedBrokers(strings.Split(brokers, ",")...), kgo.ConsumeTopics(topic), kgo.ConsumerGroup(name), kgo.DisableAutoCommit(),
			kgo.Balancers(kgo.RangeBalancer()), kgo.HeartbeatInterval(300*time.Millisecond), kgo.SessionTimeout(20*time.Second),
			kgo.RebalanceTimeout(20*time.Second), kgo.MetadataMinAge(100*time.Millisecond),
			kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { assigned.Add(1) }),
		)
	}
	clients := make([]*kgo.Client, 0, members+1)
	defer func() {
		var all sync.WaitGroup
		for _, c := range clients {
			all.Add(1)
			go func() { defer all.Done(); c.Close() }()
		}
		all.Wait()
	}()
	started := time.Now()
	for range members {
		c, err := join()
		if err != nil {
			return nil, err
		}
		clients = append(clients, c)
		go c.PollFetches(context.Background())
	}
	result := &GroupResult{}
	if err := settle(clients); err != nil {
		return nil, err
	}
	result.Joined = time.Since(started).Seconds()
	_, before := clients[0].GroupMetadata()
	started = time.Now()
	c, err := join()
	if err != nil {
		return nil, err
	}
	clients = append(clients, c)
	go c.PollFetches(context.Background())
	for {
		if err := settle(clients); err != nil {
			return nil, err
		}
		if _, now := clients[0].GroupMetadata(); now > before {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	result.Rebalance = time.Since(started).Seconds()
	result.Commits, err = commits(clients)
	return result, err
}

// settle until all members are in one generation.
func settle(clients []*kgo.Client) error {
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		_, first := clients[0].GroupMetadata()
		same := first > 0
		for _, c := range clients {
			_, generation := c.GroupMetadata()
			same = same && generation == first
		}
		if same {
			return nil
		}
	}
	return fmt.Errorf("the group did not settle in 90 s")
}

func commits(clients []*kgo.Client) (float64, error) {
	var count atomic.Int64
	var failure atomic.Value
	var all sync.WaitGroup
	started := time.Now()
	end := started.Add(time.Duration(seconds * float64(time.Second)))
	for number, c := range clients {
		all.Add(1)
		go func() {
			defer all.Done()
			for offset := int64(0); time.Now().Before(end); offset++ {
				r := &kgo.Record{Topic: topic, Partition: int32(number % partitions), Offset: offset}
				if err := c.CommitRecords(context.Background(), r); err != nil {
					failure.Store(err)
					return
				}
				count.Add(1)
			}
		}()
	}
	all.Wait()
	if err, bad := failure.Load().(error); bad {
		return 0, err
	}
	return float64(count.Load()) / time.Since(started).Seconds(), nil
}
