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
from typing import Any, Final

from controller_runtime.broker.replica_fetchers import FetchSettings
from controller_runtime.broker.transactions.service import Transactions
from controller_runtime.coordinator.transactions.states import OVER
from controller_runtime.identifiers import NodeId, PartitionId, WallClock
from controller_runtime.parts.events import RequestId, ShutdownRequested
from controller_runtime.protocol.messages.create_topics_request import CreatableTopicConfig
from controller_runtime.protocol.messages.end_txn_request import EndTxnRequest
from controller_runtime.protocol.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from controller_runtime.values import dataclass
from support.clients.transfer_clients import (
    BEGINS_MS,
    BUMPING,
    PARTITIONS,
    TOPIC,
    Ask,
    Copied,
    Copier,
    Finding,
    Pause,
    Reader,
    Steps,
)
from support.nodes.broker_fleet import STEP_S, BrokerFleet
from support.nodes.broker_world import BrokerWorld

BROKERS: Final = (11, 12, 13)
COPIERS: Final = 2
STEPS: Final = 500
SESSION_S: Final = 9.5
LAG_S: Final = 1.0
PATIENCE_STEPS: Final = 40
"""How long a client waits for an answer."""
SETTLING_STEPS: Final = 1_500
STATE, OFFSETS = "__transaction_state", "__consumer_offsets"
SETTINGS: Final = {
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "3",
    "min.insync.replicas": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}


class Violation(AssertionError):
    """A promise was broken."""


@dataclass(slots=True)
class Told:
    """What happened, to see that a schedule is worth something."""

    committed: int = 0
    aborted: int = 0
    kills: int = 0
    stops: int = 0
    cuts: int = 0
    pauses: int = 0
    taken_over: int = 0
    fenced: int = 0
    late: int = 0
    """Requests that came after their client had given up."""


@dataclass(slots=True, eq=False)
class Client:
    steps: Steps
    connection: int
    waits: int = 0
    """Steps."""
    asked: tuple[BrokerWorld, RequestId] | None = None
    patience: int = 0
    begun: bool = False
    is_over: bool = False


@dataclass(slots=True)
class Late:
    """A request on its long way."""

    node: NodeId
    ask: Ask
    steps: int
    connection: int


