// The load generator of the benchmarks, one for every peer. It prints one JSON object per answer on stdout.
//
//	load -target kafka -addresses HOST:PORT -request FILE -connections 64 -seconds 5
//	load -target etcd  -addresses HOST:PORT -value-bytes 256 -connections 64 -seconds 5
//	load -target ...   -addresses A,B,C -watch      then on stdin: kill PID SIGNAL VICTIM | run VICTIM COMMAND...
//
// Each connection has one request in flight. For Kafka a request is a frame prepared by the caller and replayed as it is, but for
// the number in a marked place; for etcd it is one
// Put through etcd's own client, one client per connection.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Client changes one thing and returns when the peer says that it is committed.
type Client interface {
	Commit(number int, timeout time.Duration) error
	Close()
}

var (
	target      = flag.String("target", "kafka", "kafka or etcd")
	addresses   = flag.String("addresses", "", "HOST:PORT, comma-separated")
	request     = flag.String("request", "", "file with the frames to replay in turn (kafka)")
	errorAt     = flag.Int("error-at", 10, "where an answer holds its error code, behind its length (kafka)")
	valueBytes  = flag.Int("value-bytes", 256, "size of a value (etcd)")
	connections = flag.Int("connections", 64, "connections, one request in flight on each")
	seconds     = flag.Float64("seconds", 5, "how long")
	watch       = flag.Bool("watch", false, "measure interruptions, as told on stdin")
)

func connect(address string, number int) (Client, error) {
	if *target == "etcd" {
		return newEtcd(address, number, *valueBytes)
	}
	return newKafka(address, *request)
}

func main() {
	flag.Parse()
	all := strings.Split(*addresses, ",")
	if *watch {
		watchFor(all)
		return
	}
	result, err := load(all[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(result)
}

// Result of a load; seconds everywhere.
type Result struct {
	Commits int     `json:"commits"`
	Seconds float64 `json:"seconds"`
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99"`
	Max     float64 `json:"max"`
	CPU     float64 `json:"cpu"`
}

func load(address string) (Result, error) {
	clients := make([]Client, *connections)
	for number := range clients {
		client, err := connect(address, number)
		if err != nil {
			return Result{}, err
		}
		defer client.Close()
		clients[number] = client
	}
	taken := make([][]time.Duration, len(clients))
	failures := make(chan error, len(clients))
	var group sync.WaitGroup
	cpu, started := processCPU(), time.Now()
	end := started.Add(time.Duration(*seconds * float64(time.Second)))
	for number, client := range clients {
		group.Add(1)
		go func() {
			defer group.Done()
			before := time.Now()
			for turn := 0; before.Before(end); turn++ {
				if err := client.Commit(turn, 10*time.Second); err != nil {
					failures <- err
					return
				}
				now := time.Now()
				taken[number] = append(taken[number], now.Sub(before))
				before = now
			}
		}()
	}
	group.Wait()
	took := time.Since(started)
	if len(failures) > 0 {
		return Result{}, <-failures
	}
	latencies := slices.Concat(taken...)
	slices.Sort(latencies)
	at := func(q float64) float64 {
		return latencies[min(len(latencies)-1, int(q*float64(len(latencies))))].Seconds()
	}
	return Result{len(latencies), took.Seconds(), at(0.5), at(0.99), at(1), processCPU() - cpu}, nil
}

func processCPU() float64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}
