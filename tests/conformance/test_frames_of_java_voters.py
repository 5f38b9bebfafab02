"""What Java's controllers asked each other, and its brokers their leader, asked of a controller of ours in the same
place: it answers as Java's did.

Every recorded Fetch, FetchSnapshot, Vote, BeginQuorumEpoch, EndQuorumEpoch, UpdateRaftVoter and ControllerRegistration
of both recorded quorums is put to a production node with the identity, the log (Java's own records) and the knowledge
of the Java controller that was asked. Nothing is translated: ids, addresses, offsets, epochs, high watermarks, snapshot
ids and sizes of the decoded answers are equal, and so are the records.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

import pytest

from controller_runtime.identifiers import Epoch, NodeId, Offset
from controller_runtime.metadata.records import decode_record
from controller_runtime.protocol.api_keys import request_class
from controller_runtime.protocol.control_records import decode_control
from controller_runtime.protocol.framing import decode_response
from controller_runtime.protocol.json_form import from_json, to_json
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from controller_runtime.protocol.messages.leader_change_message import LeaderChangeMessage
from controller_runtime.protocol.messages.register_controller_record import RegisterControllerRecord
from controller_runtime.protocol.record_batch import Record, RecordBatch, decode_batches
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace
from support.apache_kafka.recorded_quorums import EVERYTHING, RecordedQuorum, Stand, Twin
from support.golden import json_lines

pytestmark = pytest.mark.conformance

DYNAMIC: Final = RecordedQuorum(
    "cluster",
    "b7XFcyEkSgSBsv7c2XVvyg",
    {
        1: "Wk8qkmJWQuSE0SxOQt9dRQ",
        2: "znxhPGuVRvawaXsGLtBq9w",
        3: "VucBj5VPQqWvCFTwdZDVRg",
        4: "HicD3j6ebzCx6rlWrdITbw",
    },
    21000,
    "cluster/controller-2",
)
STATIC: Final = RecordedQuorum(
    "static-voters",
    "a6BXpVR2RX6fd-tbvzhsfw",
    {1: "MTjy_sPCbASW28BGahKSwg", 2: "kp_70LQJDscd4kCI0cPSbQ", 3: "oeFraIbZXx8rrAlrT8Cotw"},
    28100,
    "static-voters/controller-3",
    is_static=True,
)
APIS: Final = ("Fetch", "FetchSnapshot", "Vote", "BeginQuorumEpoch", "EndQuorumEpoch")
FRAMES: Final = [
    (quorum, row)
    for quorum in (DYNAMIC, STATIC)
    for row in json_lines(f"wire/{quorum.name}.jsonl.gz")
    if row["listener"] == "controller" and row["api"] in APIS
]


def name_of(quorum: RecordedQuorum, row: dict[str, Any]) -> str:
    return f"{quorum.name} {row['node']} {row['api']} {row['correlation']}"


def partition_of(body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (body.get("responses") or body["topics"])[0]["partitions"][0]
    return found


def records_of(answer: Message) -> bytes:
    match answer:
        case FetchResponse():
            return bytes(answer.responses[0].partitions[0].records or b"")
        case FetchSnapshotResponse():
            return bytes(answer.topics[0].partitions[0].unaligned_records)
        case _:
            return b""


def stand_of(quorum: RecordedQuorum, row: dict[str, Any], answer: Message) -> Stand:
    """What Java's controller knew, as its answer shows it."""
    node = NodeId(int(row["node"].removeprefix("controller-")))
    told, asked = partition_of(row["response"]["body"]), partition_of(row["request"]["body"])
    current = told.get("currentLeader", told)
    epoch, leader = Epoch(current["leaderEpoch"]), NodeId(current["leaderId"])
    if not row["api"].startswith("Fetch"):
        return before_a_vote(quorum, row["api"], node, epoch, leader, told, asked)
    known = leader if leader >= 0 else None
    if leader == node and told["errorCode"]:
        return Stand(node, epoch, node, asked["fetchOffset"], leads=True, resigned=True)
    if leader != node:
        return Stand(node, epoch, known, max(asked["fetchOffset"], 3 if known else 0))
    if row["api"] == "FetchSnapshot":
        start = quorum.batches[quorum.epoch_start(epoch)].header.base_offset
        end = end_behind(quorum, max(start, asked["snapshotId"]["endOffset"]))
        return Stand(node, epoch, node, end, end, leads=True)
    batches = list(decode_batches(records_of(answer)))
    end = batches[-1].header.next_offset if batches else max(asked["fetchOffset"], told["highWatermark"])
    news = not batches and told["highWatermark"] > asked["highWatermark"] and told["highWatermark"] == end
    before = asked["highWatermark"] if news and not told.get("snapshotId") else told["highWatermark"]
    return Stand(node, epoch, node, end, before, leads=True, start=told["logStartOffset"])


def end_behind(quorum: RecordedQuorum, offset: int) -> int:
    """Where the first batch at or behind `offset` ends."""
    return next(batch.header.next_offset for batch in quorum.batches if batch.header.base_offset >= offset)


def before_a_vote(
    quorum: RecordedQuorum,
    api: str,
    node: NodeId,
    epoch: Epoch,
    leader: NodeId,
    told: dict[str, Any],
    asked: dict[str, Any],
) -> Stand:
    """A granted vote and a leader's first word are news; all else leaves a controller as it was."""
    news = not told["errorCode"] and (api == "BeginQuorumEpoch" or (api == "Vote" and not asked["preVote"]))
    known, before = None if news or leader < 0 else leader, Epoch(epoch - 1) if news else epoch
    if known == node:
        own = quorum.batches[quorum.epoch_start(epoch)].header.next_offset
        return Stand(node, epoch, node, own, leads=True, resigned=told.get("voteGranted", False))
    fetched = api == "Vote" and known is not None and not told["voteGranted"]
    return Stand(node, before, known, asked.get("lastOffset", 0), has_fetched=fetched)


