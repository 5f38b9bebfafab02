"""What is read for consumers is in memory until they have taken it: few reads at once, none while they have much to
take.
"""

from __future__ import annotations

import asyncio

import pytest

from controller_runtime.identifiers import BrokerEpoch, DirectoryId, Instant, Uuid
from controller_runtime.node.broker_effects import ReadRecords, RecordsRead, WorkId
from controller_runtime.node.broker_forwarding import Forwarder
from controller_runtime.node.faults import FailedRequests
from controller_runtime.node.metadata_replica import CallIds
from controller_runtime.server.shell.data_plane import READS_AT_ONCE, BrokerDataPlane
from support.memory_disk import MemoryDisk

pytestmark = pytest.mark.unit

DATA = DirectoryId(Uuid.of(0x1000_0000_0000_4000, 0x8000_0000_0000_0001))


async def test_reads_wait_until_consumers_have_taken_what_was_read() -> None:
    disk = MemoryDisk()
    disk.make_directories("/data")
    plane = BrokerDataPlane(disk, {DATA: "/data"}, lambda _: None)
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
    assert plane._reading == READS_AT_ONCE
    while len(read) < 3:
        came.clear()
        await asyncio.wait_for(came.wait(), 20)
    assert read == [RecordsRead(WorkId(number), ()) for number in range(3)]
    plane.close(BrokerEpoch(1))


def test_the_controller_is_not_called_for_more_names_than_it_makes_topics_for_one_request() -> None:
    forwarder = Forwarder("broker-11", CallIds(), FailedRequests())
    now = Instant(0.0)
    names = tuple(f"t{number}" for number in range(10_001))
    forwarder.create_topics(names, now)
    assert forwarder.next_deadline(reachable=False) is None
    forwarder.create_topics(names[:9_000], now)
    forwarder.create_topics(("a", "a", *names[:5]), now)
    forwarder.create_topics(tuple(f"u{number}" for number in range(1_000)), now)
    asked = [tuple(topic.name for topic in each.body.topics) for each in forwarder._waiting]  # type: ignore[attr-defined]
    assert asked == [names[:9_000], ("a",)], "together no more either, and nothing twice"