class TransferSchedule:
    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.told = Told()
        self.version = self.rng.choice((0, 2))
        one_batch = FetchSettings(partition_bytes=1, answer_bytes=1)
        self.fleet = BrokerFleet(
            *BROKERS, rng=self.rng, replica_lag_s=LAG_S, replica_fetch=one_batch, node_configs=SETTINGS
        )
        configs = (CreatableTopicConfig(name="min.insync.replicas", value="2"),)
        created = self.fleet.controller.create(TOPIC, partitions=PARTITIONS, factor=len(BROKERS), configs=configs)
        created_input = self.fleet.controller.create("numbers", partitions=COPIERS, factor=1)
        assert (created.error_code, created_input.error_code) == (0, 0), (created, created_input)
        self.copied = [Copied(number) for number in range(COPIERS)]
        self.copiers: list[Copier] = []
        self.readers = [Reader(self._finding(), index) for index in range(PARTITIONS)]
        self._clients: list[Client] = []
        self._connections = 0
        self._late: list[Late] = []
        self._judged = [0] * PARTITIONS
        self._next: dict[tuple[int, int], int] = {}
        """By partition and copier: the number that comes next."""
        self._down: int | None = None
        self._is_calm = False
        """Nothing comes late any more."""
        for reader in self.readers:
            self._clients.append(Client(reader.run(), self._connection()))
        for copied in self.copied:
            self._begin(copied)

    def _finding(self) -> Finding:
        return Finding(lambda: self.fleet.controller.image, Random(self.rng.random()))

    def _connection(self) -> int:
        self._connections += 1
        return self._connections

    def _begin(self, copied: Copied) -> None:
        copier = Copier(copied, self._finding(), self.version, 1_000 * (len(self.copiers) + 1))
        self.copiers.append(copier)
        self._clients.append(Client(copier.run(), self._connection()))

    def run(self) -> Told:
        for _ in range(STEPS):
            self._happen()
            self._step()
        self._heal()
        self._compare()
        return self.told

    def _step(self) -> None:
        wall = WallClock(BEGINS_MS + round(self.fleet.controller.now * 1000))
        for world in self.fleet.brokers.values():
            world.wall = wall
        for client in self._clients:
            self._advance(client)
        self._clients = [each for each in self._clients if not each.is_over]
        self._deliver()
        self.fleet.step()
        self._judge()

    # Clients.

    def _advance(self, client: Client) -> None:
        if client.waits > 0:
            client.waits -= 1
            return
        answer: Any = None
        if client.asked is not None:
            world, request = client.asked
            is_up = self.fleet.brokers.get(world.node_id) is world
            if is_up and request not in world.answers:
                client.patience -= 1
                if client.patience > 0:
                    return
                world.hang_up(client.connection)
                client.connection = self._connection()
            answer = world.answers.pop(request, None) if is_up else None
            if answer is not None and self.rng.random() < 0.02:
                answer = None  # It is lost on its way.
            client.asked = None
        self._go_on(client, answer)

    def _go_on(self, client: Client, answer: Any) -> None:
        try:
            wanted = client.steps.send(answer) if client.begun else next(client.steps)
        except StopIteration:
            client.is_over = True
            return
        client.begun = True
        if isinstance(wanted, Pause):
            client.waits = wanted.steps
            return
        world = None if wanted.node is None else self.fleet.brokers.get(wanted.node)
        is_lost = wanted.node in self.fleet.paused and self._must_not_be_late(wanted)
        if world is None or is_lost:
            client.waits = 1
        elif self._comes_late(wanted) or wanted.node in self.fleet.paused:
            self._late.append(Late(world.node_id, wanted, self.rng.randint(1, 400), self._connection()))
            client.waits = PATIENCE_STEPS
        else:
            request = world.send(wanted.body, wanted.version, connection=client.connection)
            client.asked, client.patience = (world, request), PATIENCE_STEPS

    def _comes_late(self, wanted: Ask) -> bool:
        return not self._is_calm and self.rng.random() < 0.02 and not self._must_not_be_late(wanted)

    def _must_not_be_late(self, wanted: Ask) -> bool:
        """Before version 2 a late EndTxn ends the producer's next transaction, and a late offset becomes part of it:
        that is why there is a version 2 (KIP-890).
        """
        return self.version < BUMPING and isinstance(wanted.body, EndTxnRequest | TxnOffsetCommitRequest)

    def _deliver(self) -> None:
        for each in list(self._late):
            each.steps -= 1
            if each.steps > 0 or each.node in self.fleet.paused:
                continue
            self._late.remove(each)
            world = self.fleet.brokers.get(each.node)
            if world is not None:
                self.told.late += 1
                world.send(each.ask.body, each.ask.version, connection=each.connection)

    # Faults.

    def _happen(self) -> None:
        kind = self.rng.random()
        undisturbed = self._down is None and not self.fleet.cut and not self.fleet.paused
        if undisturbed and kind < 0.01:
            self.told.kills += 1
            self._end(self.rng.choice(BROKERS))
        elif undisturbed and kind < 0.013:
            self._stop(self.rng.choice(BROKERS))
        elif undisturbed and kind < 0.02:
            self.fleet.cut = {self.rng.choice(BROKERS)}
            self.told.cuts += 1
        elif undisturbed and kind < 0.025:
            self.fleet.paused = {self.rng.choice(BROKERS)}
            self.told.pauses += 1
        elif undisturbed and kind < 0.03:
            self._take_over()
        elif self._down is not None and kind < 0.1:
            if self.rng.random() < 0.7:
                self._let_pass(SESSION_S)
            self.fleet.start(self._down)
            self._down = None
        elif self.fleet.cut and kind < 0.1:
            self.fleet.cut = set()
        elif self.fleet.paused and kind < 0.1:
            if self.rng.random() < 0.5:
                self._let_pass(SESSION_S)
            self.fleet.resume()

    def _let_pass(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP_S)):
            self._step()

    def _take_over(self) -> None:
        copied = self.rng.choice(self.copied)
        for copier in self.copiers:
            copier.is_retired |= copier.copied is copied
        self.told.taken_over += 1
        self._begin(copied)

    def _end(self, node_id: int) -> None:
        self._down = node_id
        self.fleet.kill(node_id)

    def _stop(self, node_id: int) -> None:
        self.told.stops += 1
        world = self.fleet.brokers[node_id]
        world.happen(ShutdownRequested())
        for _ in range(400):
            if world.service.has_left:
                break
            self._step()
        self._end(node_id)

    # What must hold.

    def _judge(self) -> None:
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
        self.fleet.cut = set()
        self.fleet.resume()
        if self._down is not None:
            self.fleet.start(self._down)
            self._down = None
        self._let_pass(SESSION_S + 3.0)
        self._go_further()
        if self.rng.random() < 0.5:
            self._clients = self._clients[:PARTITIONS]  # Copiers die in the middle of what they do.
        for copier in self.copiers:
            copier.is_stopping = True
        self._is_calm = True
        for _ in range(SETTLING_STEPS):
            self._step()
            if len(self._clients) == PARTITIONS and not self._late and self._is_whole() and self._is_read():
                break
        else:
            raise Violation(f"not all is read: {self._places()}, {self._hanging()}")
        self.fleet.wait(1.0)

    def _go_further(self) -> None:
        """Nothing is in the way of copiers any more."""
        before = [copied.committed_to for copied in self.copied]
        for _ in range(SETTLING_STEPS):
            self._step()
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

    def _all_partitions(self) -> list[tuple[str, int]]:
        topics = self.fleet.controller.image.topics
        out = []
        for name in (TOPIC, STATE, OFFSETS):
            found = topics.named(name)
            assert found is not None, f"{name} was never made"
            out += [(name, index) for index in range(found.partition_count)]
        return out

    def _is_whole(self) -> bool:
        topics = self.fleet.controller.image.topics
        found = (topics.partition(topics.ids[name], index) for name, index in self._all_partitions())
        return all(one is not None and one.leader >= 0 and set(one.isr) == set(BROKERS) for one in found)

    def _compare(self) -> None:
        for name, index in self._all_partitions():
            logs = {node_id: self.fleet.log_bytes(node_id, name, index) for node_id in BROKERS}
            if len(set(logs.values())) != 1:
                raise Violation(f"logs of {name}-{index} differ: { {n: len(log) for n, log in logs.items()} }")
        for copied in self.copied:
            ends = [self._next.get((index, copied.number), 0) for index in range(PARTITIONS)]
            if len(set(ends)) != 1 or ends[0] < copied.committed_to:
                raise Violation(f"{copied.name}: {ends} numbers are read, {copied.committed_to} were committed")
            states = Counter(each.state for each in copied.attempts.values())
            self.told.committed += states["committed"]
            self.told.aborted += states["aborted"]
            self.told.fenced += copied.fenced
