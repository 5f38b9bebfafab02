package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// marker stands in a prepared frame where every request has a number of its own: the name of a topic that is new each time.
var marker = []byte("0000000000000000")

// numbers differ from those of an earlier process, too: 16 digits of microseconds.
var numbers atomic.Int64

func init() { numbers.Store(time.Now().UnixMicro()) }

func dialLimit() time.Duration {
	if *watch {
		return attemptLimit
	}
	return 10 * time.Second
}

type kafka struct {
	connection net.Conn
	frames     [][]byte
	answer     []byte
	marked     []int
}

func newKafka(address, file string) (Client, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	client := &kafka{answer: make([]byte, 4096)}
	for len(content) > 0 {
		size := 4 + int(binary.BigEndian.Uint32(content))
		client.frames = append(client.frames, content[:size])
		client.marked = append(client.marked, bytes.Index(content[:size], marker))
		content = content[size:]
	}
	client.connection, err = net.DialTimeout("tcp", address, dialLimit())
	return client, err
}

func (k *kafka) Commit(number int, timeout time.Duration) error {
	if err := k.connection.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	turn := number % len(k.frames)
	if at := k.marked[turn]; at >= 0 {
		copy(k.frames[turn][at:], fmt.Appendf(nil, "%0*d", len(marker), numbers.Add(1)))
	}
	if _, err := k.connection.Write(k.frames[turn]); err != nil {
		return err
	}
	read := 0
	for read < 4 || read < 4+int(binary.BigEndian.Uint32(k.answer)) {
		count, err := k.connection.Read(k.answer[read:])
		if err != nil {
			return err
		}
		read += count
	}
	if read < 4+*errorAt+2 {
		return io.ErrUnexpectedEOF
	}
	if code := binary.BigEndian.Uint16(k.answer[4+*errorAt:]); code != 0 {
		return fmt.Errorf("a change was refused with error %d", int16(code))
	}
	return nil
}

func (k *kafka) Close() { _ = k.connection.Close() }
