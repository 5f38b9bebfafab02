"""A banker: a member of a group that reads the queue of orders, as a process of his own.

    python -m support.fault_histories.banker SERVERS QUEUE ACCOUNTS NAME PROTOCOL

A transaction of his takes from one account and gives to another what each order says, and commits how far he has read:
so each order is carried out once, whatever happens. After an error he begins anew, as everybody does who follows the
books. He says `alive` again and again: librdkafka was seen to wait for ever in a call with a deadline
(`send_offsets_to_transaction`), and who says nothing for long is replaced.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from support.fault_histories.clients import PARTITIONS, PATIENT
from support.fault_histories.verdict import amount_of
from support.nodes.processes import ENVIRONMENT, REPOSITORY

SILENCE_S: Final = 45.0
"""Longer than the deadlines of all that he does between two signs of life."""
_TRANSACTION_MS: Final = 8_000
_AT_ONCE: Final = 50
_INIT_S: Final = 20.0
_CALL_S: Final = 15.0


class Banker:
    """Runs in the caller's network until it is stopped."""

    def __init__(self, log: Path, *arguments: str) -> None:
        self.replaced = 0
        """How often he had said nothing for too long."""
        self._log = log
        self._arguments = arguments
        self._stopping = threading.Event()
        self._process = self._begin()
        self._watch = threading.Thread(target=self._look_after, daemon=True)
        self._watch.start()

    def _begin(self) -> subprocess.Popen[bytes]:
        command = (sys.executable, "-m", "support.fault_histories.banker", *self._arguments)
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log:
            return subprocess.Popen(
                command, stdout=log, stderr=log, cwd=REPOSITORY, env={**ENVIRONMENT, "PYTHONPATH": "tests"}
            )

    def _look_after(self) -> None:
        while not self._stopping.wait(1.0):
            if time.time() - self._log.stat().st_mtime > SILENCE_S or self._process.poll() is not None:
                self._process.kill()
                self._process.wait(20)
                self.replaced += 1
                self._process = self._begin()

    def stop(self) -> None:
        """He ends what he is at; if he cannot, he is ended, and the coordinator ends his transaction."""
        self._stopping.set()
        self._watch.join()
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(SILENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(20)
            self.replaced += 1


class _Work:
    def __init__(self, servers: str, queue: str, accounts: str, name: str, protocol: str) -> None:
        self._servers, self._queue, self._accounts, self._name = servers, queue, accounts, f"{accounts}-{name}"
        self._protocol = protocol
        self.is_over = False

    def stop(self, _: int, __: FrameType | None) -> None:
        self.is_over = True

    def run(self) -> None:
        while not self.is_over:
            reader = self._reader()
            try:
                self._carry_out_all(reader)
            except KafkaException as error:
                print("begins anew:", error, flush=True)
                time.sleep(0.1)
            finally:
                reader.close()

    def _reader(self) -> Consumer:
        settings: dict[str, Any] = {
            "bootstrap.servers": self._servers,
            "group.id": self._accounts,
            "group.protocol": self._protocol,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            **PATIENT,
        }
        if self._protocol == "classic":
            settings |= {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 1_000}
        return Consumer(settings)

    def _carry_out_all(self, reader: Consumer) -> None:
        writer = Producer(
            {
                "bootstrap.servers": self._servers,
                "transactional.id": self._name,
                "transaction.timeout.ms": _TRANSACTION_MS,
                **PATIENT,
                "debug": "eos",
                "log_level": 7,
            }
        )
        writer.init_transactions(_INIT_S)
        reader.subscribe([self._queue])
        while not self.is_over:
            print("alive", flush=True)
            orders = [each for each in reader.consume(_AT_ONCE, 0.3) if each.error() is None]
            if orders:
                self._carry_out(orders, reader, writer)

    def _carry_out(self, orders: list[Message], reader: Consumer, writer: Producer) -> None:
        writer.begin_transaction()
        ends: dict[int, int] = {}
        for order in orders:
            number, partition = int(order.value() or b""), order.partition() or 0
            for account, amount in ((number, -amount_of(number)), (number + 1, amount_of(number))):
                writer.produce(self._accounts, b"%d %d" % (number, amount), partition=account % PARTITIONS)
            ends[partition] = (order.offset() or 0) + 1
        read = [TopicPartition(self._queue, partition, end) for partition, end in ends.items()]
        writer.send_offsets_to_transaction(read, reader.consumer_group_metadata(), _CALL_S)
        writer.commit_transaction(_CALL_S)


def main(servers: str, queue: str, accounts: str, name: str, protocol: str) -> None:
    work = _Work(servers, queue, accounts, name, protocol)
    signal.signal(signal.SIGTERM, work.stop)
    work.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
