"""What of a leader's reply is given on: whole batches below its high watermark, in order; anything else is refused."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import Endpoint
from controller_runtime.metadata.records import encode_record
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.record_batch import Record, encode_batch
from metadata_pipeline.canon.from_lake import evidence
from metadata_pipeline.copies import Claim, CopyKey, Run
from metadata_pipeline.lake.entries import Commit, CopyFacts, LakeFile, SourceRange, from_json, to_json
from metadata_pipeline.lake.state import replay
from metadata_pipeline.wire.leader import Leader, Mark, ReadError, committed_of

LEADER = Leader(2, 7, Endpoint("c-2", 9093))


def batch(base: int, epoch: int, count: int = 2) -> bytes:
    value = encode_record(NoOpRecord(), 0)
    return encode_batch([Record(base + index, 5, None, value) for index in range(count)], partition_leader_epoch=epoch)


def test_what_lies_above_the_high_watermark_of_the_reply_waits() -> None:
    first, second, third = batch(10, 6), batch(12, 7), batch(14, 7)
    data = first + second + third + batch(16, 7)[:30]
    found = committed_of(data, Mark(10, 6), 14, LEADER)
    assert found is not None
    assert (found.start, found.data, found.mark) == (10, first + second, Mark(14, 7))
    assert committed_of(data, Mark(10, 6), 10, LEADER) is None
    assert committed_of(data, Mark(10, 6), 15, LEADER) == found, "a batch that is committed in part is not"
    assert committed_of(b"", Mark(10, 6), 10, LEADER) is None


def test_a_batch_that_was_read_before_is_not_given_again() -> None:
    found = committed_of(batch(8, 6) + batch(10, 6), Mark(10, 6), 12, LEADER)
    assert found is not None
    assert found.data == batch(10, 6)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(batch(11, 6), id="a hole before the first"),
        pytest.param(batch(10, 6) + batch(13, 6), id="a hole between"),
        pytest.param(batch(10, 5), id="an epoch that falls"),
        pytest.param(batch(10, 6)[:16] + b"\x07" + batch(10, 6)[17:], id="another format"),
        pytest.param(b"\x00" * 200, id="zeros"),
        pytest.param(b"\xff" * 200, id="ones"),
    ],
)
def test_a_reply_that_is_no_log_is_refused(data: bytes) -> None:
    with pytest.raises(ReadError) as told:
        committed_of(data, Mark(10, 6), 1000, LEADER)
    assert told.value.fault == "malformed"


def test_what_a_leader_said_is_a_proof_of_its_own_kind() -> None:
    """Of one copy out of three nothing is proven, but for what the high watermark says; the commit keeps it."""
    key = CopyKey("c", -1, "wire")
    one = SourceRange(
        key, "00000000000000000000.log", 0, 900, 0, 9, runs=(Run(0, 9, 3),), claims=(Claim(0, 9, 3, 4, leader=True),)
    )
    facts = CopyFacts(key, "it", None, (), (9, 3, "high watermark of node 2, leader of epoch 3"))
    commit = Commit(0, "ingest", 0, (LakeFile("data/batches/x", "batches", 4, 100, (one,)),), copies=(facts,))
    canon = evidence(replay([from_json(to_json(commit))]), "c").canon()
    assert (canon.end, canon.epoch, canon.open) == (9, 3, ())
    assert [it.why for it in canon.proofs] == ["high watermark of node 2, leader of epoch 3"]
    assert [(part.copy, part.start, part.end) for part in canon.parts] == [(key, 0, 9)]
