"""A follower behind the log's start: it fetches the leader's snapshot by position, checks it, and begins anew with it.
Production nodes, both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from controller_runtime.identifiers import NO_DIRECTORY, Epoch, Offset, OffsetAndEpoch, ReplicaKey
from controller_runtime.node.quorum import effects as e
from controller_runtime.node.quorum import image_feed
from controller_runtime.node.quorum.snapshot_content import ArrivingSnapshot, CorruptSnapshot
from controller_runtime.node.quorum.snapshots import SnapshotConfig
from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.fetch_request import FetchRequest
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest
from controller_runtime.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.raft import messages as raft
from controller_runtime.raft.events import RequestArrived
from controller_runtime.raft.messages import RaftError
from controller_runtime.raft.replica import Replica
from controller_runtime.values import replace
from support.nodes.lone_controller import FOLLOWER, LoneController, Pair

pytestmark = pytest.mark.unit

PRUNING = SnapshotConfig(max_new_bytes=3000, max_interval_ms=0, retention_bytes=1)
SLICE = 150


def leader_with_a_short_log(seconds: float = 45) -> LoneController:
    leader = LoneController(snapshots=PRUNING)
    leader.run(seconds)
    assert leader.log.start_offset > 0
    return leader


def pair(leader: LoneController | None = None) -> Pair:
    """An empty follower that asks for small slices."""
    leader = leader or leader_with_a_short_log()
    follower = LoneController(me=FOLLOWER, started_at=leader.now)
    follower.node.meta.replica._q.config = replace(follower.node.meta.replica._q.config, snapshot_max_bytes=SLICE)
    return Pair(leader, follower)


def positions(both: Pair) -> list[int]:
    return [a.topics[0].partitions[0].position for a in both.asked if isinstance(a, FetchSnapshotRequest)]


def level(both: Pair) -> bool:
    return both.follower.node.image_offset >= both.leader.node.image_offset > 0


def test_a_new_follower_gets_the_snapshot_once_and_then_the_log() -> None:  # SNP-11, SNP-13, SNP-14
    both = pair()
    both.run(5, lambda: level(both))
    sliced = positions(both)
    assert sliced == list(range(0, len(sliced) * SLICE, SLICE)), "by position, each slice once"
    assert len(sliced) >= 3
    assert both.follower.log.start_offset == both.leader.log.start_offset
    assert both.follower.node.image == both.leader.node.image
    assert len(both.follower.effects(e.ResetLog)) == 1
    assert both.follower.node.quorum.loaded_snapshots == 1
    first = both.leader.log.snapshots()[0]
    size = both.leader.log.snapshot_size(first)
    assert size is not None
    assert both.follower.log.read_snapshot(first, 0, size) == both.leader.log.read_snapshot(first, 0, size)
    both.run(2)
    assert both.follower.node.quorum.loaded_snapshots == 1


def test_a_connection_that_ends_in_the_middle_costs_one_slice() -> None:  # SNP-13
    both = pair()
    lost: list[int] = []

    def lose_the_third(call: e.Call, answer: Message) -> Message | None:
        if isinstance(answer, FetchSnapshotResponse) and len(positions(both)) == 3 and not lost:
            lost.append(positions(both)[-1])
            return None
        return answer

    both.tamper = lose_the_third
    both.run(5, lambda: level(both))
    assert lost == [2 * SLICE]
    assert positions(both)[:5] == [0, SLICE, 2 * SLICE, 2 * SLICE, 3 * SLICE], "it goes on where it was"
    assert level(both)


def changed(part: Callable[[bytes], bytes]) -> Callable[[e.Call, Message], Message | None]:
    def tamper(call: e.Call, answer: Message) -> Message | None:
        if not isinstance(answer, FetchSnapshotResponse):
            return answer
        partition = answer.topics[0].partitions[0]
        lied = replace(partition, unaligned_records=part(partition.unaligned_records))
        return replace(answer, topics=(replace(answer.topics[0], partitions=(lied,)),))

    return tamper


@pytest.mark.parametrize(
    "lie",
    [
        lambda data: bytes([*data[:100], data[100] ^ 1, *data[101:]]) if len(data) > 100 else data,
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: b"",
        lambda data: bytes(len(data)),
    ],
    ids=["a flipped bit", "a byte less", "a byte more", "nothing", "zeros"],
)
def test_bytes_that_are_no_snapshot_never_replace_a_log(lie: Callable[[bytes], bytes]) -> None:  # SNP-13, SNP-17
    both = pair()
    both.tamper = changed(lie)
    both.run(2)
    follower = both.follower
    assert not follower.effects(e.ResetLog)
    assert follower.log.snapshots() == ()
    assert any(isinstance(asked, FetchRequest) for asked in both.asked[3:]), "back to Fetch"
    assert len(both.asked) < 1000, "with pauses"
    both.tamper = lambda _, answer: answer
    both.run(5, lambda: level(both))
    assert level(both)
    assert not [name for name in follower.disk.list_directory(follower.log.directory) if name.endswith(".part")]


def answered_with(error: ErrorCode, *, top_level: bool) -> Callable[[e.Call, Message], Message | None]:
    def tamper(call: e.Call, answer: Message) -> Message | None:
        if not isinstance(answer, FetchSnapshotResponse):
            return answer
        if top_level:
            return FetchSnapshotResponse(error_code=error)
        partition = replace(answer.topics[0].partitions[0], error_code=error, unaligned_records=b"", size=0)
        return replace(answer, topics=(replace(answer.topics[0], partitions=(partition,)),))

    return tamper


@pytest.mark.parametrize(
    ("error", "top_level"),
    [
        (ErrorCode.SNAPSHOT_NOT_FOUND, False),
        (ErrorCode.POSITION_OUT_OF_RANGE, False),
        (ErrorCode.UNKNOWN_SERVER_ERROR, True),
        (ErrorCode.UNKNOWN_SERVER_ERROR, False),
    ],
    ids=["98: the leader deleted it", "99", "-1, Java 4.3.1's answer to almost every error", "-1 of the partition"],
)
def test_an_error_leads_back_to_fetch_and_to_the_snapshot_that_is_there_now(error: ErrorCode, top_level: bool) -> None:
    """SNP-13"""
    both = pair()
    both.run(5, lambda: len(positions(both)) == 2)
    both.tamper = answered_with(error, top_level=top_level)
    both.run(5, lambda: len(positions(both)) == 3)
    both.run(0.2)
    assert both.follower.effects(e.DropSnapshotPart), "the part file goes"
    assert not level(both)
    both.tamper = lambda _, answer: answer
    before = len(both.asked)
    both.run(5, lambda: level(both))
    assert level(both)
    assert isinstance(both.asked[before], FetchRequest | FetchSnapshotRequest)


def test_a_leader_that_deletes_the_snapshot_meanwhile_offers_its_next_one() -> None:  # SNP-12, SNP-13
    both = pair()
    both.run(5, lambda: len(positions(both)) == 2)
    old = both.leader.log.snapshots()[-1]
    both.leader.run(60)
    both.follower.run(0.01)
    assert old not in both.leader.log.snapshots()
    both.run(20, lambda: level(both))
    assert level(both)
    assert both.follower.log.start_offset > old.offset
    assert not [n for n in both.follower.disk.list_directory(both.follower.log.directory) if n.endswith(".part")]


def test_a_follower_that_was_away_too_long_replaces_its_image_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """SNP-14: though it reads one record at a step."""
    monkeypatch.setattr(image_feed, "PIECE_RECORDS", 1)
    leader = LoneController(snapshots=PRUNING)
    leader.run(1)
    both = Pair(leader, LoneController(me=FOLLOWER, started_at=leader.now))
    both.run(5, lambda: level(both))
    seen = both.follower.node.image
    position = both.follower.node.image_offset
    both.leader.run(60)
    assert both.leader.log.start_offset > position
    both.follower.now = both.leader.now
    images = {id(seen): position}

    def watch() -> bool:
        images.setdefault(id(both.follower.node.image), both.follower.node.image_offset)
        return level(both)

    both.run(20, watch)
    assert level(both)
    assert both.follower.node.image == both.leader.node.image
    assert both.follower.node.quorum.loaded_snapshots == 1
    between = [at for at in images.values() if position < at < both.leader.log.start_offset]
    assert between == [], "no image is half a snapshot"


# What a leader answers: SNP-12.


def answer_of(leader: LoneController, request: raft.FetchSnapshotRequest) -> RaftError | e.QuorumEffect:
    replica: Replica = leader.node.meta.replica
    effects = replica.step(RequestArrived(999_999, request), leader.now)
    kinds = {type(effect).__name__: effect for effect in effects}
    if "Reply" in kinds:
        response = kinds["Reply"].response  # type: ignore[union-attr]
        assert isinstance(response, raft.FetchSnapshotResponse)
        return response.error
    return RaftError.NONE


ASKER = ReplicaKey(FOLLOWER, NO_DIRECTORY)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({}, RaftError.NONE),
        ({"epoch": Epoch(0)}, RaftError.FENCED_LEADER_EPOCH),
        ({"epoch": Epoch(9)}, RaftError.UNKNOWN_LEADER_EPOCH),
        ({"snapshot_id": OffsetAndEpoch(Offset(7), Epoch(1))}, RaftError.SNAPSHOT_NOT_FOUND),
        ({"snapshot_id": OffsetAndEpoch(Offset(0), Epoch(0))}, RaftError.SNAPSHOT_NOT_FOUND),
        ({"position": -1}, RaftError.POSITION_OUT_OF_RANGE),
    ],
)
def test_a_leader_refuses_what_it_cannot_serve(change: dict[str, Any], error: RaftError) -> None:  # SNP-12
    leader = leader_with_a_short_log()
    snapshot_id = leader.log.snapshots()[-1]
    request = raft.FetchSnapshotRequest(ASKER, Epoch(1), snapshot_id, 0, 1000)
    assert answer_of(leader, replace(request, **change)) == error


def wire_answer(leader: LoneController, **change: Any) -> FetchSnapshotResponse:
    """Of a question over the wire for the latest snapshot."""
    both = Pair(leader, LoneController(me=FOLLOWER, started_at=leader.now))
    answers: list[FetchSnapshotResponse] = []

    def keep(call: e.Call, answer: Message) -> Message | None:
        if isinstance(answer, FetchSnapshotResponse):
            answers.append(answer)
            return None
        return answer

    both.tamper = keep
    ask = both._ask

    def change_question(effect: e.Call | e.Respond | e.CancelCall) -> None:
        if isinstance(effect, e.Call) and isinstance(effect.body, FetchSnapshotRequest):
            topic = effect.body.topics[0]
            partition = replace(topic.partitions[0], **change)
            effect = replace(effect, body=replace(effect.body, topics=(replace(topic, partitions=(partition,)),)))
        ask(effect)

    both._ask = change_question  # type: ignore[method-assign]
    both.run(5, lambda: bool(answers))
    return answers[0]


def test_a_position_at_or_behind_the_end_is_out_of_range_and_a_partition_unknown() -> None:  # SNP-12
    leader = leader_with_a_short_log()
    size = leader.log.snapshot_size(leader.log.snapshots()[-1])
    assert size is not None
    whole = wire_answer(leader).topics[0].partitions[0]
    assert (whole.error_code, whole.size, whole.position, len(whole.unaligned_records)) == (0, size, 0, size)
    last = wire_answer(leader, position=size - 1).topics[0].partitions[0]
    assert (last.error_code, last.position, len(last.unaligned_records)) == (0, size - 1, 1)
    for position in (size, size + 1):
        answer = wire_answer(leader, position=position).topics[0].partitions[0]
        assert answer.error_code == ErrorCode.POSITION_OUT_OF_RANGE
    assert wire_answer(leader, partition=1).topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_follower_refuses_to_serve_a_snapshot() -> None:  # SNP-12
    both = pair()
    both.run(5, lambda: level(both))
    snapshot_id = both.follower.log.snapshots()[-1]
    epoch = both.follower.node.meta.replica.epoch
    request = raft.FetchSnapshotRequest(ReplicaKey(FOLLOWER, NO_DIRECTORY), epoch, snapshot_id, 0, 1000)
    assert answer_of(both.follower, request) is RaftError.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("offset", [0, 1, "start - 1"])
def test_a_fetch_below_the_logs_start_is_answered_with_the_snapshots_id(offset: int | str) -> None:  # SNP-11
    leader = leader_with_a_short_log()
    log = leader.node.meta.replica.log
    start = log.start_offset
    at = Offset(start - 1 if isinstance(offset, str) else offset)
    verdict = log.validate(at, Epoch(1))
    assert verdict == type(verdict)(log.snapshots[-1])  # type: ignore[call-arg]
    assert log.validate(start, Epoch(0)) == verdict, "at the start, but with another epoch"


# The bytes as they come.


def whole_snapshot(leader: LoneController) -> tuple[OffsetAndEpoch, bytes]:
    snapshot_id = leader.log.snapshots()[-1]
    size = leader.log.snapshot_size(snapshot_id)
    assert size is not None
    return snapshot_id, leader.log.read_snapshot(snapshot_id, 0, size)


def feed(snapshot_id: OffsetAndEpoch, data: bytes, step: int) -> int:
    arriving = ArrivingSnapshot(snapshot_id)
    batches = 0
    for position in range(0, len(data), step):
        batches += len(arriving.take(data[position : position + step]))
    arriving.finish()
    return batches


def test_a_snapshot_may_arrive_in_slices_of_any_size() -> None:
    snapshot_id, data = whole_snapshot(leader_with_a_short_log())
    assert len({feed(snapshot_id, data, step) for step in (1, 7, 61, 100, 1000, len(data))}) == 1


def test_a_snapshot_torn_anywhere_is_refused() -> None:
    snapshot_id, data = whole_snapshot(leader_with_a_short_log())
    for size in range(len(data)):
        with pytest.raises(CorruptSnapshot, match=f"{snapshot_id.offset:020d}-"):
            feed(snapshot_id, data[:size], 500)


def test_a_snapshot_without_header_or_with_a_second_footer_is_refused() -> None:
    snapshot_id, data = whole_snapshot(leader_with_a_short_log())
    head = int.from_bytes(data[8:12], "big") + 12
    for wrong in (data[head:], data + data[-80:], data + data, data[:head]):
        with pytest.raises(CorruptSnapshot):
            feed(snapshot_id, wrong, 1 << 20)


def test_what_a_fetch_is_answered_with_survives_the_wire() -> None:
    """The pair passes values; this one passes bytes."""
    both = pair()
    seen: list[Message] = []

    def through_bytes(call: e.Call, answer: Message) -> Message | None:
        if isinstance(answer, FetchResponse | FetchSnapshotResponse):
            version = 18 if isinstance(answer, FetchResponse) else 1
            answer = decode(type(answer), encode(answer, version), version)
            seen.append(answer)
        return answer

    both.tamper = through_bytes
    both.run(5, lambda: level(both))
    assert level(both)
    assert any(isinstance(answer, FetchSnapshotResponse) for answer in seen)
