"""A schedule of three brokers of production that keep two partitions together, while they are killed, stopped under
control and cut off from each other; from a seed, to its last byte.

What is looked at all the time:
- what a consumer has seen at an offset is there as long as the log is, and never another record;
- below the high watermark of any replica is what consumers have seen or will see: replicas agree;
and when all is healed: every record that was acknowledged by all in sync is in every log, and all logs are the same
bytes. There is never more than one broker down or cut off, and `min.insync.replicas` is 2: elections are clean.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Final

from controller_runtime.broker.replica_fetchers import FetchSettings
from controller_runtime.identifiers import NodeId, Offset, PartitionId
from controller_runtime.parts.events import RequestId, ShutdownRequested
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.create_topics_request import CreatableTopicConfig
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.record_batch import decode_batches
from controller_runtime.values import dataclass, field
from support.clients.client_requests import produce
from support.nodes.broker_fleet import BrokerFleet
from support.nodes.broker_world import BrokerWorld

BROKERS: Final = (11, 12, 13)
PARTITIONS: Final = 2
TOPIC: Final = "stock"
STEPS: Final = 150
SESSION_S: Final = 9.5
LAG_S: Final = 1.0
"""`replica.lag.time.max.ms`: who is cut off leaves the ISR while the schedule goes on."""


class Violation(AssertionError):
    """A promise was broken."""


@dataclass(slots=True)
class Told:
    """What happened, to see that a schedule is worth something."""

    acknowledged: int = 0
    kills: int = 0
    stops: int = 0
    cuts: int = 0
    truncations: int = 0
    leaders: set[tuple[int, int, int]] = field(default_factory=set)


class Schedule:
    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.told = Told()
        one_batch = FetchSettings(partition_bytes=1, answer_bytes=1)  # who is behind catches up slowly
        self.fleet = BrokerFleet(*BROKERS, rng=self.rng, replica_lag_s=LAG_S, replica_fetch=one_batch)
        configs = (CreatableTopicConfig(name="min.insync.replicas", value="2"),)
        created = self.fleet.controller.create(TOPIC, partitions=PARTITIONS, factor=len(BROKERS), configs=configs)
        assert created.error_code == 0, created
        self.fleet.wait(0.5)
        self.topic_id = self.fleet.controller.image.topics.ids[TOPIC]
        self._waiting: list[tuple[BrokerWorld, RequestId, int, bytes]] = []
        self._last_value = 0
        self.acknowledged: list[set[bytes]] = [set() for _ in range(PARTITIONS)]
        self.seen: list[dict[int, bytes]] = [{} for _ in range(PARTITIONS)]
        self._down: int | None = None

    def run(self) -> Told:
        for _ in range(STEPS):
            self._write()
            self._happen()
            self.fleet.step()
            self._collect()
            self._look()
        self._heal()
        self._compare()
        return self.told

    def _write(self) -> None:
        """To whom thinks that it leads, perhaps more than one: a client may have old metadata."""
        for index in range(PARTITIONS):
            for world in self.fleet.brokers.values():
                if self._led(world, index) and self.rng.random() < 0.6:
                    self._last_value += 1
                    value = b"%d" % self._last_value
                    acks = self.rng.choice((-1, -1, 1))
                    sent = world.send(produce(TOPIC, value, acks=acks, index=index, timeout_ms=5_000), 9)
                    if acks == -1:
                        self._waiting.append((world, sent, index, value))

    def _led(self, world: BrokerWorld, index: int) -> bool:
        led = world.service.partitions.led(PartitionId(self.topic_id, index))
        if led is not None:
            self.told.leaders.add((index, led.epoch, world.node_id))
        return led is not None

    def _happen(self) -> None:
        kind = self.rng.random()
        undisturbed = self._down is None and not self.fleet.cut
        if undisturbed and kind < 0.03:
            self._kill(self._victim())
        elif undisturbed and kind < 0.05:
            self._stop(self.rng.choice(BROKERS))
        elif undisturbed and kind < 0.08:
            self.fleet.cut = {self.rng.choice(BROKERS)}
            self.told.cuts += 1
        elif self._down is not None and kind < 0.1:
            if self.rng.random() < 0.7:
                self.fleet.wait(SESSION_S)  # its session ends, others lead
            self.fleet.start(self._down)
            self._down = None
        elif self.fleet.cut and kind < 0.2:
            if self.rng.random() < 0.5:
                self._kill(next(iter(self.fleet.cut)))
            self.fleet.cut = set()

    def _victim(self) -> int:
        """Somebody who leads, rather: what it told nobody else is gone."""
        leaders = [
            one.node_id for one in self.fleet.brokers.values() if any(map(partial(self._led, one), range(PARTITIONS)))
        ]
        return self.rng.choice([*BROKERS, *leaders, *leaders])

    def _kill(self, node_id: int) -> None:
        self.told.kills += 1
        self._end(node_id)

    def _end(self, node_id: int) -> None:
        self._down = node_id
        self.told.truncations += self.fleet.brokers[node_id].cuts
        self.fleet.kill(node_id)

    def _stop(self, node_id: int) -> None:
        """Under control: it hands over what it leads, and is gone."""
        self.told.stops += 1
        world = self.fleet.brokers[node_id]
        world.happen(ShutdownRequested())
        for _ in range(400):
            if world.service.has_left:
                break
            self.fleet.step()
        self._end(node_id)

    def _collect(self) -> None:
        left = []
        for world, sent, index, value in self._waiting:
            answer = world.answers.pop(sent, None)
            if answer is None:
                left.append((world, sent, index, value))
                continue
            assert isinstance(answer, ProduceResponse)
            if answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE:
                self.acknowledged[index].add(value)
                self.told.acknowledged += 1
        self._waiting = left

    # What must hold.

    def _values(self, world: BrokerWorld, index: int) -> dict[int, bytes]:
        key = PartitionId(self.topic_id, index)
        if world.service.partitions.open_log(key) is None:
            return {}
        log = world.manager.log(key)
        data = log.read(Offset(log.start_offset), 1 << 30)
        found = {}
        for batch in decode_batches(data):
            for record in batch.records:
                found[record.offset] = record.value or b""
        return found

    def _look(self) -> None:
        for index in range(PARTITIONS):
            for world in self.fleet.brokers.values():
                log = world.service.partitions.open_log(PartitionId(self.topic_id, index))
                if log is None or log.written_offset == 0:
                    continue
                values = self._values(world, index)
                for offset in range(log.high_watermark):
                    self._agree(world.node_id, index, offset, values.get(offset))

    def _agree(self, node_id: NodeId, index: int, offset: int, value: bytes | None) -> None:
        first = self.seen[index].setdefault(offset, value or b"")
        if value != first:
            raise Violation(f"broker {node_id} shows {value!r} at {index}:{offset}, which was {first!r}")

    def _heal(self) -> None:
        self.fleet.cut = set()
        if self._down is not None:
            self.fleet.start(self._down)
        self.fleet.wait(SESSION_S + 3.0)  # whoever died is known to have
        for _ in range(1200):
            self.fleet.step()
            self._collect()
            if all(self._is_whole(index) for index in range(PARTITIONS)):
                break
        else:
            raise Violation("not all are in sync again")
        self.fleet.wait(1.0)
        self._look()
        self.told.truncations += sum(world.cuts for world in self.fleet.brokers.values())

    def _is_whole(self, index: int) -> bool:
        one = self.fleet.controller.image.topics.partition(self.topic_id, index)
        return one is not None and one.leader >= 0 and set(one.isr) == set(BROKERS)

    def _compare(self) -> None:
        for index in range(PARTITIONS):
            logs = {node_id: self.fleet.log_bytes(node_id, TOPIC, index) for node_id in BROKERS}
            values = set(self._values(self.fleet.brokers[BROKERS[0]], index).values())
            lost = self.acknowledged[index] - values
            if lost:
                raise Violation(f"{len(lost)} acknowledged records of partition {index} are lost: {sorted(lost)[:5]}")
            if len(set(logs.values())) != 1:
                raise Violation(f"logs of partition {index} differ: { {n: len(log) for n, log in logs.items()} }")
            gone = [offset for offset, value in self.seen[index].items() if value not in values]
            if gone:
                raise Violation(f"what consumers saw of partition {index} is gone: {gone[:5]}")
