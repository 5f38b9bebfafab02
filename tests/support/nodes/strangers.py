"""Asking a node whatever one likes: one request on a socket of its own, its answer decoded. And its metrics, by name
and labels.
"""

from __future__ import annotations

import re
import socket
import struct

from controller_runtime.identifiers import METADATA_TOPIC_ID, METADATA_TOPIC_NAME, Uuid
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.messages import begin_quorum_epoch_request as begin_q
from controller_runtime.protocol.messages import end_quorum_epoch_request as end_q
from controller_runtime.protocol.messages import fetch_request as fetch_q
from controller_runtime.protocol.messages import fetch_snapshot_request as snap_q
from controller_runtime.protocol.messages import vote_request as vote_q
from controller_runtime.protocol.schema import Message
from support.nodes.processes import NodeProcess

NO_UUID = Uuid(bytes(16))
_SAMPLE = re.compile(r"^(\w+(?:\{[^}]*\})?) (\S+)$", re.MULTILINE)


def ask(node: NodeProcess, body: Message, version: int) -> Message:
    key = body.KEY
    assert key is not None, f"{type(body).__name__} is no request"
    with socket.create_connection(("127.0.0.1", node.port), timeout=30) as connection:
        connection.sendall(encode_request(body, version, 7, "a stranger"))
        with connection.makefile("rb") as stream:
            (size,) = struct.unpack(">i", stream.read(4))
            return decode_response(stream.read(size), key, version).body


def metrics(node: NodeProcess) -> dict[str, float]:
    """By `name` or `name{labels}`, as they are written."""
    status, text = node.http("/metrics")
    assert status == 200, text
    return {name: float(value) for name, value in _SAMPLE.findall(text)}


def refused(request: str, error: str) -> str:
    return f'kafka_network_requestmetrics_errorspersec_count{{request="{request}",error="{error}",role="controller"}}'


def bad_answer(request: str, reason: str) -> str:
    return f'quorate_raft_bad_answers_total{{request="{request}",reason="{reason}"}}'


# The requests of raft, as anybody may send them.


def vote(
    epoch: int, node: int, directory: Uuid, last: tuple[int, int], *, cluster: str | None = None, pre: bool = False
) -> vote_q.VoteRequest:
    """`last`: the offset and the epoch at which the asker's log ends. Version 2."""
    asked = vote_q.PartitionData(
        replica_epoch=epoch,
        replica_id=node,
        replica_directory_id=directory,
        last_offset=last[0],
        last_offset_epoch=last[1],
        pre_vote=pre,
    )
    topic = vote_q.TopicData(topic_name=METADATA_TOPIC_NAME, partitions=(asked,))
    return vote_q.VoteRequest(cluster_id=cluster, voter_id=-1, topics=(topic,))


def begin(epoch: int, leader: int, port: int = 1, *, cluster: str | None = None) -> begin_q.BeginQuorumEpochRequest:
    """Version 1."""
    asked = begin_q.PartitionData(leader_id=leader, leader_epoch=epoch)
    at = begin_q.LeaderEndpoint(name="CONTROLLER", host="127.0.0.1", port=port)
    topic = begin_q.TopicData(topic_name=METADATA_TOPIC_NAME, partitions=(asked,))
    return begin_q.BeginQuorumEpochRequest(cluster_id=cluster, voter_id=-1, topics=(topic,), leader_endpoints=(at,))


def end(epoch: int, leader: int, *, cluster: str | None = None) -> end_q.EndQuorumEpochRequest:
    """Version 1."""
    asked = end_q.PartitionData(leader_id=leader, leader_epoch=epoch)
    topic = end_q.TopicData(topic_name=METADATA_TOPIC_NAME, partitions=(asked,))
    return end_q.EndQuorumEpochRequest(cluster_id=cluster, topics=(topic,))


def fetch(
    epoch: int, offset: int, last_epoch: int, *, node: int = -1, directory: Uuid = NO_UUID, cluster: str | None = None
) -> fetch_q.FetchRequest:
    """Version 17."""
    asked = fetch_q.FetchPartition(
        partition=0,
        current_leader_epoch=epoch,
        fetch_offset=offset,
        last_fetched_epoch=last_epoch,
        replica_directory_id=directory,
    )
    return fetch_q.FetchRequest(
        cluster_id=cluster,
        replica_state=fetch_q.ReplicaState(replica_id=node),
        max_wait_ms=0,
        topics=(fetch_q.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=(asked,)),),
    )


def fetch_snapshot(
    epoch: int, snapshot: tuple[int, int], position: int = 0, *, cluster: str | None = None
) -> snap_q.FetchSnapshotRequest:
    """`snapshot`: its end offset and epoch. Version 1."""
    asked = snap_q.PartitionSnapshot(
        partition=0,
        current_leader_epoch=epoch,
        snapshot_id=snap_q.SnapshotId(end_offset=snapshot[0], epoch=snapshot[1]),
        position=position,
    )
    topic = snap_q.TopicSnapshot(name=METADATA_TOPIC_NAME, partitions=(asked,))
    return snap_q.FetchSnapshotRequest(cluster_id=cluster, replica_id=-1, topics=(topic,))
