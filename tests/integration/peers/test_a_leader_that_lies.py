"""One real controller, and a leader made by the test that answers its fetches as it likes: nothing that does not fit is
taken, each lie is counted by its kind, and when the leader tells the truth again, the node goes on from where it
was."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from controller_runtime.identifiers import METADATA_TOPIC_ID, METADATA_TOPIC_NAME
from controller_runtime.protocol.control_records import control_record
from controller_runtime.protocol.framing import Request, encode_response
from controller_runtime.protocol.messages import fetch_request as fetch_q
from controller_runtime.protocol.messages import fetch_response as fetch_r
from controller_runtime.protocol.messages.request_header import RequestHeader
from controller_runtime.protocol.messages.update_raft_voter_request import UpdateRaftVoterRequest
from controller_runtime.protocol.messages.update_raft_voter_response import CurrentLeader, UpdateRaftVoterResponse
from controller_runtime.protocol.messages.vote_response import VoteResponse
from controller_runtime.protocol.messages.voters_record import Endpoint as VoterEndpoint
from controller_runtime.protocol.messages.voters_record import Voter, VotersRecord
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.protocol.schema import Message
from support.nodes import strangers
from support.nodes.peers import Peer
from support.nodes.processes import Cluster, NodeProcess
from support.nodes.strangers import bad_answer, metrics

pytestmark = pytest.mark.integration
SERVED = {1: (0, 17), 18: (0, 4), 52: (0, 2), 53: (0, 1), 54: (0, 1), 59: (0, 1), 82: (0, 0)}
RAFT = "kafka_server_raftmetrics_"
EPOCH = 5
LIAR = 2
LAST_EPOCH = 2**31 - 1

Lie = Callable[[int, Request[Message]], Message | bytes]
"""What to answer to a Fetch at this offset."""


def records(base: int, count: int = 1, *, epoch: int = EPOCH) -> bytes:
    """Honest batches; what is in them is a record that every image ignores: a NoOpRecord."""
    made = [Record(base + n, 1_700_000_000_000, None, b"\x01\x14\x00\x00") for n in range(count)]
    return bytes(encode_batch(made, base_offset=base, partition_leader_epoch=epoch))


def answer(
    data: bytes = b"", *, high_watermark: int = 0, epoch: int = EPOCH, leader: int = LIAR
) -> fetch_r.FetchResponse:
    partition = fetch_r.PartitionData(
        partition_index=0,
        high_watermark=high_watermark,
        current_leader=fetch_r.LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch),
        records=data,
    )
    topic = fetch_r.FetchableTopicResponse(
        topic=METADATA_TOPIC_NAME, topic_id=METADATA_TOPIC_ID, partitions=(partition,)
    )
    return fetch_r.FetchResponse(responses=(topic,))


@dataclass
class LyingLeader:
    """Node 2 of three static voters; node 3 is nobody. It says that it leads epoch 5, and what `lie` says
    after that.
    """

    node: NodeProcess = field(init=False)
    peer: Peer = field(init=False)
    lie: Lie | None = None
    lies: int = 0
    end: int = 0
    """How much of its log the node has asked for."""
    waiting: list[asyncio.Task[None]] = field(default_factory=list)

    def answer(self, request: Request[Message]) -> Message | bytes | None:
        match request.body:
            case fetch_q.FetchRequest() as fetch:
                offset = fetch.topics[0].partitions[0].fetch_offset
                self.end = max(self.end, offset)
                if self.lie is None:
                    return answer(high_watermark=offset)
                self.lies += 1
                return self.lie(offset, request)
            case UpdateRaftVoterRequest():
                return UpdateRaftVoterResponse(current_leader=CurrentLeader(leader_id=LIAR, leader_epoch=EPOCH))
            case _:
                return None

    async def claim(self) -> None:
        """Tell the node who leads."""
        told = strangers.begin(EPOCH, LIAR, self.peer.port)
        await asyncio.to_thread(strangers.ask, self.node, told, 1)

    async def metrics(self) -> dict[str, float]:
        return await asyncio.to_thread(metrics, self.node)

    async def until(self, what: str, holds: Callable[[dict[str, float]], bool]) -> dict[str, float]:
        for _ in range(1800):
            seen = await self.metrics()
            if holds(seen):
                return seen
            await asyncio.sleep(0.05)
        raise AssertionError(f"{what} never came:\n{self.node.log()[-3000:]}")

    async def tell_the_truth(self, count: int = 3) -> None:
        """From here on its log has so many records more, all committed."""
        wanted = self.end + count

        def honest(offset: int, request: Request[Message]) -> Message:
            del request
            return answer(records(offset, wanted - offset) if offset < wanted else b"", high_watermark=offset)

        self.lie = honest
        await self.claim()
        await self.until("the truth", lambda seen: seen[RAFT + "high_watermark"] >= wanted)


@pytest.fixture
async def liar(tmp_path: Path) -> AsyncIterator[LyingLeader]:
    """The node follows the liar and has three honest records of it."""
    leader = LyingLeader()
    peer = leader.peer = Peer(SERVED, leader.answer)
    port = await peer.open()
    with Cluster(tmp_path, controllers=3, static_voters=True) as cluster:
        node = cluster.nodes[1]
        nobody = cluster.nodes[3].port
        voters = f"1@127.0.0.1:{node.port},{LIAR}@127.0.0.1:{port},3@127.0.0.1:{nobody}"
        node.properties["controller.quorum.voters"] = voters
        node.properties["controller.quorum.fetch.timeout.ms"] = "30000"
        node.properties["controller.quorum.election.timeout.ms"] = "30000"
        leader.node = node
        await asyncio.to_thread(node.format)
        node.start()
        await asyncio.to_thread(node.wait_for_log, "probes and metrics")
        await leader.tell_the_truth()
        yield leader
        assert node.is_running, node.log()[-3000:]
    peer.close()
    await asyncio.sleep(0)


def flipped(data: bytes) -> bytes:
    """One bit of the last byte is another: the checksum does not hold."""
    return data[:-1] + bytes([data[-1] ^ 1])


def twice_the_same_voter(base: int) -> bytes:
    """A control batch of Kafka's form whose voter set has two voters 3."""
    voter = Voter(voter_id=3, endpoints=(VoterEndpoint(name="CONTROLLER", host="127.0.0.1", port=1),))
    record = control_record(VotersRecord(voters=(voter, voter)), offset=base, timestamp=1_700_000_000_000)
    return bytes(encode_batch([record], base_offset=base, partition_leader_epoch=EPOCH, is_control=True))


