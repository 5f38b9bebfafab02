"""A schedule of three brokers of production that keep transactions, their offsets and what they write, while they are
killed, stopped under control, cut off and paused, while requests of clients come late and answers are lost; from a
seed, to its last byte.

Each copier writes every number of its own once, and only in committed transactions, to two partitions. Now and then
another one takes its place, and the former goes on as if nothing were. Readers of committed records are looked at all
the time:
- what they read belongs to a transaction that its copier asked to commit, never to an aborted one;
- each number is read once and in order, by all readers alike; positions never go back;
and when all is healed: copiers go on, no transaction hangs (readers reach the end of the log), what was told to be
committed is read, the numbers read are those up to the committed position, and all replicas have the same bytes. There
is never more than one broker down, cut off or paused, and `min.insync.replicas` is 2: elections are clean.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Final

from controller_runtime.broker.replica_fetchers import FetchSettings
from controller_runtime.broker.transactions.service import Transactions
from controller_runtime.coordinator.transactions.states import OVER
from controller_runtime.identifiers import PartitionId
from controller_runtime.protocol.messages.create_topics_request import CreatableTopicConfig
from controller_runtime.protocol.messages.end_txn_request import EndTxnRequest
from controller_runtime.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from controller_runtime.values import dataclass
from support.clients.transfer_clients import BUMPING, PARTITIONS, TOPIC, Ask, Copied, Copier, Finding, Reader
from support.nodes.broker_fleet import BrokerFleet
from support.nodes.client_schedule import ClientSchedule, Troubles, Violation

BROKERS: Final = (11, 12, 13)
COPIERS: Final = 2
STEPS: Final = 500
LAG_S: Final = 1.0
SETTLING_STEPS: Final = 1_500
STATE, OFFSETS = "__transaction_state", "__consumer_offsets"
KEPT: Final = [TOPIC, STATE, OFFSETS]
SETTINGS: Final = {
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "3",
    "min.insync.replicas": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}


@dataclass(slots=True)
class Told:
    """What happened, to see that a schedule is worth something."""

    troubles: Troubles
    committed: int = 0
    aborted: int = 0
    taken_over: int = 0
    fenced: int = 0


class TransferSchedule(ClientSchedule):
    def __init__(self, seed: int) -> None:
        rng = Random(seed)
        self.version = rng.choice((0, 2))
        one_batch = FetchSettings(partition_bytes=1, answer_bytes=1)
        fleet = BrokerFleet(*BROKERS, rng=rng, replica_lag_s=LAG_S, replica_fetch=one_batch, node_configs=SETTINGS)
        super().__init__(rng, fleet)
        self.told = Told(self.troubles)
        configs = (CreatableTopicConfig(name="min.insync.replicas", value="2"),)
        created = self.fleet.controller.create(TOPIC, partitions=PARTITIONS, factor=len(BROKERS), configs=configs)
        created_input = self.fleet.controller.create("numbers", partitions=COPIERS, factor=1)
        assert (created.error_code, created_input.error_code) == (0, 0), (created, created_input)
        self.copied = [Copied(number) for number in range(COPIERS)]
        self.copiers: list[Copier] = []
        self.readers = [Reader(self._finding(), index) for index in range(PARTITIONS)]
        self._judged = [0] * PARTITIONS
        self._next: dict[tuple[int, int], int] = {}
        """By partition and copier: the number that comes next."""
        for reader in self.readers:
            self.begin(reader.run())
        for copied in self.copied:
            self._copy(copied)

    def _finding(self) -> Finding:
        return Finding(lambda: self.fleet.controller.image, Random(self.rng.random()))

    def _copy(self, copied: Copied) -> None:
        copier = Copier(copied, self._finding(), self.version, 1_000 * (len(self.copiers) + 1))
        self.copiers.append(copier)
        self.begin(copier.run())

    def run(self) -> Told:
        for _ in range(STEPS):
            self.happen()
            self.step()
        self._heal()
        self._compare()
        return self.told

    def must_not_be_late(self, wanted: Ask) -> bool:
        """Before version 2 a late EndTxn ends the producer's next transaction, and a late offset becomes part of it:
        that is why there is a version 2 (KIP-890).
        """
        return self.version < BUMPING and isinstance(wanted.body, EndTxnRequest | TxnOffsetCommitRequest)

    def happens_besides(self, kind: float) -> None:
        """Another copier takes the place of one."""
        if kind >= 0.03:
            return
        copied = self.rng.choice(self.copied)
        for copier in self.copiers:
            copier.is_retired |= copier.copied is copied
        self.told.taken_over += 1
        self._copy(copied)

    # What must hold.

    def judge(self) -> None:
        for reader in self.readers:
            for offset, value in reader.read[self._judged[reader.index] :]:
                self._judge_one(reader.index, offset, value)
            self._judged[reader.index] = len(reader.read)

    def _judge_one(self, index: int, offset: int, value: bytes) -> None:
        number, found, transaction = map(int, value.split())
        state = self.copied[number].attempts[transaction].state
        if state not in ("asked to commit", "committed"):
            raise Violation(f"a record of a transaction that is {state} is read at {index}:{offset}: {value!r}")
        expected = self._next.get((index, number), 0)
        if found != expected:
            raise Violation(f"{found} is read at {index}:{offset}, where {expected} of copier {number} is next")
        self._next[index, number] = expected + 1

    def _heal(self) -> None:
        self.mend()
        self._go_further()
        if self.rng.random() < 0.5:
            self.clients = self.clients[:PARTITIONS]  # Copiers die in the middle of what they do.
        for copier in self.copiers:
            copier.is_stopping = True
        self.is_calm = True
        for _ in range(SETTLING_STEPS):
            self.step()
            if len(self.clients) == PARTITIONS and not self.late and self.is_whole(KEPT) and self._is_read():
                break
        else:
            raise Violation(f"not all is read: {self._places()}, {self._hanging()}")
        self.fleet.wait(1.0)

    def _go_further(self) -> None:
        """Nothing is in the way of copiers any more."""
        before = [copied.committed_to for copied in self.copied]
        for _ in range(SETTLING_STEPS):
            self.step()
            if all(copied.committed_to > at for copied, at in zip(self.copied, before, strict=True)):
                return
        raise Violation(f"copiers do not go on from {before}: {self._hanging()}")

    def _places(self) -> list[tuple[int, int]]:
        return [(reader.position, self._end_of(reader.index)) for reader in self.readers]

    def _is_read(self) -> bool:
        return all(position == end for position, end in self._places()) and not self._hanging()

    def _hanging(self) -> list[str]:
        """What coordinators have not ended."""
        out = []
        for world in self.fleet.brokers.values():
            made = world.service._coordinators._transactions._made
            if not isinstance(made, Transactions):
                continue
            for partition in made._state.coordinator.partitions.values():
                for name, entry in partition.known.items():
                    if entry.pending is not None or entry.now.state not in OVER:
                        out.append(f"{name}: {entry.now.state.name}")
        return out

    def _end_of(self, index: int) -> int:
        leader = self.fleet.leader(TOPIC, index)
        if leader is None:
            return -1
        log = leader.service.partitions.open_log(PartitionId(self.fleet.controller.image.topics.ids[TOPIC], index))
        return -1 if log is None else log.written_offset

    def _compare(self) -> None:
        self.compare_logs(KEPT)
        for copied in self.copied:
            ends = [self._next.get((index, copied.number), 0) for index in range(PARTITIONS)]
            if len(set(ends)) != 1 or ends[0] < copied.committed_to:
                raise Violation(f"{copied.name}: {ends} numbers are read, {copied.committed_to} were committed")
            states = Counter(each.state for each in copied.attempts.values())
            self.told.committed += states["committed"]
            self.told.aborted += states["aborted"]
            self.told.fenced += copied.fenced