def comparable(batch: RecordBatch) -> tuple[Any, ...]:
    """All but the time of writing and what follows from it, and the order of those who granted: Kafka's is that of a
    hash set.
    """
    header = batch.header
    fixed = (header.base_offset, header.next_offset, header.partition_leader_epoch, header.attributes, len(batch.data))
    producer = (header.producer_id, header.producer_epoch, header.base_sequence)
    return *fixed, *producer, [content_of(record, is_control=header.is_control) for record in batch.records]


def content_of(record: Record, *, is_control: bool) -> tuple[Any, ...]:
    told = decode_control(record).message if is_control else record.value
    if isinstance(told, LeaderChangeMessage):
        told = replace(told, granting_voters=tuple(sorted(told.granting_voters, key=lambda voter: voter.voter_id)))
    return record.offset, record.key, told, record.headers


@pytest.mark.parametrize(("quorum", "row"), FRAMES, ids=[name_of(*frame) for frame in FRAMES])
def test_our_voter_answers_javas_voters_and_observers_as_java_did(quorum: RecordedQuorum, row: dict[str, Any]) -> None:
    key, version = row["api_key"], row["version"]
    kafkas = decode_response(bytes.fromhex(row["response"]["hex"]), key, version).body
    twin = Twin(quorum, stand_of(quorum, row, kafkas))
    told_later = partition_of(row["response"]["body"]).get("highWatermark", -1)
    ours = twin.ask(key, version, from_json(request_class(key), row["request"]["body"], version), told_later)
    assert ours is not None, "no answer"
    assert json.loads(json.dumps(to_json(ours, version))) == row["response"]["body"]
    if row["api"] == "Fetch":
        assert [*map(comparable, decode_batches(records_of(ours)))] == [
            *map(comparable, decode_batches(records_of(kafkas)))
        ]
    else:
        assert records_of(ours) == records_of(kafkas)


def leading(api: str) -> list[tuple[RecordedQuorum, dict[str, Any]]]:
    return [
        (quorum, row)
        for quorum in (DYNAMIC, STATIC)
        for row in json_lines(f"wire/{quorum.name}.jsonl.gz")
        if row["listener"] == "controller" and row["api"] == api
    ]


def ask(twin: Twin, row: dict[str, Any]) -> Any:
    """Our answer to a request that the leader answers when what it wrote is committed."""
    key, version = row["api_key"], row["version"]
    ours = twin.ask(key, version, from_json(request_class(key), row["request"]["body"], version), EVERYTHING)
    assert ours is not None, "no answer"
    return json.loads(json.dumps(to_json(ours, version)))


@pytest.mark.parametrize(("quorum", "row"), leading("ControllerRegistration"))
def test_a_java_controller_that_registers_gets_javas_answer_and_javas_record(
    quorum: RecordedQuorum, row: dict[str, Any]
) -> None:
    leader, who = NodeId(int(row["node"][-1])), row["request"]["body"]["incarnationId"]
    end = quorum.batches[1].header.next_offset  # The cluster is new: only what the first leader wrote by itself.
    twin = Twin(quorum, Stand(leader, Epoch(1), leader, end, end, leads=True))
    assert ask(twin, row) == row["response"]["body"]
    kafkas = registrations([batch for batch in quorum.batches if batch.header.partition_leader_epoch == 1])
    ours = registrations(decode_batches(twin.log.read(Offset(end), 1 << 20)))
    assert ours[who] == kafkas[who]


def registrations(batches: Iterable[RecordBatch]) -> dict[str, bytes]:
    """By incarnation."""
    found: dict[str, bytes] = {}
    for batch in batches:
        for record in () if batch.header.is_control else batch.records:
            told = decode_record(record.value or b"")[0]
            if isinstance(told, RegisterControllerRecord):
                found[str(told.incarnation_id)] = record.value or b""
    return found


@pytest.mark.parametrize(("quorum", "row"), leading("UpdateRaftVoter"))
def test_a_java_voter_that_moved_gets_javas_answer_and_javas_record(
    quorum: RecordedQuorum, row: dict[str, Any]
) -> None:
    leader, epoch = NodeId(int(row["node"][-1])), Epoch(row["request"]["body"]["currentLeaderEpoch"])
    first = quorum.epoch_start(epoch)
    after = next(
        (batch for batch in quorum.batches[first + 1 :] if batch.header.is_control), quorum.batches[first + 3]
    )  # The new voters; with kraft.version 0 there are none.
    end = after.header.base_offset
    twin = Twin(quorum, Stand(leader, epoch, leader, end, end, leads=True))
    assert ask(twin, row) == row["response"]["body"]
    if not quorum.is_static:
        ours = decode_batches(twin.log.read(Offset(end), 1 << 20))[0]
        assert comparable(ours) == comparable(after)


ELSEWHERE: Final = {"ApiVersions": "test_probes_controller compares the list of APIs and the features"}


def test_every_recorded_frame_of_a_java_controller_is_replayed() -> None:
    told = {
        row["api"]
        for quorum in (DYNAMIC, STATIC)
        for row in json_lines(f"wire/{quorum.name}.jsonl.gz")
        if row["listener"] == "controller"
        and str(row["request"]["header"]["clientId"]).removeprefix("raft-client-") in ("1", "2", "3", "4")
    }
    assert told == {*APIS, "ControllerRegistration", "UpdateRaftVoter", *ELSEWHERE}
    assert len(FRAMES) == 91