def other_correlation(body: Message, request: Request[Message]) -> bytes:
    header = request.header
    wrong = RequestHeader(
        request_api_key=header.request_api_key,
        request_api_version=header.request_api_version,
        correlation_id=header.correlation_id + 1000,
        client_id=header.client_id,
    )
    return encode_response(body, wrong)


def another_kind(request: Request[Message]) -> bytes:
    """What a Vote would be answered with."""
    as_vote = RequestHeader(
        request_api_key=52, request_api_version=2, correlation_id=request.header.correlation_id, client_id=None
    )
    return encode_response(VoteResponse(), as_vote)


LIES: dict[str, tuple[Lie, str]] = {
    "a wrong checksum": (lambda at, _: answer(flipped(records(at)), high_watermark=at), "corrupt batch"),
    "noise": (lambda at, _: answer(b"\xa5" * 500, high_watermark=at), "corrupt batch"),
    "a voter set with one id twice": (
        lambda at, _: answer(twice_the_same_voter(at), high_watermark=at),
        "corrupt batch",
    ),
    "a gap": (lambda at, _: answer(records(at + 5), high_watermark=at), "gap"),
    "what it has already": (lambda at, _: answer(records(at - 2, 2), high_watermark=at), "gap"),
    "a batch of a later epoch": (lambda at, _: answer(records(at, epoch=EPOCH + 3), high_watermark=at), "epoch"),
    "a batch of an earlier epoch": (lambda at, _: answer(records(at, epoch=EPOCH - 3), high_watermark=at), "epoch"),
    "an answer to another request": (
        lambda at, request: other_correlation(answer(high_watermark=at), request),
        "malformed",
    ),
    "an answer of another kind": (lambda _, request: another_kind(request), "malformed"),
    "an answer about nothing": (lambda _at, _request: fetch_r.FetchResponse(), "malformed"),
}


@pytest.mark.parametrize("name", LIES)
async def test_nothing_is_taken_from_a_leader_that_lies(liar: LyingLeader, name: str) -> None:
    """FET-13, FET-14."""
    lie, reason = LIES[name]
    before = await liar.metrics()
    liar.lie = lie
    await liar.claim()
    counted = bad_answer("Fetch", reason)
    after = await liar.until(f"{name} is counted", lambda seen: seen[counted] > before[counted])
    for kept in ("log_end_offset", "high_watermark", "current_epoch"):
        assert after[RAFT + kept] == before[RAFT + kept], kept
    await liar.tell_the_truth()


async def test_an_answer_from_the_end_of_all_epochs_is_not_believed(liar: LyingLeader) -> None:
    refused = "quorate_raft_refused_epochs_total"
    before = await liar.metrics()
    liar.lie = lambda at, _: answer(high_watermark=at, epoch=LAST_EPOCH, leader=3)
    await liar.claim()
    after = await liar.until("the claim is counted", lambda seen: seen[refused] > before[refused])
    assert after[RAFT + "current_epoch"] == EPOCH
    await liar.tell_the_truth()


async def test_a_high_watermark_beyond_the_log_commits_no_more_than_there_is(liar: LyingLeader) -> None:
    before = await liar.metrics()
    liar.lie = lambda _at, _request: answer(high_watermark=2**50)
    await liar.claim()
    after = await liar.until("a few answers", lambda _: liar.lies >= 3)
    assert after[RAFT + "high_watermark"] == after[RAFT + "log_end_offset"] == before[RAFT + "log_end_offset"]
    await liar.tell_the_truth()


async def test_a_frame_larger_than_any_answer_ends_the_connection_only(liar: LyingLeader) -> None:
    before = await liar.metrics()
    liar.lie = lambda _at, _request: struct.pack(">i", 2**31 - 1) + b"x" * 64
    await liar.claim()
    after = await liar.until("a few answers", lambda _: liar.lies >= 2)
    assert after[RAFT + "log_end_offset"] == before[RAFT + "log_end_offset"]
    await liar.tell_the_truth()
