// The load of the data benchmarks, by franz-go, one for both kinds of cluster. It prints JSON on stdout.
//
//	data produce  -brokers A,B -topic T -partitions 6 -size 1024 -seconds 10 [-rate 2000]
//	data consume  -brokers A,B -topic T [-partitions 6]
//	data latency  -brokers A,B -topic T -seconds 10
//	data watch    -brokers A,B -topic T -partitions 6        a line "PARTITION NANOSECONDS" for every acknowledged record
//	data group    -brokers A,B -topic T -members 100 -seconds 5
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var (
	brokers    string
	topic      string
	partitions int
	size       int
	seconds    float64
	rate       float64
	members    int
)

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("produce, consume, latency, watch or group"))
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	flags.StringVar(&brokers, "brokers", "", "HOST:PORT, comma-separated")
	flags.StringVar(&topic, "topic", "", "")
	flags.IntVar(&partitions, "partitions", 1, "")
	flags.IntVar(&size, "size", 1024, "bytes of a record's value")
	flags.Float64Var(&seconds, "seconds", 5, "how long")
	flags.Float64Var(&rate, "rate", 0, "records a second; 0: as many as are taken")
	flags.IntVar(&members, "members", 100, "of the group")
	_ = flags.Parse(os.Args[2:])
	var result any
	var err error
	switch os.Args[1] {
	case "produce":
		result, err = produce()
	case "consume":
		result, err = consume()
	case "latency":
		result, err = latency()
	case "watch":
		err = watch()
	case "group":
		result, err = group()
	default:
		err = fmt.Errorf("unknown: %s", os.Args[1])
	}
	if err != nil {
		fail(err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(result)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func client(more ...kgo.Opt) (*kgo.Client, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(brokers, ",")...),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(20 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }),
	}
	return kgo.NewClient(append(options, more...)...)
}

func processCPU() float64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// Result of a run; seconds everywhere.
type Result struct {
	Records int64   `json:"records"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99"`
	CPU     float64 `json:"cpu"`
}

func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// produce with acks=all, idempotent, as many as are taken or so many a second.
func produce() (*Result, error) {
	c, err := client(kgo.ProducerLinger(2*time.Millisecond), kgo.MaxBufferedRecords(50_000))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	value := make([]byte, size)
	for i := range value {
		value[i] = byte('a' + i*7%23)
	}
	var acked atomic.Int64
	var mutex sync.Mutex
	var taken []float64
	var failure atomic.Value
	ctx := context.Background()
	cpu, started := processCPU(), time.Now()
	end := started.Add(time.Duration(seconds * float64(time.Second)))
	sent := 0
	for time.Now().Before(end) && failure.Load() == nil {
		if rate > 0 {
			due := int(time.Since(started).Seconds() * rate)
			if sent >= due {
				time.Sleep(time.Millisecond)
				continue
			}
		}
		before := time.Now()
		sampled := rate > 0 || sent%64 == 0
		c.Produce(ctx, &kgo.Record{Topic: topic, Partition: int32(sent / 16 % partitions), Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				failure.Store(err)
				return
			}
			acked.Add(1)
			if sampled {
				took := time.Since(before).Seconds()
				mutex.Lock()
				taken = append(taken, took)
				mutex.Unlock()
			}
		})
		sent++
	}
	if err := c.Flush(ctx); err != nil {
		return nil, err
	}
	took := time.Since(started).Seconds()
	if err, bad := failure.Load().(error); bad {
		return nil, err
	}
	slices.Sort(taken)
	count := acked.Load()
	return &Result{count, count * int64(size), took, quantile(taken, 0.5), quantile(taken, 0.99), processCPU() - cpu}, nil
}

// consume every partition from its beginning to where it ends now.
func consume() (*Result, error) {
	offsets := map[int32]kgo.Offset{}
	for p := range partitions {
		offsets[int32(p)] = kgo.NewOffset().AtStart()
	}
	c, err := client(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: offsets}),
		kgo.FetchMaxPartitionBytes(1<<20), kgo.FetchMaxWait(500*time.Millisecond),
	)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	result := &Result{}
	done := map[int32]bool{}
	cpu, started := processCPU(), time.Now()
	for len(done) < partitions {
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		fetches := c.PollFetches(ctx)
		cancel()
		if errs := fetches.Errors(); len(errs) > 0 {
			return nil, errs[0].Err
		}
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			for _, r := range p.Records {
				result.Records++
				result.Bytes += int64(len(r.Value))
				if r.Offset+1 >= p.HighWatermark {
					done[p.Partition] = true
				}
			}
		})
	}
	result.Seconds, result.CPU = time.Since(started).Seconds(), processCPU()-cpu
	return result, nil
}

// latency from produce to consume, one record at a time.
func latency() (*Result, error) {
	c, err := client(
		kgo.ProducerLinger(0),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtEnd()}}),
	)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	ctx := context.Background()
	arrived := make(chan time.Time, 1000)
	go func() {
		for {
			fetches := c.PollFetches(ctx)
			if fetches.IsClientClosed() {
				return
			}
			fetches.EachRecord(func(*kgo.Record) { arrived <- time.Now() })
		}
	}()
	time.Sleep(time.Second)
	value := make([]byte, size)
	var taken []float64
	cpu, started := processCPU(), time.Now()
	for time.Since(started).Seconds() < seconds {
		before := time.Now()
		if err := c.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: value}).FirstErr(); err != nil {
			return nil, err
		}
		select {
		case at := <-arrived:
			taken = append(taken, at.Sub(before).Seconds())
		case <-time.After(10 * time.Second):
			return nil, fmt.Errorf("record %d did not arrive", len(taken))
		}
		time.Sleep(2 * time.Millisecond)
	}
	slices.Sort(taken)
	count := int64(len(taken))
	took := time.Since(started).Seconds()
	return &Result{count, count * int64(size), took, quantile(taken, 0.5), quantile(taken, 0.99), processCPU() - cpu}, nil
}

// watch acknowledges for ever: one record in flight for each partition, each by a client of its own, so that none waits
// behind another.
func watch() error {
	var mutex sync.Mutex
	for p := range partitions {
		c, err := client(kgo.ProducerLinger(0), kgo.ProduceRequestTimeout(5*time.Second))
		if err != nil {
			return err
		}
		go func() {
			for {
				err := c.ProduceSync(context.Background(), &kgo.Record{Topic: topic, Partition: int32(p), Value: []byte("x")}).FirstErr()
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					continue
				}
				mutex.Lock()
				fmt.Println(p, time.Now().UnixNano())
				mutex.Unlock()
				time.Sleep(5 * time.Millisecond)
			}
		}()
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	return nil
}
