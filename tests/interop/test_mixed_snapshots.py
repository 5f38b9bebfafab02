"""Voters of both kinds with small snapshots: fresh voters begin at another kind's snapshot, and directories change
hands.

`tests/interop/test_snapshots_java.py` looks at single snapshots of observers; here voters live from them, and nothing
acknowledged may be missing.

INT-02: snapshots, both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.framing import decode_request, decode_response, encode_request
from controller_runtime.protocol.messages.fetch_snapshot_request import FetchSnapshotRequest, SnapshotId
from controller_runtime.protocol.messages.fetch_snapshot_response import FetchSnapshotResponse
from support.apache_kafka.frame_proxy import FrameProxy
from support.apache_kafka.mixed_quorum import JAVA, OURS, MixedQuorum
from support.apache_kafka.mixed_story import SOAK, assert_nothing_is_lost, change_voters, chosen
from support.apache_kafka.voter_logs import batches_in
from support.clients.config_load import ConfigLoad
from support.disks.metadata_disk import image_of_log, image_of_snapshot, snapshots_in
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.usefixtures("java")]

OFTEN = {"metadata.log.max.record.bytes.between.snapshots": "3000", "metadata.max.idle.interval.ms": "100"}
HANDOVERS = 8 if SOAK else 3


def log_start(directory: Path) -> int:
    return min(batches_in(directory))


def wait_for_snapshots(quorum: MixedQuorum, node_id: int, count: int = 2) -> None:
    eventually(f"node {node_id} writes snapshots", lambda: len(snapshots_in(quorum.metadata(node_id))) >= count)


@pytest.mark.timeout(1200)
def test_fresh_voters_begin_at_the_other_kinds_snapshot(
    tmp_path: Path, run_seed: int, sampled: Callable[[str], None]
) -> None:
    """SNP: FetchSnapshot from a Java leader by our fresh voter, and from ours by Java's; each snapshot says what the
    log says.
    """
    for kind, fresh in chosen(run_seed, ((JAVA, 4), (OURS, 5)), 1):
        with MixedQuorum(tmp_path / kind, "OJO", spares="OJ", extra=OFTEN) as quorum:
            quorum.start()
            with ConfigLoad(quorum.bootstrap) as load:
                load.wait_for(60)
                leader = quorum.lead_by(kind)
                wait_for_snapshots(quorum, leader)
                quorum.boot(fresh)
                quorum.wait_until_following([fresh])
                change_voters(quorum, lambda node=fresh: quorum.add(node), {1, 2, 3, fresh})  # type: ignore[misc]
                start = log_start(quorum.metadata(fresh))
                assert start > 0, "it fetched the log from its beginning"
                gone = 3 if leader != 3 else 1
                change_voters(quorum, lambda node=gone: quorum.remove(node), {1, 2, 3, fresh} - {gone})  # type: ignore[misc]
                load.wait_for(20)
                quorum.make_lead(fresh)
                load.wait_for(20)
                for voter in {1, 2, 3} - {gone}:
                    wait_for_snapshots(quorum, voter)
            compared = assert_nothing_is_lost(quorum, load)
            same = snapshots_tell_the_truth(quorum)
        sampled(f"node {fresh} began at {start} from {kind}: {compared} batches and {same} snapshots alike")


def snapshots_tell_the_truth(quorum: MixedQuorum) -> int:
    """Every snapshot of every voter holds what one whole log says up to its end; how many there were."""
    whole = next(quorum.metadata(n) for n in quorum.voters() if log_start(quorum.metadata(n)) == 0)
    end = max(batches_in(whole))
    count = 0
    for voter in quorum.voters():
        directory = quorum.metadata(voter)
        for snapshot_id in (one for one in snapshots_in(directory)[-4:] if one.offset <= end):
            assert image_of_snapshot(directory, snapshot_id) == image_of_log(whole, snapshot_id.offset), (
                voter,
                snapshot_id,
            )
            count += 1
    assert count > len(quorum.voters())
    return count


@pytest.mark.timeout(1200)
def test_a_directory_is_taken_over_by_java_and_back_again_and_again(
    tmp_path: Path, sampled: Callable[[str], None]
) -> None:
    """A voter with a whole log, and one whose log begins at a snapshot, change implementation without formatting, under
    load.
    """
    with MixedQuorum(tmp_path, "OJO", spares="O", extra=OFTEN) as quorum:
        quorum.start()
        with ConfigLoad(quorum.bootstrap) as load:
            load.wait_for(60)
            wait_for_snapshots(quorum, quorum.leader())
            quorum.boot(4)
            quorum.wait_until_following([4])
            change_voters(quorum, lambda: quorum.add(4), {1, 2, 3, 4})
            assert log_start(quorum.metadata(4)) > 0
            for number in range(HANDOVERS):
                for node_id in (1, 4) if SOAK or number == 1 else (4,):
                    kind = JAVA if quorum.kinds[node_id] == OURS else OURS
                    (quorum.kill if number % 3 == 2 else quorum.stop)(node_id)
                    load.wait_for(3)
                    quorum.boot(node_id, kind)
                    quorum.wait_until_following()
                    load.wait_for(10)
        compared = assert_nothing_is_lost(quorum, load)
        sampled(f"{HANDOVERS} handovers of two directories: {len(load.names)} changes, {compared} batches alike")


class WrongSnapshot:
    """The first requests for a snapshot ask for one that never was."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self, frame: bytes) -> bytes:
        if not self.left or int.from_bytes(frame[:2], "big") != ApiKey.FETCH_SNAPSHOT:
            return frame
        self.left -= 1
        request = decode_request(frame)
        body, header = request.body, request.header
        assert isinstance(body, FetchSnapshotRequest)
        ((topic,),) = (body.topics,)
        ((partition,),) = (topic.partitions,)
        wrong = replace(partition, snapshot_id=SnapshotId(end_offset=partition.snapshot_id.end_offset + 1, epoch=1))
        changed = replace(body, topics=(replace(topic, partitions=(wrong,)),))
        version = header.request_api_version
        return encode_request(changed, version, header.correlation_id, header.client_id, with_length=False)


