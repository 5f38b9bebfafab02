// Package story is what every client program has in common: the steps it is asked for, and records as JSON.
//
//	PROGRAM BOOTSTRAP create TOPIC PARTITIONS REPLICAS
//	PROGRAM BOOTSTRAP write TOPIC CODEC IDEMPOTENT      < records
//	PROGRAM BOOTSTRAP transact TOPIC ID                 < records: the first half is committed, the second aborted
//	PROGRAM BOOTSTRAP read TOPIC COUNT ISOLATION        > records
//	PROGRAM BOOTSTRAP group TOPIC GROUP COUNT PREFIX    > records, by each of two members; their offsets are committed
//	PROGRAM BOOTSTRAP delete TOPIC
package story

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Record is one that goes in or comes out. Key and value are base64 in JSON.
type Record struct {
	Partition int32  `json:"partition"`
	Key       []byte `json:"key"`
	Value     []byte `json:"value"`
}

// Read is a record with the member of the group that read it.
type Read struct {
	Member int
	Record Record
}

// Wanted is how many different records are to come whose keys begin so.
type Wanted struct {
	Count  int
	Prefix string
}

// Client does the steps. Whoever cannot do one says Unsupported.
type Client interface {
	Create(ctx context.Context, topic string, partitions int32, replicas int16) error
	Write(ctx context.Context, topic, codec string, idempotent bool, records []Record) error
	Transact(ctx context.Context, topic, id string, committed, aborted []Record) error
	Read(ctx context.Context, topic string, count int, committed bool) ([]Record, error)
	Group(ctx context.Context, topic, group string, wanted Wanted) ([][]Record, error)
	Delete(ctx context.Context, topic string) error
}

// Unsupported is what a client has no call for.
var Unsupported = fmt.Errorf("unsupported by this client")

// Main runs one step and ends the process: 0, or 3 for Unsupported, or 1.
func Main(client func(bootstrap []string) Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	answer, err := step(ctx, client(strings.Split(os.Args[1], ",")), os.Args[2], os.Args[3:])
	if err == Unsupported {
		os.Exit(3)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func step(ctx context.Context, client Client, name string, words []string) (any, error) {
	switch name {
	case "create":
		return nil, client.Create(ctx, words[0], int32(number(words[1])), int16(number(words[2])))
	case "write":
		records, err := given()
		if err != nil {
			return nil, err
		}
		return len(records), client.Write(ctx, words[0], words[1], words[2] == "true", records)
	case "transact":
		records, err := given()
		if err != nil {
			return nil, err
		}
		half := len(records) / 2
		return len(records), client.Transact(ctx, words[0], words[1], records[:half], records[half:])
	case "read":
		return client.Read(ctx, words[0], number(words[1]), words[2] == "read_committed")
	case "group":
		return client.Group(ctx, words[0], words[1], Wanted{number(words[2]), words[3]})
	case "delete":
		return nil, client.Delete(ctx, words[0])
	}
	return nil, fmt.Errorf("there is no step %q", name)
}

func given() ([]Record, error) {
	var records []Record
	return records, json.NewDecoder(os.Stdin).Decode(&records)
}

func number(word string) int {
	found, err := strconv.Atoi(word)
	if err != nil {
		panic(err)
	}
	return found
}

// Members gathers what the members of a group read, until all that is wanted has come: what a member read and had not
// committed when a partition was taken from it, the next one reads again.
func Members(ctx context.Context, members int, wanted Wanted, read <-chan Read, failed <-chan error) ([][]Record, error) {
	found := make([][]Record, members)
	seen := map[string]bool{}
	for len(seen) < wanted.Count {
		select {
		case one := <-read:
			if strings.HasPrefix(string(one.Record.Key), wanted.Prefix) {
				seen[fmt.Sprint(one.Record.Partition, " ", string(one.Record.Key))] = true
			}
			found[one.Member] = append(found[one.Member], one.Record)
		case err := <-failed:
			return nil, err
		case <-ctx.Done():
			return nil, fmt.Errorf("read %d of %d: %w", len(seen), wanted.Count, ctx.Err())
		}
	}
	return found, nil
}
