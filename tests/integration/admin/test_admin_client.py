"""The admin client against peers that answer as a test says: right, wrong, late or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from controller_runtime.admin.client import AdminClient, NotSupported, Unreachable
from controller_runtime.admin.results import LeaderSeen, PartitionDescription, TopicDescription
from controller_runtime.identifiers import METADATA_TOPIC_ID, Endpoint, Epoch, NodeId, Offset, Uuid
from controller_runtime.protocol.api_errors import (
    BrokerIdNotRegistered,
    MismatchedEndpointType,
    NotController,
    UnsupportedVersion,
)
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.framing import Request
from controller_runtime.protocol.messages.describe_cluster_request import DescribeClusterRequest
from controller_runtime.protocol.messages.describe_cluster_response import (
    DescribeClusterBroker,
    DescribeClusterResponse,
)
from controller_runtime.protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from controller_runtime.protocol.messages.describe_topic_partitions_response import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from controller_runtime.protocol.messages.fetch_request import FetchRequest
from controller_runtime.protocol.messages.fetch_response import (
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from controller_runtime.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from controller_runtime.protocol.messages.unregister_broker_response import UnregisterBrokerResponse
from controller_runtime.protocol.schema import Message
from support.nodes.peers import Peer

pytestmark = pytest.mark.integration

CONTROLLER = {18: (0, 4), 60: (0, 2), 64: (0, 0), 1: (4, 18)}
BROKER = {18: (0, 4), 3: (0, 13), 60: (0, 2)}


class Controllers:
    """Two controllers of which `active` leads; both know it."""

    def __init__(self) -> None:
        self.active = 1
        self.asked: list[int] = []
        self.peers = {node: Peer(CONTROLLER, self._answers(node)) for node in (1, 2)}

    async def open(self) -> str:
        return ",".join([f"127.0.0.1:{await peer.open()}" for peer in self.peers.values()])

    def close(self) -> None:
        for peer in self.peers.values():
            peer.close()

    def _answers(self, node: int) -> Callable[[Request[Message]], Message]:
        def answer(request: Request[Message]) -> Message:
            if isinstance(request.body, DescribeClusterRequest):
                assert request.body.endpoint_type == 2
                nodes = [
                    DescribeClusterBroker(broker_id=n, host="127.0.0.1", port=p.port) for n, p in self.peers.items()
                ]
                return DescribeClusterResponse(
                    cluster_id="c", controller_id=self.active, brokers=tuple(nodes), endpoint_type=2
                )
            self.asked.append(node)
            if node != self.active:
                return UnregisterBrokerResponse(error_code=ErrorCode.NOT_CONTROLLER)
            if len(self.asked) == 1:
                self.active = 2
                return UnregisterBrokerResponse(error_code=ErrorCode.NOT_CONTROLLER)
            return UnregisterBrokerResponse(error_code=0)

        return answer


async def test_the_active_controller_is_found_and_followed_when_it_moves() -> None:
    controllers = Controllers()
    async with AdminClient(bootstrap_controllers=await controllers.open(), timeout_seconds=10) as admin:
        await admin.unregister_broker(NodeId(7))
    assert controllers.asked == [1, 2]
    controllers.close()


async def test_a_quorum_without_a_leader_is_asked_until_the_deadline() -> None:
    def answer(request: Request[Message]) -> Message:
        if isinstance(request.body, DescribeClusterRequest):
            return DescribeClusterResponse(cluster_id="c", controller_id=-1, endpoint_type=2)
        raise AssertionError(request)

    peer = Peer(CONTROLLER, answer)
    address = f"127.0.0.1:{await peer.open()}"
    async with AdminClient(bootstrap_controllers=address, timeout_seconds=2.0) as admin:
        with pytest.raises(Unreachable, match="the controllers know no leader"):
            await admin.unregister_broker(NodeId(7))
    assert len(peer.requests) > 3
    peer.close()


async def test_who_knew_no_leader_and_fell_silent_is_quoted_with_both() -> None:
    def answer(request: Request[Message]) -> Message | None:
        if len(peer.requests) > 3:
            return None
        return DescribeClusterResponse(cluster_id="c", controller_id=-1, endpoint_type=2)

    peer = Peer(CONTROLLER, answer)
    address = f"127.0.0.1:{await peer.open()}"
    try:
        async with AdminClient(bootstrap_controllers=address, timeout_seconds=2.0) as admin:
            with pytest.raises(Unreachable, match=f"the controllers know no leader; .*{address}"):
                await admin.unregister_broker(NodeId(7))
    finally:
        peer.close()


async def test_a_refusal_is_raised_as_its_own_type_with_the_message_of_the_node() -> None:
    def answer(request: Request[Message]) -> Message:
        if isinstance(request.body, DescribeClusterRequest):
            node = DescribeClusterBroker(broker_id=1, host="127.0.0.1", port=peer.port)
            return DescribeClusterResponse(cluster_id="c", controller_id=1, brokers=(node,), endpoint_type=2)
        return UnregisterBrokerResponse(error_code=102, error_message="Broker ID 7 is not currently registered")

    peer = Peer(CONTROLLER, answer)
    async with AdminClient(bootstrap_controllers=[Endpoint("127.0.0.1", await peer.open())]) as admin:
        with pytest.raises(BrokerIdNotRegistered, match="Broker ID 7 is not currently registered"):
            await admin.unregister_broker(NodeId(7))
    peer.close()


async def test_nobody_there_is_unreachable_and_names_every_address() -> None:
    async with AdminClient(bootstrap_servers="127.0.0.1:1,127.0.0.1:2", timeout_seconds=2.0) as admin:
        with pytest.raises(Unreachable) as nobody:
            await admin.describe_cluster()
    assert [address for address in ("127.0.0.1:1", "127.0.0.1:2") if address in str(nobody.value)] == [
        "127.0.0.1:1",
        "127.0.0.1:2",
    ]


async def test_a_silent_node_costs_no_more_than_the_deadline() -> None:
    silent = Peer(BROKER, lambda _: None)
    started = asyncio.get_running_loop().time()
    async with AdminClient(bootstrap_servers=f"127.0.0.1:{await silent.open()}", timeout_seconds=0.3) as admin:
        with pytest.raises(Unreachable):
            await admin.describe_cluster()
    assert asyncio.get_running_loop().time() - started < 10
    silent.close()


async def test_a_silent_bootstrap_address_leaves_the_others_their_time() -> None:
    """A node that hangs, or a JVM that starts: it accepts the connection and does not answer."""
    silent, alive = (
        Peer(CONTROLLER, lambda _: None),
        Peer(CONTROLLER, lambda _: DescribeClusterResponse(cluster_id="a")),
    )
    addresses = [Endpoint("127.0.0.1", await peer.open()) for peer in (silent, alive)]
    async with AdminClient(bootstrap_controllers=addresses, timeout_seconds=4.0) as admin:
        assert (await admin.describe_cluster()).cluster_id == "a"
    silent.close()
    alive.close()


@pytest.mark.parametrize("others", ["know", "know no more"])
async def test_a_controller_that_has_not_read_its_log_is_not_the_last_word(others: str) -> None:
    """As a Java controller answers when it has just started: another one may know more."""
    words = "Direct-to-controller communication is not supported with the current MetadataVersion."
    starting = DescribeClusterResponse(error_code=35, error_message=words)
    answer = DescribeClusterResponse(cluster_id="a") if others == "know" else starting
    peers = (Peer(CONTROLLER, lambda _: starting), Peer(CONTROLLER, lambda _: answer))
    addresses = [Endpoint("127.0.0.1", await peer.open()) for peer in peers]
    async with AdminClient(bootstrap_controllers=addresses, timeout_seconds=20.0) as admin:
        if others == "know":
            assert (await admin.describe_cluster()).cluster_id == "a"
        else:
            with pytest.raises(UnsupportedVersion, match="Direct-to-controller"):
                await admin.describe_cluster()
    for peer in peers:
        peer.close()


async def test_a_dead_bootstrap_address_is_skipped() -> None:
    peer = Peer(BROKER, lambda one: MetadataResponse() if one.key == 3 else DescribeClusterResponse(cluster_id="alive"))
    addresses = f"127.0.0.1:1,127.0.0.1:{await peer.open()}"
    async with AdminClient(bootstrap_servers=addresses) as admin:
        assert (await admin.describe_cluster()).cluster_id == "alive"
    peer.close()


async def test_a_broker_asked_as_a_controller_is_a_mismatch() -> None:
    words = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
    broker = Peer(BROKER, lambda _: DescribeClusterResponse(error_code=114, error_message=words))
    async with AdminClient(bootstrap_controllers=f"127.0.0.1:{await broker.open()}") as admin:
        with pytest.raises(MismatchedEndpointType, match=words):
            await admin.describe_quorum()
    broker.close()


async def test_a_controller_asked_as_a_broker_does_not_support_metadata() -> None:
    controller = Peer(CONTROLLER, lambda _: None)
    async with AdminClient(bootstrap_servers=f"127.0.0.1:{await controller.open()}") as admin:
        with pytest.raises(UnsupportedVersion, match="The node does not support METADATA"):
            await admin.list_topics()
    controller.close()


async def test_an_api_that_is_not_served_is_said_so() -> None:
    broker = Peer(BROKER, lambda one: MetadataResponse())
    async with AdminClient(bootstrap_servers=f"127.0.0.1:{await broker.open()}") as admin:
        with pytest.raises(NotSupported, match="DescribeConfigsRequest"):
            await admin.describe_configs([])
    broker.close()


async def test_a_leader_that_is_only_losing_office_is_asked_again() -> None:
    answers = [
        UnregisterBrokerResponse(error_code=41),
        UnregisterBrokerResponse(error_code=41),
        UnregisterBrokerResponse(),
    ]
    broker = Peer({**BROKER, 64: (0, 0)}, lambda one: MetadataResponse() if one.key == 3 else answers.pop(0))
    address = f"127.0.0.1:{await broker.open()}"
    async with AdminClient(bootstrap_servers=address) as admin:
        await admin.unregister_broker(NodeId(1))
        assert answers == []
        answers += [UnregisterBrokerResponse(error_code=41)] * 1000
        with pytest.raises(NotController):
            await admin.unregister_broker(NodeId(1), timeout_seconds=2.0)
    broker.close()


async def test_whom_a_node_takes_for_the_leader_is_read_from_a_refused_fetch() -> None:
    def answer(request: Request[Message]) -> Message:
        body = request.body
        assert isinstance(body, FetchRequest)
        assert (body.replica_state.replica_id, body.topics[0].topic_id) == (-1, METADATA_TOPIC_ID)
        partition = PartitionData(
            error_code=74, high_watermark=-1, current_leader=LeaderIdAndEpoch(leader_id=3, leader_epoch=9)
        )
        return FetchResponse(
            responses=(FetchableTopicResponse(topic_id=METADATA_TOPIC_ID, partitions=(partition,)),),
            node_endpoints=(NodeEndpoint(node_id=3, host="c3", port=9093),),
        )

    peer = Peer(CONTROLLER, answer)
    endpoint = Endpoint("127.0.0.1", await peer.open())
    async with AdminClient(bootstrap_controllers=[endpoint]) as admin:
        seen = await admin.raft_fetch_as_non_replica(endpoint)
    assert seen == LeaderSeen(NodeId(3), Epoch(9), Endpoint("c3", 9093), Offset(-1))
    peer.close()


TOPIC = Uuid.of(1, 2)


async def test_topics_are_described_page_by_page() -> None:
    def page(request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
        at = request.cursor.partition_index if request.cursor is not None else 0
        partition = DescribeTopicPartitionsResponsePartition(
            partition_index=at, leader_id=1, replica_nodes=(1,), isr_nodes=(1,), eligible_leader_replicas=()
        )
        topic = DescribeTopicPartitionsResponseTopic(name="t", topic_id=TOPIC, partitions=(partition,))
        following = Cursor(topic_name="t", partition_index=at + 1) if at < 2 else None
        return DescribeTopicPartitionsResponse(topics=(topic,), next_cursor=following)

    def answer(request: Request[Message]) -> Message:
        return page(request.body) if isinstance(request.body, DescribeTopicPartitionsRequest) else MetadataResponse()

    broker = Peer({**BROKER, 75: (0, 0)}, answer)
    async with AdminClient(bootstrap_servers=f"127.0.0.1:{await broker.open()}") as admin:
        found = (await admin.describe_topics(["t"]))["t"]
    assert isinstance(found, TopicDescription)
    assert [one.index for one in found.partitions] == [0, 1, 2]
    assert found.partitions[0].elr == ()
    broker.close()


async def test_topics_are_described_by_metadata_where_nothing_better_is_served() -> None:
    def answer(request: Request[Message]) -> Message:
        partition = MetadataResponsePartition(
            partition_index=0, leader_id=1, leader_epoch=4, replica_nodes=(1,), isr_nodes=(1,)
        )
        topic = MetadataResponseTopic(name="t", topic_id=TOPIC, partitions=(partition,))
        return MetadataResponse(topics=(topic, MetadataResponseTopic(name="absent", error_code=3)))

    broker = Peer(BROKER, answer)
    async with AdminClient(bootstrap_servers=f"127.0.0.1:{await broker.open()}") as admin:
        found = await admin.describe_topics(["t", "absent"])
    assert found["t"] == TopicDescription("t", TOPIC, False, (PartitionDescription(0, 1, 4, (1,), (1,)),))
    assert getattr(found["absent"], "code", None) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    broker.close()
