"""An exception anywhere while a request is decoded, decided, encoded, forwarded, answered, or judged by consensus costs
that request alone.

A failpoint is one call of one function of ours, of all that some requests make: the n-th raises, n and the exception
drawn from the seed. The nodes are production nodes that talk in frames (`support.nodes.frame_hosts`). Afterwards every
other request was answered as if nothing had been, the next one is served, and the image is what the log says. A node
may stop only where consensus had begun to change; then its disk starts another.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

import pytest

from controller_runtime.broker.fetch import FetchHandler
from controller_runtime.broker.forwarding import Forwarder
from controller_runtime.broker.service import BrokerService
from controller_runtime.identifiers import METADATA_TOPIC_ID, NodeId, Uuid
from controller_runtime.metadata.replay import ReplayError
from controller_runtime.node.active.active_controller import Active
from controller_runtime.node.controller_part import ControllerPart
from controller_runtime.node.quorum.faults import NodeFault
from controller_runtime.node.quorum.metadata_replica import MetadataReplica
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.framing import decode_response
from controller_runtime.protocol.messages import fetch_request as fetch_q
from controller_runtime.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from controller_runtime.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.default_principal_data import DefaultPrincipalData
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.describe_cluster_request import DescribeClusterRequest
from controller_runtime.protocol.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from controller_runtime.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.init_producer_id_request import InitProducerIdRequest
from controller_runtime.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from controller_runtime.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from controller_runtime.protocol.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from controller_runtime.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from controller_runtime.protocol.messages.update_features_request import UpdateFeaturesRequest
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.protocol.schema import Message
from controller_runtime.server.shell.requests import Requests
from support.golden import json_lines
from support.nodes.controller_world import World
from support.nodes.failpoints import Failpoint
from support.nodes.frame_hosts import BROKER_LISTENER, CONTROLLER_LISTENER, Host, Line, Town, frame, replayed
from support.nodes.lone_controller import CLUSTER_ID
from support.nodes.strangers import begin, end, fetch_snapshot, vote

pytestmark = pytest.mark.properties

SECONDS: Final = float(os.environ.get("QUORATE_FAILPOINT_SECONDS", "600" if os.environ.get("QUORATE_SOAK") else "4"))
"""Of processor time for each kind of node."""
ERRORS: Final = (
    ValueError,
    AssertionError,
    KeyError,
    IndexError,
    TypeError,
    OverflowError,
    RecursionError,
    MemoryError,
    ProtocolError,
    ReplayError,
)
HANDLING: Final = [
    one.__code__
    for one in (
        Requests.frame_received,
        Requests.respond,
        Requests.relay,
        ControllerPart._on_request,
        Active._decide,
        Active._long_goes_on,
        MetadataReplica.request,
        MetadataReplica.response,
        BrokerService.on_request,
        BrokerService.on_unread,
        BrokerService.on_response,
        FetchHandler.on_read,
        Forwarder.on_response,
    )
]
"""What runs for somebody's request or answer; the rest of a step is the node's own work."""
STRANGER: Final = Uuid.of(0x77, 0x77)


def topics(*names: str, partitions: int = 1, validate: bool = False) -> CreateTopicsRequest:
    wanted = tuple(CreatableTopic(name=name, num_partitions=partitions, replication_factor=1) for name in names)
    return CreateTopicsRequest(topics=wanted, timeout_ms=5000, validate_only=validate)


def configs(topic: str) -> IncrementalAlterConfigsRequest:
    changes = (AlterableConfig(name="retention.ms", config_operation=0, value="1000"),)
    return IncrementalAlterConfigsRequest(
        resources=(AlterConfigsResource(resource_type=2, resource_name=topic, configs=changes),)
    )


def in_envelope(body: Message, version: int | None = None) -> EnvelopeRequest:
    anna = b"\0\0" + encode(DefaultPrincipalData(type="User", name="anna"), 0)
    return EnvelopeRequest(request_data=frame(body, version), request_principal=anna, client_host_address=b"\x7f\0\0\1")


def produce(topic_id: Uuid, count: int) -> ProduceRequest:
    data = encode_batch([Record(n, 1000 + n, None, b"v") for n in range(count)])
    partition = PartitionProduceData(index=0, records=data)
    topic = TopicProduceData(topic_id=topic_id, partition_data=(partition,))
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=(topic,))


def fetch(topic_id: Uuid) -> fetch_q.FetchRequest:
    wanted = fetch_q.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    return fetch_q.FetchRequest(topics=(fetch_q.FetchTopic(topic_id=topic_id, partitions=(wanted,)),), max_wait_ms=100)


def raft_fetch(epoch: int, offset: int) -> fetch_q.FetchRequest:
    asked = fetch_q.FetchPartition(
        partition=0, current_leader_epoch=epoch, fetch_offset=offset, last_fetched_epoch=epoch,
        replica_directory_id=STRANGER,
    )  # fmt: skip
    return fetch_q.FetchRequest(
        replica_state=fetch_q.ReplicaState(replica_id=77),
        topics=(fetch_q.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=(asked,)),),
        max_wait_ms=0,
    )


class Stage:
    """Nodes, and the requests that their strangers send."""

    def __init__(self, kinds: tuple[str, ...], seed: int) -> None:
        self.dice = random.Random(seed)
        self.town = Town(*kinds, seed=seed)
        self.names = 0
        self.topic_id = Uuid(bytes(16))
        self.start()

    def start(self) -> None:
        self.town.until("everybody serves", 60, self.serves)
        if not self.has_broker:
            self.tell(World().registration(11, cluster_id=CLUSTER_ID), 4)
            self.keep_a_broker()
        else:
            answer = self.ask_until_made(self.new_name())
            self.topic_id = answer.topics[0].topic_id
            self.town.run(0.5)

    def tell(self, body: Message, version: int) -> None:
        Line(self.town.controller, CONTROLLER_LISTENER).send(frame(body, version))
        self.town.run(0.2)

    def keep_a_broker(self) -> None:
        """For a controller alone: one that says it is there, so that topics can be made."""
        if not self.has_broker and (found := self.town.controller.image.cluster.brokers.get(NodeId(11))):
            beat = BrokerHeartbeatRequest(broker_id=11, broker_epoch=found.epoch, current_metadata_offset=1 << 40)
            self.tell(beat, 1)

    @property
    def has_broker(self) -> bool:
        return self.town.hosts[-1].kind != "controller"

    @property
    def listener(self) -> str:
        return BROKER_LISTENER if self.has_broker else CONTROLLER_LISTENER

    def serves(self) -> bool:
        return self.town.controller.node.is_active and self.town.hosts[-1].serves

    def new_name(self) -> str:
        self.names += 1
        return f"topic-{self.names}"

    def ask_until_made(self, name: str) -> CreateTopicsResponse:
        """It may have been made by the request that was told otherwise: 36."""
        for _ in range(20):
            self.keep_a_broker()
            line = Line(self.town.hosts[-1], self.listener)
            line.send(frame(topics(name), 7))
            self.town.until("an answer", 40, lambda line=line: line.replies or line.closed)
            if line.replies:
                answer = decode_response(line.replies[0], ApiKey.CREATE_TOPICS, 7).body
                assert isinstance(answer, CreateTopicsResponse)
                if answer.topics[0].error_code in (0, 36):
                    return answer
            self.town.run(0.5)
        raise AssertionError(f"no topic can be made: {[host.said[-5:] for host in self.town.hosts]}")

    def draw(self) -> list[tuple[str, bytes]]:
        """Some requests that come at the same moment: (listener, frame)."""
        makers = [self.to_controller] * 3 + ([self.to_broker] * 4 if self.has_broker else []) + [self.recorded]
        if self.town.hosts[-1].kind == "broker":
            makers = [self.to_broker] * 3 + [self.recorded]
        return [self.dice.choice(makers)() for _ in range(self.dice.choice((1, 1, 2, 4)))]

    def recorded(self) -> tuple[str, bytes]:
        """What a real client sent to Apache Kafka."""
        return self.listener, self.dice.choice(PROBES)

    def to_controller(self) -> tuple[str, bytes]:
        many = 5 if self.has_broker else 600
        epoch, offset = self.town.controller.meta.replica.epoch, self.town.controller.meta.end_offset
        choices: list[Callable[[], Message]] = [
            lambda: topics(self.new_name(), partitions=3),
            lambda: in_envelope(topics(self.new_name()), self.dice.choice((4, 7))),
            lambda: in_envelope(topics(self.new_name(), self.new_name(), partitions=many)),  # decided in pieces
            lambda: topics(*(self.new_name() for _ in range(2)), partitions=many),
            lambda: configs("topic-1"),
            lambda: in_envelope(configs("topic-1")),
            lambda: DeleteTopicsRequest(topics=(DeleteTopicState(name=f"topic-{self.dice.randint(2, 20)}"),)),
            lambda: AllocateProducerIdsRequest(broker_id=11, broker_epoch=1),
            lambda: BrokerHeartbeatRequest(broker_id=77, broker_epoch=1),
            UpdateFeaturesRequest,
            lambda: UnregisterBrokerRequest(broker_id=77),
            lambda: ListPartitionReassignmentsRequest(topics=None),
            DescribeQuorumRequest,
            lambda: in_envelope(DescribeQuorumRequest()),
            DescribeClusterRequest,
            lambda: ApiVersionsRequest(client_software_name="c", client_software_version="1"),
            lambda: vote(epoch, 77, STRANGER, (offset, epoch)),
            lambda: vote(epoch + 1, 77, STRANGER, (offset, epoch), pre=True),
            lambda: begin(epoch, 77),
            lambda: end(epoch, 77),
            lambda: raft_fetch(epoch, self.dice.choice((0, offset))),
            lambda: fetch_snapshot(epoch, (5, 1)),
            lambda: AddRaftVoterRequest(voter_id=77, voter_directory_id=STRANGER),
            lambda: in_envelope(RemoveRaftVoterRequest(voter_id=77, voter_directory_id=STRANGER)),
        ]
        body = self.dice.choice(choices)()
        version = {"VoteRequest": 2, "FetchRequest": 17}.get(type(body).__name__)
        return CONTROLLER_LISTENER, frame(body, version)

    def to_broker(self) -> tuple[str, bytes]:
        listing = ListOffsetsTopic(name="topic-1", partitions=(ListOffsetsPartition(partition_index=0, timestamp=-1),))
        choices: list[Callable[[], Message]] = [
            lambda: topics(self.new_name()),
            lambda: topics(self.new_name(), validate=True),
            lambda: configs("topic-1"),
            DescribeQuorumRequest,
            lambda: produce(self.topic_id, self.dice.randint(1, 5)),
            lambda: fetch(self.topic_id),
            lambda: ListOffsetsRequest(replica_id=-1, topics=(listing,)),
            lambda: MetadataRequest(topics=(MetadataRequestTopic(name=self.new_name()),)),
            lambda: MetadataRequest(topics=None),
            lambda: InitProducerIdRequest(transaction_timeout_ms=1000),
            lambda: DescribeConfigsRequest(
                resources=(DescribeConfigsResource(resource_type=2, resource_name="topic-1"),)
            ),
            DescribeClusterRequest,
        ]
        return BROKER_LISTENER, frame(self.dice.choice(choices)())

    def ended(self, tally: Tally, before: dict[int, str], lines: list[Line], what: str) -> bool:
        """Nodes that stopped, which they may only where consensus had begun to change, or that gave up leading; they
        are started again.
        """
        any_ended = False
        for host in list(self.town.hosts):
            resigned = any("giving up epoch" in said for said in host.said)
            tally.resigned += resigned
            any_ended = any_ended or resigned or host.fault is not None
            host.said.clear()
            if host.fault is not None:
                changed = state_of(host) != before[id(host)] or is_handing_over(host)
                assert changed, f"{what} stops a node: {host.fault!r}"
                tally.stops += 1
                for line in lines:
                    if line.host is host:
                        line.closed = True
                self.town.restart(host)
        return any_ended

    def send(self, wanted: list[tuple[str, bytes]], point: Failpoint) -> list[Line]:
        """All at one moment; the failpoint is there until everything that they cause at once is done."""
        lines = []
        with point:
            for listener, data in wanted:
                host = self.town.controller if listener == CONTROLLER_LISTENER else self.town.hosts[-1]
                lines.append(Line(host, listener))
                lines[-1].send(data)
            self.town.settle()
            for _ in range(20):
                self.town.run(0.005)
        return lines


PROBES: Final = [bytes.fromhex(row["request_hex"]) for row in json_lines("wire/probes.jsonl.gz")]


def state_of(host: Host) -> str:
    """Everything that consensus of this node relies on, in words."""
    quorum = host.meta.replica._q
    return repr((quorum.role, quorum.saved, quorum.high_watermark, quorum.log, quorum.history, quorum.calls.next_id))


def is_handing_over(host: Host) -> bool:
    """The writer had given up its batches, and how many of them the replica has is not known."""
    return isinstance(host.fault, NodeFault) and "cannot be appended" in str(host.fault)


class Tally:
    def __init__(self) -> None:
        self.trials = self.hits = self.counted = self.stops = self.resigned = 0
        self.places: Counter[str] = Counter()

    def __str__(self) -> str:
        return (
            f"{self.trials} trials, {self.hits} exceptions at {len(self.places)} functions, {self.counted} requests "
            f"failed by count, {self.stops} nodes stopped with consensus half changed, {self.resigned} gave up leading"
        )


def trial(stage: Stage, tally: Tally) -> None:
    """The same requests twice, under other names: once to count the calls, once with a failpoint at one of them."""
    stage.keep_a_broker()
    state = stage.dice.getstate()
    dry = Failpoint(0, None, HANDLING)
    usual = stage.send(stage.draw(), dry)
    stage.town.run(1.0)
    stage.dice.setstate(state)
    wanted = stage.draw()
    error = stage.dice.choice(ERRORS)("a bug")
    point = Failpoint(stage.dice.randint(1, max(1, dry.calls)), error, HANDLING)
    counted = sum(host.failures for host in stage.town.hosts)
    before = {id(host): state_of(host) for host in stage.town.hosts}
    lines = stage.send(wanted, point)
    tally.trials += 1
    if point.hit is None:
        return
    tally.hits += 1
    tally.places[point.hit] += 1
    what = f"{type(error).__name__} at call {point.calls} ({point.hit})"
    whole = not stage.ended(tally, before, lines, what)
    tally.counted += sum(host.failures for host in stage.town.hosts) > counted
    if not all(line.replies or line.closed for line in lines):
        stage.town.run(40.0)  # a forwarded request waits for a controller so long
    assert all(line.replies or line.closed for line in lines), f"{what} leaves somebody without an answer"
    if whole:
        failed = [
            name
            for name, line, other in zip(wanted, lines, usual, strict=True)
            if is_failed(*name, line) and not is_failed(*name, other)
        ]
        assert len(failed) <= 1, f"{what} costs {len(failed)} requests"
    judge(stage, what)


def is_failed(listener: str, sent: bytes, line: Line) -> bool:
    del listener
    if line.closed or not line.replies:
        return True
    key, version = int.from_bytes(sent[:2], "big"), int.from_bytes(sent[2:4], "big")
    if key == ApiKey.API_VERSIONS and version not in ApiVersionsRequest.VERSIONS:
        version = 0
    return "error_code=-1" in repr(decode_response(line.replies[0], key, version).body)


def judge(stage: Stage, what: str) -> None:
    """The next request is served, and every image is what the log says."""
    stage.town.until(f"after {what} everybody serves", 60, stage.serves)
    stage.ask_until_made(stage.new_name())
    stage.town.run(1.0)
    for host in stage.town.hosts:
        assert host.fault is None, f"after {what}: {host.fault!r}"
        same = host.image == replayed(host.log)
        assert same, f"after {what} the image of {host.kind} is not what its log says"


@pytest.mark.parametrize("kinds", [("controller",), ("controller", "broker"), ("combined",)], ids="-".join)
def test_an_exception_anywhere_costs_one_request(
    kinds: tuple[str, ...], run_seed: int, sampled: Callable[[str], None]
) -> None:
    tally, seed, until = Tally(), run_seed, time.process_time() + SECONDS
    while time.process_time() < until:
        stage = Stage(kinds, seed)
        for _ in range(12):
            try:
                trial(stage, tally)
            except AssertionError as failed:
                raise AssertionError(f"seed {seed} of {kinds}: {failed}") from failed
        seed += 1
    sampled(f"failpoints of {'-'.join(kinds)}: {tally}, seeds {run_seed} to {seed - 1}")
    assert tally.hits, "no failpoint was reached"
