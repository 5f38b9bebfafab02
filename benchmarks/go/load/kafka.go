package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// errorAt is where IncrementalAlterConfigs' answer (version 1) holds the error code of its only resource:
// correlation id 4, tags 1, throttle time 4, length of the array 1.
const errorAt = 10

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
		content = content[size:]
	}
	client.connection, err = net.DialTimeout("tcp", address, dialLimit())
	return client, err
}

func (k *kafka) Commit(number int, timeout time.Duration) error {
	if err := k.connection.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	if _, err := k.connection.Write(k.frames[number%len(k.frames)]); err != nil {
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
	if read < 4+errorAt+2 {
		return io.ErrUnexpectedEOF
	}
	if code := binary.BigEndian.Uint16(k.answer[4+errorAt:]); code != 0 {
		return fmt.Errorf("a change was refused with error %d", int16(code))
	}
	return nil
}

func (k *kafka) Close() { _ = k.connection.Close() }
