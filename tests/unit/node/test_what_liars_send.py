"""At the border of consensus: clusters that are not ours, bytes that are no batches, histories that do not fit.
Refused, counted, and nothing changes.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import METADATA_TOPIC_ID, METADATA_TOPIC_NAME, Epoch, Instant, Offset, Uuid
from controller_runtime.node.quorum import raft_fetch_rpc, raft_rpc
from controller_runtime.node.quorum.raft_meter import RaftMeter
from controller_runtime.node.quorum.raft_rpc import Border
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import begin_quorum_epoch_request as begin_q
from controller_runtime.protocol.messages import end_quorum_epoch_request as end_q
from controller_runtime.protocol.messages import fetch_request as fetch_q
from controller_runtime.protocol.messages import fetch_response as fetch_r
from controller_runtime.protocol.messages import fetch_snapshot_request as snap_q
from controller_runtime.protocol.messages import vote_request as vote_q
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.protocol.schema import Message
from controller_runtime.raft import messages as raft
from controller_runtime.storage.errors import CorruptFile
from controller_runtime.storage.quorum_state import decode_quorum_state
from support.nodes.one_replica import batch, fetch

pytestmark = pytest.mark.unit
BORDER = Border("ours-ours-ours-ours-ou")
DIRECTORY = Uuid.of(9, 1)


def vote(cluster: str | None) -> Message:
    asked = vote_q.PartitionData(replica_epoch=3, replica_id=2, last_offset_epoch=1, last_offset=4)
    topic = vote_q.TopicData(topic_name=METADATA_TOPIC_NAME, partitions=(asked,))
    return vote_q.VoteRequest(cluster_id=cluster, topics=(topic,))


def begin(cluster: str | None) -> Message:
    topic = begin_q.TopicData(
        topic_name=METADATA_TOPIC_NAME, partitions=(begin_q.PartitionData(leader_id=2, leader_epoch=3),)
    )
    return begin_q.BeginQuorumEpochRequest(cluster_id=cluster, topics=(topic,))


def end(cluster: str | None) -> Message:
    topic = end_q.TopicData(
        topic_name=METADATA_TOPIC_NAME, partitions=(end_q.PartitionData(leader_id=2, leader_epoch=3),)
    )
    return end_q.EndQuorumEpochRequest(cluster_id=cluster, topics=(topic,))


@pytest.mark.parametrize("ask", [vote, begin, end], ids=["RFT-17 Vote", "BeginQuorumEpoch", "RFT-33 EndQuorumEpoch"])
def test_another_cluster_is_refused_and_one_that_names_none_is_heard(ask: object) -> None:
    """RFT-17, RFT-33: 104."""
    assert callable(ask)
    version = 0 if ask is end else 1
    refused = raft_rpc.request_from_wire(ask("other-other-other-othe"), version, BORDER)
    assert isinstance(refused, Message)
    assert getattr(refused, "error_code", None) == ErrorCode.INCONSISTENT_CLUSTER_ID
    for named in (None, BORDER.cluster_id):
        heard = raft_rpc.request_from_wire(ask(named), version, BORDER)
        assert not isinstance(heard, Message)
        assert heard.epoch == 3


def test_fetches_of_another_cluster_are_refused() -> None:
    """RFT-17 for Fetch and FetchSnapshot."""
    asked = fetch_q.FetchRequest(
        cluster_id="other-other-other-othe",
        topics=(fetch_q.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=(fetch_q.FetchPartition(partition=0),)),),
    )
    refused = raft_fetch_rpc.fetch_from_wire(asked, 17, BORDER)
    assert isinstance(refused, fetch_r.FetchResponse)
    assert refused.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    snapshot = raft_fetch_rpc.snapshot_from_wire(
        snap_q.FetchSnapshotRequest(cluster_id="other-other-other-othe"), BORDER
    )
    assert getattr(snapshot, "error_code", None) == ErrorCode.INCONSISTENT_CLUSTER_ID


@pytest.mark.parametrize(
    "topics",
    [
        (),
        (fetch_q.FetchTopic(topic_id=Uuid.of(1, 2), partitions=(fetch_q.FetchPartition(partition=0),)),),
        (fetch_q.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=(fetch_q.FetchPartition(partition=1),)),),
    ],
    ids=["nothing", "another topic", "another partition"],
)
def test_a_fetch_of_something_else_is_refused(topics: tuple[fetch_q.FetchTopic, ...]) -> None:
    """FET-01."""
    refused = raft_fetch_rpc.fetch_from_wire(fetch_q.FetchRequest(topics=topics), 17, BORDER)
    assert isinstance(refused, fetch_r.FetchResponse)
    assert refused.error_code == ErrorCode.INVALID_REQUEST


def records(base: int, count: int) -> bytes:
    made = [Record(base + n, 1000, None, b"value %d" % n) for n in range(count)]
    return bytes(encode_batch(made, base_offset=base, partition_leader_epoch=3))


def answer(data: bytes) -> fetch_r.FetchResponse:
    partition = fetch_r.PartitionData(partition_index=0, high_watermark=0, records=data)
    return fetch_r.FetchResponse(responses=(fetch_r.FetchableTopicResponse(partitions=(partition,)),))


def judged(data: bytes) -> tuple[int, str]:
    """How many batches are taken, and what is wrong with the next."""
    body = answer(data)
    taken = raft_fetch_rpc.fetch_response_from_wire(body).batches
    return len(taken), raft_fetch_rpc.fault_of_records(body, taken)


def test_bytes_that_are_no_batches_are_not_taken_and_what_came_before_is() -> None:
    """FET-13: each bit of a batch that is flipped; noise; a tail that is cut is no fault."""
    good, next_one = records(0, 2), records(2, 1)
    assert judged(good + next_one) == (2, "")
    assert judged(good + next_one[:-5]) == (1, "")
    assert judged(good + next_one[:20]) == (1, "")
    count, fault = judged(good + b"\xff" * 200)
    assert count == 1
    assert fault
    for position in range(16, len(next_one)):
        broken = bytearray(next_one)
        broken[position] ^= 0x10
        count, fault = judged(good + bytes(broken))
        assert count == 1, position
        assert fault, position


def test_an_offset_delta_that_does_not_fit_the_count_is_a_fault() -> None:
    """FET-13: a sparse batch, whole by its checksum; no metadata log has one."""
    sparse = encode_batch([Record(0, 1, None, b"a"), Record(5, 1, None, b"b")], base_offset=0, partition_leader_epoch=3)
    assert judged(bytes(sparse))[0] == 0
    assert "2 records" in judged(bytes(sparse))[1]


@pytest.mark.parametrize(
    ("batches", "reason"),
    [
        ((batch(5, 7, 3), batch(7, 9, 3)), None),
        ((batch(6, 7, 3),), "gap"),
        ((batch(5, 6, 3), batch(7, 8, 3)), "gap"),
        ((batch(5, 6, 1),), "epoch"),
        ((batch(5, 6, 4),), "epoch"),
    ],
    ids=["fits", "later", "a gap", "an older epoch", "a newer epoch"],
)
def test_batches_that_do_not_continue_the_log_are_counted(
    batches: tuple[raft.LogBatch, ...], reason: str | None
) -> None:
    meter = RaftMeter()
    told = raft.FetchResponse(raft.RaftError.NONE, Epoch(3), None, Offset(0), batches=batches)
    meter.answered(fetch(1, 3, 5, 2), told)
    assert meter.bad_answers == ({("Fetch", reason): 1} if reason else {})


def test_a_commit_is_timed_from_its_append() -> None:
    meter = RaftMeter()
    meter.appended(3, Offset(3), Instant(1.0))
    meter.appended(2, Offset(5), Instant(1.1))
    assert meter.appended_records == 5
    assert meter.commits.average_and_maximum(Instant(1.2)) is None


@pytest.mark.parametrize(
    "fields",
    [
        '"votedId":-1,"votedDirectoryId":"HicD3j6ebzCx6rlWrdITbw"',
        '"votedId":-7,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA"',
    ],
    ids=["a directory of no node", "a node that cannot be"],
)
def test_a_stored_vote_without_a_node_is_refused(fields: str) -> None:
    """RFT-07: what cannot be explained must not be taken for no vote."""
    with pytest.raises(CorruptFile, match="quorum-state"):
        decode_quorum_state(f'{{"leaderId":4,"leaderEpoch":5,{fields},"data_version":1}}'.encode(), "quorum-state")
