"""What a broker acknowledged is in its log when it says so, and is read there again: after a restart, after a kill;
and after a power loss as far as it had been flushed (Kafka with one replica: the page cache outlives a process, not a
machine).

A Fetch that begins at or below an acknowledged record finds it, byte for byte: it is neither skipped, nor changed, nor
"out of range".
"""

from __future__ import annotations

from collections.abc import Iterator

from controller_runtime.identifiers import NodeId, PartitionId
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.fetch_request import FetchRequest
from controller_runtime.protocol.messages.fetch_response import FetchResponse, PartitionData
from controller_runtime.protocol.messages.produce_request import ProduceRequest
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.record_batch import decode_batches
from controller_runtime.protocol.schema import Message
from controller_runtime.storage.errors import StorageError
from support.simulation.machine import Machine
from support.simulation.world import Violation, World

Values = dict[int, bytes]
"""By offset."""


class AcknowledgedIsReadable:
    def __init__(self) -> None:
        self.acknowledged: dict[tuple[NodeId, PartitionId], Values] = {}
        self.losses_seen: dict[NodeId, int] = {}

    def on_answer(self, world: World, machine: Machine, asked: Message, answer: Message) -> None:
        if not machine.is_broker:
            return
        self._forget_lost(machine)
        match asked, answer:
            case ProduceRequest(), ProduceResponse():
                for log_id, base, values in acknowledged(asked, answer):
                    self._note(machine, log_id, {base + n: value for n, value in enumerate(values)})
            case FetchRequest(), FetchResponse():
                for log_id, offset, data in fetched(asked, answer):
                    self._check_fetch(machine, log_id, offset, data)
            case _:
                pass

    def at_end(self, world: World) -> None:
        for machine in world.brokers:
            self._forget_lost(machine)
            assert machine.node is not None
            assert machine.data is not None
            topics = machine.node.image.topics
            for (node, log_id), wanted in list(self.acknowledged.items()):
                if node != machine.id:
                    continue
                if topics.get(log_id.topic_id) is None:
                    del self.acknowledged[node, log_id]
                elif machine.data.is_open(log_id):
                    self._compare(machine, log_id, wanted)

    def _forget_lost(self, machine: Machine) -> None:
        """What was not flushed when its machine lost power, or when its disk failed."""
        for flushed in machine.losses[self.losses_seen.get(machine.id, 0) :]:
            for (node, log_id), values in self.acknowledged.items():
                if node == machine.id:
                    for offset in [offset for offset in values if offset >= flushed.get(log_id, 0)]:
                        del values[offset]
        self.losses_seen[machine.id] = len(machine.losses)

    def _note(self, machine: Machine, log_id: PartitionId, values: Values) -> None:
        known = self.acknowledged.setdefault((machine.id, log_id), {})
        given_twice = known.keys() & values.keys()
        if given_twice:
            raise Violation(f"n{machine.id} gives offset {min(given_twice)} of {log_id} to two records")
        known.update(values)
        self._compare(machine, log_id, values)

    def _compare(self, machine: Machine, log_id: PartitionId, wanted: Values) -> None:
        if not wanted:
            return
        assert machine.data is not None
        try:
            found = values_of(machine.data.read(log_id, min(wanted)))
        except StorageError as error:
            raise Violation(f"n{machine.id} acknowledged {log_id} from {min(wanted)}, its log says: {error}") from None
        for offset, value in wanted.items():
            if found.get(offset) != value:
                raise Violation(f"n{machine.id} acknowledged {value!r} at {offset}, its log has {found.get(offset)!r}")

    def _check_fetch(self, machine: Machine, log_id: PartitionId, offset: int, data: PartitionData) -> None:
        wanted = {at: value for at, value in self.acknowledged.get((machine.id, log_id), {}).items() if at >= offset}
        if not wanted or data.error_code not in (ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE):
            return
        found = values_of(data.records or b"")
        if data.error_code != ErrorCode.NONE or not found:
            raise Violation(f"n{machine.id} finds nothing at {offset}, acknowledged is {sorted(wanted)}: {data!r}")
        for at, value in wanted.items():
            if at <= max(found) and found.get(at) != value:
                raise Violation(f"n{machine.id} acknowledged {value!r} at {at}, and lets read {found.get(at)!r}")


def acknowledged(asked: ProduceRequest, answer: ProduceResponse) -> Iterator[tuple[PartitionId, int, list[bytes]]]:
    """Where what was produced begins, as far as it was taken."""
    records = {
        (topic.topic_id, data.index): data.records for topic in asked.topic_data for data in topic.partition_data
    }
    for topic in answer.responses:
        for told in topic.partition_responses:
            if told.error_code == ErrorCode.NONE:
                sent = values_of(records[topic.topic_id, told.index] or b"")
                yield PartitionId(topic.topic_id, told.index), told.base_offset, list(sent.values())


def fetched(asked: FetchRequest, answer: FetchResponse) -> Iterator[tuple[PartitionId, int, PartitionData]]:
    """What there was from the offset that was asked for."""
    offsets = {
        (topic.topic_id, wanted.partition): wanted.fetch_offset for topic in asked.topics for wanted in topic.partitions
    }
    for topic in answer.responses:
        for data in topic.partitions:
            place = topic.topic_id, data.partition_index
            if place in offsets:
                yield PartitionId(*place), offsets[place], data


def values_of(records: bytes) -> Values:
    return {
        batch.header.base_offset + n: record.value or b""
        for batch in decode_batches(records)
        for n, record in enumerate(batch.records)
    }
