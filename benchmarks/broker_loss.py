"""A broker that leads 10,000 partitions is gone: from the end of its session to the commit of new leaders for all.

Two stand-in brokers have a replica of each partition; one of them stops sending heartbeats, which is all that a
controller sees of a `kill -9`. Somebody who fetches the metadata log, as an observer does, counts committed changes of
leaders; the time is that of the last of them. Other load there is none.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from benchmarks import load
from benchmarks.clusters import BenchmarkError, Kind, Member, Quorum
from benchmarks.wire_client import Connection
from controller_runtime.identifiers import METADATA_TOPIC_ID
from controller_runtime.metadata.records import decode_record
from controller_runtime.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from controller_runtime.protocol.messages.fetch_response import FetchResponse, PartitionData
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.record_batch import decode_batches

PARTITIONS: Final = 10_000
PER_TOPIC: Final = 1_000
SESSION_S: Final = 9.0
LOST, LEFT = load.BROKER_ID, load.BROKER_ID + 1
OBSERVER: Final = 900
Samples = dict[str, list[float]]


def lost(kind: Kind, directory: Path, times: int) -> Samples:
    """`times` runs of a fresh quorum."""
    found = [_once(Quorum(kind, directory / str(number))) for number in range(times)]
    return {"end of a session to new leaders for 10,000 partitions": found}


def _once(quorum: Quorum) -> float:
    quorum.format()
    quorum.start()
    try:
        load.prepare(quorum)
        leader = load.leader(quorum)
        for broker in (LOST, LEFT):
            if problem := load.unfence(leader, broker):
                raise BenchmarkError(problem)
        for number in range(PARTITIONS // PER_TOPIC):
            _create(leader, f"led-{number}")
            _beat(leader, LOST, LEFT)
        reader = _Log(leader)
        reader.new_leaders()  # up to now
        load.heartbeat(leader, LOST)
        ends = time.monotonic() + SESSION_S
        seen = 0
        while seen < PARTITIONS:
            if time.monotonic() > ends + 60:
                raise BenchmarkError(f"{quorum.kind}: {seen} of {PARTITIONS} have a new leader")
            load.heartbeat(leader, LEFT)
            seen += reader.new_leaders()
        return time.monotonic() - ends
    finally:
        quorum.stop()


def _beat(leader: Member, *brokers: int) -> None:
    for broker in brokers:
        load.heartbeat(leader, broker)


def _create(leader: Member, name: str) -> None:
    places = tuple(CreatableReplicaAssignment(partition_index=n, broker_ids=(LOST, LEFT)) for n in range(PER_TOPIC))
    topic = CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=places)
    with Connection(leader.port, host=leader.host, timeout_s=60.0) as connection:
        request = CreateTopicsRequest(topics=(topic,), timeout_ms=50_000)
        created = connection.ask(19, 7, request, CreateTopicsResponse).topics[0]
    if created.error_code:
        raise BenchmarkError(f"create {name}: error {created.error_code} {created.error_message}")


class _Log:
    """The metadata log, read from the leader as far as it is committed."""

    def __init__(self, leader: Member) -> None:
        self._connection = Connection(leader.port, host=leader.host, timeout_s=30.0)
        self._offset, self._epoch = 0, 0
        self._leader_epoch = 1

    def new_leaders(self) -> int:
        """How many changes of leaders were committed since the last time."""
        found = 0
        while True:
            answer = self._fetch()
            if answer.current_leader.leader_epoch > self._leader_epoch:
                self._leader_epoch = answer.current_leader.leader_epoch
                continue
            if answer.error_code:
                raise BenchmarkError(f"fetch of the metadata log: error {answer.error_code}")
            if answer.diverging_epoch.end_offset >= 0:
                self._offset, self._epoch = answer.diverging_epoch.end_offset, answer.diverging_epoch.epoch
                continue
            batches = decode_batches(answer.records or b"", check_crc=False, partial_tail=True)
            whole = [batch for batch in batches if batch.header.next_offset <= answer.high_watermark]
            if not whole:
                return found
            for batch in whole:
                self._offset, self._epoch = batch.header.next_offset, batch.header.partition_leader_epoch
                for record in () if batch.header.is_control else batch.records:
                    change = decode_record(record.value or b"")[0]
                    found += isinstance(change, PartitionChangeRecord) and change.leader == LEFT

    def _fetch(self) -> PartitionData:
        partition = FetchPartition(
            fetch_offset=self._offset,
            last_fetched_epoch=self._epoch,
            partition_max_bytes=1 << 20,
            current_leader_epoch=self._leader_epoch,
        )
        request = FetchRequest(
            replica_state=ReplicaState(replica_id=OBSERVER),
            max_wait_ms=20,
            min_bytes=1,
            topics=(FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=(partition,)),),
        )
        answer = self._connection.ask(1, 17, request, FetchResponse)
        if answer.error_code:
            raise BenchmarkError(f"fetch: error {answer.error_code}")
        return answer.responses[0].partitions[0]
