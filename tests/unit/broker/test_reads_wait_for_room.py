"""What is read for consumers is in memory until they have taken it: few reads at once, none while they have much to
take.
"""

from __future__ import annotations

import asyncio

import pytest

from controller_runtime.broker.effects import CancelRead, ReadRecords, RecordsRead, WorkId
from controller_runtime.broker.forwarding import Forwarder
from controller_runtime.identifiers import BrokerEpoch, DirectoryId, Endpoint, Instant, Uuid
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.effects import Call
from controller_runtime.parts.events import ConnectionId, ConnectionInfo
from controller_runtime.parts.failed_requests import FailedRequests
from controller_runtime.protocol.framing import decode_request
from controller_runtime.protocol.messages.create_topics_request import CreateTopicsRequest
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.server.shell.data_plane import BrokerDataPlane
from controller_runtime.server.shell.directory_reads import READS_AT_ONCE
from support.disks.memory_disk import MemoryDisk

pytestmark = pytest.mark.unit

DATA = DirectoryId(Uuid.of(0x1000_0000_0000_4000, 0x8000_0000_0000_0001))


async def test_reads_wait_until_consumers_have_taken_what_was_read() -> None:
    disk = MemoryDisk()
    disk.make_directories("/data")
    plane = BrokerDataPlane(disk, {DATA: "/data"}, lambda _: None, wall_ms=lambda: 0)
    read: list[object] = []
    came = asyncio.Event()

    def fed(event: object) -> None:
        read.append(event)
        came.set()

    plane.attach(fed)
    room = False
    plane.attach_room(lambda: room)
    for number in range(3):
        plane.perform(ReadRecords(WorkId(number), (), 100))
    await asyncio.sleep(0.05)
    assert not read
    room = True
    plane.room_made()
    assert [queue.at_work for queue in plane._reads._queues.values()] == [READS_AT_ONCE]
    while len(read) < 3:
        came.clear()
        await asyncio.wait_for(came.wait(), 20)
    assert read == [RecordsRead(WorkId(number), ()) for number in range(3)]
    plane.close(BrokerEpoch(1))


async def test_a_read_that_waits_and_is_wanted_no_more_is_not_done() -> None:
    """The client hung up while consumers had much to take."""
    disk = MemoryDisk()
    disk.make_directories("/data")
    plane = BrokerDataPlane(disk, {DATA: "/data"}, lambda _: None, wall_ms=lambda: 0)
    read: list[object] = []
    came = asyncio.Event()

    def fed(event: object) -> None:
        read.append(event)
        came.set()

    plane.attach(fed)
    room = False
    plane.attach_room(lambda: room)
    for number in range(2):
        plane.perform(ReadRecords(WorkId(number), (), 100))
    plane.perform(CancelRead(WorkId(0)))
    room = True
    plane.room_made()
    await asyncio.wait_for(came.wait(), 20)
    plane.close(BrokerEpoch(1))
    assert read == [RecordsRead(WorkId(1), ())]


def test_the_controller_is_not_called_for_more_names_than_it_makes_topics_for_one_request() -> None:
    forwarder = Forwarder("broker-11", CallIds(), FailedRequests())
    now, who = Instant(0.0), ConnectionInfo(ConnectionId(1), "PLAINTEXT", principal="User:ann")
    names = tuple(f"t{number}" for number in range(10_001))
    forwarder.create_topics(names, who, now)
    assert forwarder.next_deadline(reachable=False) is None
    forwarder.create_topics(names[:9_000], who, now)
    forwarder.create_topics(("a", "a", *names[:5]), who, now)
    forwarder.create_topics(tuple(f"u{number}" for number in range(1_000)), who, now)
    asked = [_names(call) for call in forwarder.poll(Endpoint("controller", 9093), now)]
    assert asked == [names[:9_000], ("a",)], "together no more either, and nothing twice"


def _names(call: object) -> tuple[str, ...]:
    assert isinstance(call, Call)
    assert isinstance(call.body, EnvelopeRequest)
    assert b"ann" in (call.body.request_principal or b""), "it is the client's wish"
    body = decode_request(call.body.request_data).body
    assert isinstance(body, CreateTopicsRequest)
    return tuple(topic.name for topic in body.topics)
