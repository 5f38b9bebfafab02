"""One real controller, and a voter made by the test that is as old as Apache Kafka 3.9: it knows votes, but no
pre-votes.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from controller_runtime.protocol.framing import Request
from controller_runtime.protocol.messages import fetch_request as fetch_q
from controller_runtime.protocol.messages import fetch_response as fetch_r
from controller_runtime.protocol.messages import vote_request as vote_q
from controller_runtime.protocol.messages import vote_response as vote_r
from controller_runtime.protocol.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from controller_runtime.protocol.schema import Message
from support.nodes.peers import Peer
from support.nodes.processes import Cluster

pytestmark = pytest.mark.integration
SERVED = {1: (0, 16), 18: (0, 4), 52: (0, 1), 53: (0, 1), 54: (0, 1), 59: (0, 1)}


def grant(request: Request[Message]) -> Message | None:
    match request.body:
        case vote_q.VoteRequest() as vote:
            asked = vote.topics[0].partitions[0]
            given = vote_r.PartitionData(
                partition_index=0, leader_id=-1, leader_epoch=asked.replica_epoch, vote_granted=True
            )
            return vote_r.VoteResponse(topics=(vote_r.TopicData(topic_name="__cluster_metadata", partitions=(given,)),))
        case fetch_q.FetchRequest():
            return fetch_r.FetchResponse(error_code=6)
        case _:
            return None


async def test_a_node_of_ours_is_elected_by_a_voter_that_knows_no_pre_votes(tmp_path: Path) -> None:
    """PV-10: it is never sent a pre-vote, but a vote for the next epoch, and its vote counts."""
    told = asyncio.Event()

    def answer(request: Request[Message]) -> Message | None:
        if isinstance(request.body, BeginQuorumEpochRequest):
            told.set()
        return grant(request)

    peer = Peer(SERVED, answer)
    port = await peer.open()
    with Cluster(tmp_path, controllers=3, static_voters=True) as cluster:
        node = cluster.nodes[1]
        node.properties["controller.quorum.voters"] = (
            f"1@127.0.0.1:{node.port},2@127.0.0.1:{port},3@127.0.0.1:{cluster.nodes[3].port}"
        )
        await asyncio.to_thread(node.format)
        node.start()
        async with asyncio.timeout(120):
            await told.wait()
        votes = [request for request in peer.requests if isinstance(request.body, vote_q.VoteRequest)]
        assert {request.version for request in votes} == {1}
        assert [request.body.topics[0].partitions[0].replica_epoch for request in votes] == [1]  # type: ignore[attr-defined]
    peer.close()
    await asyncio.sleep(0)
