package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	pause         = time.Millisecond
	attemptLimit  = 100 * time.Millisecond // etcd keeps a Put that a lost leader will never answer
	patienceLimit = 60 * time.Second
)

// A watcher commits on every address all the time, one request in flight on each, and remembers the last commit of each.
type watcher struct {
	mutex   sync.Mutex
	changed *sync.Cond
	sent    map[string]time.Time // of the last request of this address that was committed
	done    map[string]time.Time
}

func watchFor(addresses []string) {
	w := &watcher{sent: map[string]time.Time{}, done: map[string]time.Time{}}
	w.changed = sync.NewCond(&w.mutex)
	for number, address := range addresses {
		go w.probe(address, number)
	}
	go func() { // wakes those who wait for a commit that does not come
		for range time.Tick(time.Second) {
			w.changed.Broadcast()
		}
	}()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		gap, err := w.interrupt(words)
		if err != nil {
			fmt.Printf("{\"error\": %q}\n", err.Error())
			continue
		}
		fmt.Printf("{\"gap\": %g}\n", gap.Seconds())
	}
}

// interrupt does what the words say and returns the time to the first commit, asked for after it, at another address than the victim's.
func (w *watcher) interrupt(words []string) (time.Duration, error) {
	var since time.Time
	victim := ""
	switch {
	case len(words) == 4 && words[0] == "kill":
		pid, _ := strconv.Atoi(words[1])
		number, _ := strconv.Atoi(words[2])
		victim = words[3]
		since = time.Now()
		if err := syscall.Kill(pid, syscall.Signal(number)); err != nil {
			return 0, err
		}
	case len(words) > 2 && words[0] == "run":
		victim = words[1]
		if err := exec.Command(words[2], words[3:]...).Run(); err != nil {
			return 0, err
		}
		since = time.Now()
	case len(words) == 1 && words[0] == "wait":
		since = time.Now()
	default:
		return 0, fmt.Errorf("kill PID SIGNAL VICTIM, run VICTIM COMMAND or wait, not %q", words)
	}
	return w.nextCommit(since, victim)
}

func (w *watcher) nextCommit(since time.Time, victim string) (time.Duration, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for {
		for address, sent := range w.sent {
			if address != victim && sent.After(since) {
				return w.done[address].Sub(since), nil
			}
		}
		if time.Since(since) > patienceLimit {
			return 0, fmt.Errorf("nothing was committed in %s", patienceLimit)
		}
		w.changed.Wait()
	}
}

func (w *watcher) probe(address string, number int) {
	var client Client
	for turn := 0; ; turn++ {
		if client == nil {
			opened, err := connect(address, 1000+number)
			if err != nil {
				time.Sleep(pause)
				continue
			}
			client = opened
		}
		before := time.Now()
		err := client.Commit(turn, attemptLimit)
		now := time.Now()
		if err == nil {
			w.mutex.Lock()
			w.sent[address], w.done[address] = before, now
			w.mutex.Unlock()
			w.changed.Broadcast()
			continue
		}
		if *target == "kafka" && !strings.Contains(err.Error(), "refused with error") {
			client.Close()
			client = nil
		}
		time.Sleep(pause)
	}
}
