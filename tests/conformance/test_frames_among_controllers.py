"""What Java's controllers asked each other while they elected leaders, asked of a controller of ours: it answers as Java's did.

The recording (`wire/cluster.jsonl.gz`) keeps a few frames of each shape, so a controller's history has holes. Before each frame our node is told what Java's
answer shows that Java's knew: the epoch, and who led it. It has the identity of the controller that was asked, and an empty log.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from controller_runtime.identifiers import NO_DIRECTORY, NodeId
from controller_runtime.protocol.api_keys import ApiKey, request_class
from controller_runtime.protocol.json_form import from_json, to_json
from controller_runtime.protocol.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from support.golden import json_lines
from support.probes import Quorum
from support.simulation.fleet import CLUSTER_ID, Fleet, directory_of

pytestmark = pytest.mark.conformance

NODES: Final = (NodeId(1), NodeId(2), NodeId(3))
DIRECTORIES: Final = {1: "Wk8qkmJWQuSE0SxOQt9dRQ", 2: "znxhPGuVRvawaXsGLtBq9w", 3: "VucBj5VPQqWvCFTwdZDVRg"}
IDS: Final = {"b7XFcyEkSgSBsv7c2XVvyg": CLUSTER_ID} | {
    java: str(directory_of(NodeId(n))) for n, java in DIRECTORIES.items()
}
APIS: Final = ("Vote", "BeginQuorumEpoch", "EndQuorumEpoch")

OTHERWISE: Final = {
    (
        2,
        "Vote",
        1,
    ): "Java's had fetched from the leader, so it did not grant; ours, which never fetched, does (see the probes)",
    (3, "Vote", 1): "Java's was the leader that resigns; ours never led",
    (2, "EndQuorumEpoch", 2): "Java's led the next epoch itself; ours never led",
}
"""(node, API, epoch of a pre-vote or of an end) of frames whose answer hangs on what the node had lived through."""

FRAMES: Final = [
    row
    for row in json_lines("wire/cluster.jsonl.gz")
    if row["listener"] == "controller" and row["api"] in APIS and row["node"] in {f"controller-{n}" for n in NODES}
]


def name_of(row: dict[str, Any]) -> tuple[int, str, int]:
    partition = row["request"]["body"]["topics"][0]["partitions"][0]
    epoch = partition["replicaEpoch"] if partition.get("preVote") else partition.get("leaderEpoch", -1)
    return int(row["node"][-1]), row["api"], epoch


def walk(value: Any, drop: frozenset[str] = frozenset()) -> Any:
    """With our ids for the recorded ones, without the keys in `drop`."""
    if isinstance(value, dict):
        return {key: walk(each, drop) for key, each in value.items() if key not in drop}
    if isinstance(value, list):
        return [walk(each, drop) for each in value]
    return IDS.get(value, value) if isinstance(value, str) else value


def answers(node: NodeId) -> Iterator[tuple[dict[str, Any], Any]]:
    """Each frame that this controller was sent, and what ours answers to it, in the order of the recording."""
    quorum = Quorum(1, Fleet(voters=NODES, observers=(), dynamic=True))
    quorum.boot(node)
    for row in FRAMES:
        if row["node"] != f"controller-{node}":
            continue
        tell_what_java_knew(quorum, node, row)
        request = from_json(request_class(row["api_key"]), walk(row["request"]["body"]), row["version"])
        answer = quorum.probe(node, row["api_key"], row["version"], request)
        assert answer is not None, "the connection was closed"
        yield row, json.loads(json.dumps(to_json(answer, row["version"])))


def tell_what_java_knew(quorum: Quorum, node: NodeId, row: dict[str, Any]) -> None:
    known = row["response"]["body"]["topics"][0]["partitions"][0]
    leader, epoch = known["leaderId"], known["leaderEpoch"]
    asked = row["request"]["body"]["topics"][0]["partitions"][0]
    if leader in (-1, node) or (row["api"] == "BeginQuorumEpoch" and leader == asked["leaderId"]):
        leader = next(n for n in NODES if n != node)
        if epoch <= asked.get("replicaEpoch", asked.get("leaderEpoch", epoch)):
            return  # the frame itself tells
        vote(quorum, node, leader, epoch)
        return
    begin = {
        "clusterId": CLUSTER_ID, "voterId": node,
        "topics": [{"topicName": "__cluster_metadata", "partitions": [
            {"partitionIndex": 0, "voterDirectoryId": str(directory_of(node)), "leaderId": leader, "leaderEpoch": epoch}]}],
        "leaderEndpoints": [{"name": "CONTROLLER", "host": f"controller-{leader}", "port": 9093}],
    }  # fmt: skip
    quorum.probe(node, ApiKey.BEGIN_QUORUM_EPOCH, 1, from_json(BeginQuorumEpochRequest, begin, 1))


def vote(quorum: Quorum, node: NodeId, candidate: NodeId, epoch: int) -> None:
    """A vote that cannot be granted: it only tells the epoch."""
    body = {
        "clusterId": CLUSTER_ID, "voterId": node,
        "topics": [{"topicName": "__cluster_metadata", "partitions": [
            {"partitionIndex": 0, "replicaEpoch": epoch, "replicaId": candidate, "replicaDirectoryId": str(NO_DIRECTORY),
             "voterDirectoryId": str(directory_of(node)), "lastOffsetEpoch": 0, "lastOffset": 0, "preVote": False}]}],
    }  # fmt: skip
    quorum.probe(node, ApiKey.VOTE, 2, from_json(request_class(ApiKey.VOTE), body, 2))


@pytest.mark.parametrize("node", NODES)
def test_our_controller_answers_javas_controllers_as_java_did(node: NodeId) -> None:
    compared = 0
    for row, ours in answers(node):
        kafkas, where = row["response"]["body"], frozenset({"host", "port"})
        if name_of(row) in OTHERWISE:
            same = frozenset({"host", "port", "voteGranted", "leaderId", "nodeEndpoints"})
            assert walk(ours, same) == walk(kafkas, same), name_of(row)
        else:
            assert walk(ours, where) == walk(kafkas, where), name_of(row)
            compared += 1
    assert compared >= 3


def test_the_recording_has_the_frames_that_are_named_here() -> None:
    assert len(FRAMES) == 16
    assert set(OTHERWISE) <= {name_of(row) for row in FRAMES}
