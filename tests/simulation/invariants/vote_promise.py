"""RFT-12, RFT-13: when a vote is told, it is on disk, and no node ever votes for two in one epoch."""

from __future__ import annotations

from controller_runtime.identifiers import NodeId
from controller_runtime.protocol.messages.vote_request import VoteRequest
from controller_runtime.protocol.messages.vote_response import VoteResponse
from controller_runtime.protocol.schema import Message
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class VotePromise:
    def __init__(self) -> None:
        self.votes: dict[tuple[NodeId, int, int], int] = {}

    def on_answer(self, world: World, machine: Machine, asked: Message, answer: Message) -> None:
        if not isinstance(asked, VoteRequest) or not isinstance(answer, VoteResponse) or not answer.topics:
            return
        vote = asked.topics[0].partitions[0]
        if vote.pre_vote or not answer.topics[0].partitions[0].vote_granted:
            return
        epoch, candidate = vote.replica_epoch, vote.replica_id
        state = machine.persisted
        if state is None or state.epoch != epoch or state.voted_key is None or state.voted_key.node_id != candidate:
            raise Violation(f"n{machine.id} tells its vote for {candidate} in epoch {epoch}, its disk says {state}")
        other = self.votes.setdefault((*machine.content_key, epoch), candidate)
        if other != candidate:
            raise Violation(f"n{machine.id} votes for {candidate} in epoch {epoch}, and for {other}")