@pytest.mark.timeout(600)
def test_our_observer_goes_back_to_fetch_when_javas_leader_refuses_a_snapshot(tmp_path: Path) -> None:
    """A 4.3.1 leader answers every error of FetchSnapshot with a top-level -1 and no topics: the observer asks again
    from Fetch on.
    """
    with MixedQuorum(tmp_path, "J", spares="O", extra=OFTEN) as quorum:
        port = quorum.node(1).port
        with FrameProxy(port, WrongSnapshot(times=3)) as proxy:
            for node in quorum.cluster.nodes.values():
                node.properties["controller.quorum.bootstrap.servers"] = f"127.0.0.1:{proxy.port}"
            quorum.node(1).properties["advertised.listeners"] = f"CONTROLLER://127.0.0.1:{proxy.port}"
            quorum.node(1).properties["listeners"] = f"CONTROLLER://127.0.0.1:{port}"
            quorum.start([1])
            with ConfigLoad(f"127.0.0.1:{port}") as load:
                load.wait_for(60)
                wait_for_snapshots(quorum, 1)
                quorum.boot(2)
                quorum.wait_until_following([2])
            refused = [
                decode_response(frame, ApiKey.FETCH_SNAPSHOT, 1).body
                for key, frame in list(proxy.answers)
                if key == ApiKey.FETCH_SNAPSHOT
            ]
        codes = [one.error_code for one in refused if isinstance(one, FetchSnapshotResponse)]
        assert codes[:3] == [-1, -1, -1]
        assert set(codes[3:]) == {0}
        assert log_start(quorum.metadata(2)) > 0
        assert quorum.is_running(2)
