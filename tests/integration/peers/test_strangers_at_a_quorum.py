"""Three real controllers, and somebody who asks what nobody should: each question has its typed error and its count,
and the quorum goes on as it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from controller_runtime.identifiers import ReplicaKey, Uuid
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.add_raft_voter_request import AddRaftVoterRequest, Listener
from controller_runtime.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from controller_runtime.protocol.schema import Message
from support.nodes import strangers
from support.nodes.processes import Cluster, NodeProcess, eventually, free_ports
from support.nodes.strangers import NO_UUID, ask, metrics, refused

pytestmark = pytest.mark.integration
LAST_EPOCH = 2**31 - 1
STRANGER = Uuid.of(0x77, 0x77)
EPOCHS = "quorate_raft_refused_epochs_total"
RAFT = "kafka_server_raftmetrics_"


@dataclass
class Quorum:
    cluster: Cluster
    leader: NodeProcess

    @property
    def epoch(self) -> int:
        return self.cluster.quorum().leader_epoch

    @property
    def follower(self) -> NodeProcess:
        return next(node for node in self.cluster.controller_nodes if node is not self.leader)

    def key_of(self, node: NodeProcess) -> ReplicaKey:
        seen = self.cluster.quorum().voters
        return next(ReplicaKey(one.replica_id, one.directory_id) for one in seen if one.replica_id == node.node_id)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("strangers"), controllers=3) as running:
        running.start()
        running.wait_for_leader()
        yield running


@pytest.fixture
def quorum(cluster: Cluster) -> Iterator[Quorum]:
    """Unharmed afterwards: the same leader of the same epoch, the same voters, and commits go on."""
    seen = Quorum(cluster, cluster.wait_for_leader())
    before = cluster.quorum()
    yield seen
    after = cluster.quorum()
    assert (after.leader_id, after.leader_epoch) == (before.leader_id, before.leader_epoch)
    assert {one.replica_id for one in after.voters} == {one.replica_id for one in before.voters}
    eventually("commits go on", lambda: cluster.quorum().high_watermark > after.high_watermark)
    assert all(node.is_running for node in cluster.controller_nodes)


def partition_error(answer: Message) -> ErrorCode:
    """The error of the only partition of an answer, or that of the whole."""
    if code := getattr(answer, "error_code", 0):
        return ErrorCode(code)
    topics: Any = getattr(answer, "topics", None) or getattr(answer, "responses", ())
    return ErrorCode(topics[0].partitions[0].error_code)


@pytest.mark.parametrize("who", ["leader", "follower"])
@pytest.mark.parametrize(
    "request_of",
    [
        strangers.vote(LAST_EPOCH, 9, STRANGER, (2**40, LAST_EPOCH - 1)),
        strangers.vote(LAST_EPOCH, 9, STRANGER, (2**40, LAST_EPOCH), pre=True),
        strangers.begin(LAST_EPOCH, 9),
        strangers.end(LAST_EPOCH, 9),
    ],
    ids=["Vote", "pre-vote", "BeginQuorumEpoch", "EndQuorumEpoch"],
)
def test_a_stranger_cannot_use_up_the_epochs(quorum: Quorum, who: str, request_of: Message) -> None:
    node = quorum.leader if who == "leader" else quorum.follower
    epoch, before = quorum.epoch, metrics(node)
    answer = ask(node, request_of, 2 if "Vote" in type(request_of).__name__ else 1)
    assert partition_error(answer) is ErrorCode.UNKNOWN_LEADER_EPOCH
    after = metrics(node)
    assert after[EPOCHS] == before[EPOCHS] + 1
    assert after[RAFT + "current_epoch"] == epoch


def test_a_fetch_from_the_future_is_refused(quorum: Quorum) -> None:
    before = metrics(quorum.leader)
    answer = ask(quorum.leader, strangers.fetch(LAST_EPOCH, 1, 1), 17)
    assert partition_error(answer) is ErrorCode.UNKNOWN_LEADER_EPOCH
    name = refused("Fetch", "UNKNOWN_LEADER_EPOCH")
    assert metrics(quorum.leader)[name] == before.get(name, 0) + 1


def test_an_offset_that_never_was_commits_nothing(quorum: Quorum) -> None:
    """A voter that claims to have a million records more than the leader is told where their histories part."""
    key = quorum.key_of(quorum.follower)
    before = metrics(quorum.leader)
    asked = strangers.fetch(quorum.epoch, 1_000_000, quorum.epoch, node=key.node_id, directory=key.directory_id)
    answer = ask(quorum.leader, asked, 17)
    assert partition_error(answer) is ErrorCode.NONE
    told = answer.responses[0].partitions[0]  # type: ignore[attr-defined]
    assert told.diverging_epoch.epoch == quorum.epoch
    assert told.diverging_epoch.end_offset < 1_000_000
    after = metrics(quorum.leader)
    assert after["quorate_raft_diverging_fetches_total"] == before["quorate_raft_diverging_fetches_total"] + 1
    assert after[RAFT + "high_watermark"] <= after[RAFT + "log_end_offset"] < 1_000_000


def test_a_negative_offset_is_refused(quorum: Quorum) -> None:
    answer = ask(quorum.leader, strangers.fetch(quorum.epoch, -3, 0), 17)
    assert partition_error(answer) is ErrorCode.INVALID_REQUEST
    assert metrics(quorum.leader)[refused("Fetch", "INVALID_REQUEST")] >= 1


@pytest.mark.parametrize("snapshot", [(7, 1), (2**50, 3), (0, 0)], ids=["none at 7", "far away", "the bootstrap one"])
def test_a_snapshot_that_does_not_exist_is_not_found(quorum: Quorum, snapshot: tuple[int, int]) -> None:
    before = metrics(quorum.leader)
    answer = ask(quorum.leader, strangers.fetch_snapshot(quorum.epoch, snapshot), 1)
    assert partition_error(answer) is ErrorCode.SNAPSHOT_NOT_FOUND
    name = refused("FetchSnapshot", "SNAPSHOT_NOT_FOUND")
    assert metrics(quorum.leader)[name] == before.get(name, 0) + 1


@pytest.mark.parametrize(
    ("request_of", "version"),
    [
        (strangers.vote(3, 2, STRANGER, (0, 0), cluster="other-other-other-othe"), 2),
        (strangers.begin(3, 2, cluster="other-other-other-othe"), 1),
        (strangers.end(3, 2, cluster="other-other-other-othe"), 1),
        (strangers.fetch(3, 0, 0, cluster="other-other-other-othe"), 17),
        (strangers.fetch_snapshot(3, (1, 1), cluster="other-other-other-othe"), 1),
        (AddRaftVoterRequest(cluster_id="other-other-other-othe", voter_id=4, voter_directory_id=STRANGER), 1),
        (RemoveRaftVoterRequest(cluster_id="other-other-other-othe", voter_id=3, voter_directory_id=STRANGER), 0),
    ],
    ids=["Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "Fetch", "FetchSnapshot", "AddRaftVoter", "RemoveRaftVoter"],
)
def test_another_cluster_is_refused_by_everything(quorum: Quorum, request_of: Message, version: int) -> None:
    api = type(request_of).__name__.removesuffix("Request")
    name = refused(api, "INCONSISTENT_CLUSTER_ID")
    before = metrics(quorum.leader)
    assert partition_error(ask(quorum.leader, request_of, version)) is ErrorCode.INCONSISTENT_CLUSTER_ID
    assert metrics(quorum.leader)[name] == before.get(name, 0) + 1


def adding(node_id: int, directory: Uuid, port: int) -> AddRaftVoterRequest:
    at = Listener(name="CONTROLLER", host="127.0.0.1", port=port)
    return AddRaftVoterRequest(
        cluster_id=None, voter_id=node_id, voter_directory_id=directory, listeners=(at,), timeout_ms=3000
    )


def test_a_second_voter_with_the_id_of_one_is_refused(quorum: Quorum) -> None:
    """RCF-05: 126, whatever its directory."""
    node = quorum.follower
    answer = ask(quorum.leader, adding(node.node_id, STRANGER, node.port), 1)
    assert partition_error(answer) is ErrorCode.DUPLICATE_VOTER
    assert metrics(quorum.leader)[refused("AddRaftVoter", "DUPLICATE_VOTER")] >= 1


def test_a_voter_that_cannot_be_reached_is_refused_and_leaves_nothing_behind(quorum: Quorum) -> None:
    """RCF-05: the leader asks it for its versions, in vain."""
    (nobody,) = free_ports(1)
    answer = ask(quorum.leader, adding(4, STRANGER, nobody), 1)
    assert partition_error(answer) is ErrorCode.REQUEST_TIMED_OUT
    after = metrics(quorum.leader)
    assert after[refused("AddRaftVoter", "REQUEST_TIMED_OUT")] >= 1
    assert (after[RAFT + "number_of_voters"], after[RAFT + "uncommitted_voter_change"]) == (3, 0)


@pytest.mark.parametrize(
    "request_of",
    [
        adding(4, NO_UUID, 9),
        AddRaftVoterRequest(cluster_id=None, voter_id=4, voter_directory_id=STRANGER, timeout_ms=1000),
    ],
    ids=["no directory", "no listener"],
)
def test_a_voter_that_is_not_whole_is_refused(quorum: Quorum, request_of: AddRaftVoterRequest) -> None:
    """RCF-05: 42."""
    assert partition_error(ask(quorum.leader, request_of, 1)) is ErrorCode.INVALID_REQUEST
    assert metrics(quorum.leader)[refused("AddRaftVoter", "INVALID_REQUEST")] >= 1


def test_a_voter_that_was_removed_deposes_nobody(tmp_path: Path) -> None:
    """A Vote of who was a voter, in the next epoch and with a log that is as good: the leader is heard, so there is
    nothing to vote about.
    """
    with Cluster(tmp_path, controllers=3) as cluster:
        cluster.start()
        leader = cluster.wait_for_leader()
        gone = next(node for node in cluster.controller_nodes if node is not leader)
        removed = next(one for one in cluster.quorum().voters if one.replica_id == gone.node_id)

        async def remove() -> None:
            async with cluster.admin(30) as admin:
                await admin.remove_voter(removed.replica_id, removed.directory_id)

        asyncio.run(remove())
        eventually("two voters", lambda: len(cluster.quorum().voters) == 2)
        gone.kill()
        before = cluster.quorum()
        for node in (one for one in cluster.controller_nodes if one is not gone):
            counted = metrics(node)[EPOCHS]
            for pre in (False, True):
                next_epoch = before.leader_epoch + 1
                last = (2**40, before.leader_epoch)
                asked = strangers.vote(next_epoch, gone.node_id, removed.directory_id, last, pre=pre)
                answer = ask(node, asked, 2)
                assert partition_error(answer) is ErrorCode.NONE, "a plain no"
                assert not answer.topics[0].partitions[0].vote_granted  # type: ignore[attr-defined]
            assert metrics(node)[RAFT + "current_epoch"] == before.leader_epoch
            assert metrics(node)[EPOCHS] == counted + 2
        after = cluster.quorum()
        assert (after.leader_id, after.leader_epoch) == (before.leader_id, before.leader_epoch)
        eventually("commits go on", lambda: cluster.quorum().high_watermark > after.high_watermark)
