"""A controller that decides requests together says and writes what it would say and write one by one."""

from __future__ import annotations

import pytest

from controller_runtime.controller.service import ControllerConfig
from controller_runtime.identifiers import DirectoryId, Endpoint, Instant, NodeId, ReplicaKey, Uuid, WallClock
from controller_runtime.metadata.features import bootstrap_records
from controller_runtime.node.compose import NodeConfig, NodeDisk, compose
from controller_runtime.node.controller_part import ControllerPartConfig
from controller_runtime.node.controller_registration import ControllerIdentity
from controller_runtime.node.events import NodeEvent
from controller_runtime.node.pump import Pump
from controller_runtime.node.quorum.effects import Append, SaveElection
from controller_runtime.parts.chance import Chance
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import ConnectionId, ConnectionInfo, RequestId, RequestReceived, TimePassed
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.messages.describe_cluster_request import DescribeClusterRequest
from controller_runtime.protocol.messages.fetch_request import FetchRequest
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.record_batch import batch_headers, decode_batches
from controller_runtime.protocol.schema import Message
from controller_runtime.raft.config import RaftConfig
from controller_runtime.raft.voter_set import Voter, VoterSet
from controller_runtime.storage.metadata_log import MetadataLog
from support.disks.memory_disk import MemoryDisk

pytestmark = pytest.mark.unit

HERE = (("C", Endpoint("here", 1)),)
CONNECTION = ConnectionInfo(ConnectionId(1), "C")
WALL = WallClock(1_795_000_000_000)


class Solo:
    """One voter on a disk in memory; a sync happens when the test says so."""

    def __init__(self) -> None:
        disk = MemoryDisk()
        disk.make_directories("/")
        self.log = MetadataLog.open(disk, "/log")
        node_id = NodeId(1)
        decisions = ControllerConfig(node_id, "cluster", bootstrap_records("4.3"))
        identity = ControllerIdentity(node_id, Uuid(b"i" * 16), (("C", HERE[0][1], 0),))
        self.node = compose(
            NodeConfig(
                RaftConfig(node_id, DirectoryId(Uuid(bytes(16))), "C", HERE),
                "cluster",
                VoterSet.of([Voter(ReplicaKey(node_id), HERE)]),
                controller=ControllerPartConfig(decisions, identity),
            ),
            NodeDisk(self.log, self.log, None),
            Chance(lambda: Uuid(b"u" * 16), lambda bound: 0),
            lambda: 0.5,
            Instant(0.0),
        )
        self.answers: list[tuple[int, Message]] = []
        self.pump = Pump(self.node, lambda: self.log.flushed_offset)
        self.pump.start(Instant(0.0), WALL)
        self.perform()
        self.sync()
        assert self.node.is_active
        self.answers.clear()

    def hear(self, *events: NodeEvent) -> None:
        for event in events:
            self.pump.feed(event)
        while taken := self.pump.take():
            self.pump.step(taken, Instant(0.1), WALL)
            self.perform()

    def perform(self) -> None:
        for effect in self.pump.effects():
            match effect:
                case SaveElection():
                    self.pump.saved()
                case Append():
                    self.log.append(effect.batches)
                case Respond(request_id, body):
                    self.answers.append((request_id, body))
                case _:
                    pass

    def sync(self) -> None:
        for _ in range(8):
            while (pending := self.log.take_pending_write()) is not None:
                pending.perform()
                self.log.complete(pending)
                self.pump.log_flushed()
            self.hear(TimePassed())


def change(name: str, value: str) -> Message:
    config = AlterableConfig(name=name, config_operation=2, value=value)
    return IncrementalAlterConfigsRequest(
        resources=(AlterConfigsResource(resource_type=4, resource_name="", configs=(config,)),)
    )


REQUESTS: list[tuple[ApiKey, int, Message]] = [
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, change("log.cleanup.policy", "compact")),
    (ApiKey.DESCRIBE_CLUSTER, 0, DescribeClusterRequest()),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, change("log.cleanup.policy", "more")),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, change("nonsense", "x")),
    (ApiKey.FETCH, 17, FetchRequest()),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, change("metric.reporters", "a.b.C")),
]


def received() -> list[RequestReceived]:
    return [
        RequestReceived(RequestId(number), CONNECTION, key, version, None, body)
        for number, (key, version, body) in enumerate(REQUESTS)
    ]


def test_together_is_as_one_by_one() -> None:
    """APPEND sees what the request before it appended, answers keep their content, records their order."""
    one_by_one, together = Solo(), Solo()
    for request in received():
        one_by_one.hear(request)
    one_by_one.sync()
    before = together.log.end_offset
    together.hear(*received())
    assert [request_id for request_id, _ in together.answers] == [1, 4], "changes wait for the disk"
    together.sync()
    assert sorted(together.answers, key=lambda a: a[0]) == sorted(one_by_one.answers, key=lambda a: a[0])
    assert together.node.image == one_by_one.node.image
    assert together.node.image.configs.of(4, "")["log.cleanup.policy"] == "delete,compact,more"
    logs = [decode_batches(each.log.read(before, 1 << 20)) for each in (one_by_one, together)]
    values = [[record.value for batch in log for record in batch.records] for log in logs]
    assert values[0] == values[1]
    assert len(list(batch_headers(together.log.read(before, 1 << 20)))) == 1
