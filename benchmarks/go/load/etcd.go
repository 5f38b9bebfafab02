package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	client "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

type etcd struct {
	client *client.Client
	key    string
	values [2]string
}

func newEtcd(address string, number, valueBytes int) (Client, error) {
	opened, err := client.New(client.Config{
		Endpoints: []string{address}, DialTimeout: 5 * time.Second, Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, err
	}
	return &etcd{
		client: opened,
		key:    fmt.Sprintf("load/%d", number),
		values: [2]string{strings.Repeat("a", valueBytes), strings.Repeat("b", valueBytes)},
	}, nil
}

func (e *etcd) Commit(number int, timeout time.Duration) error {
	limited, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	_, err := e.client.Put(limited, e.key, e.values[number%2])
	return err
}

func (e *etcd) Close() { _ = e.client.Close() }
