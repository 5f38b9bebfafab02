"""A peer that lies harms nobody: each lie is refused or ignored, the quorum keeps its leader, its voters and its log,
and goes on.

The same over the wire is in `tests/integration`; here every invariant looks at every step.
"""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import NodeId
from controller_runtime.parts.events import CallFailure
from controller_runtime.protocol.schema import Message
from support.simulation import liar
from support.simulation.fleet import endpoint_of
from support.simulation.liar import Lie, Tamper, tampered
from support.simulation.machine import Machine
from support.simulation.stage import Stage
from support.simulation.world import CLIENT

pytestmark = pytest.mark.simulation


def promises(machine: Machine) -> tuple[object, ...]:
    """What a lie must not change."""
    assert machine.node is not None
    replica = machine.node.meta.replica
    return replica.epoch, type(replica.role), replica.leader_id, replica.voters, machine.persisted


def settled_stage(seed: int) -> Stage:
    stage = Stage(seed, 3)
    stage.wait_for_progress(5)
    stage.until("every node follows or leads", lambda: all(m.node and m.node.image_offset > 5 for m in stage.world.up))
    stage.for_a_while(1.0)
    return stage


@pytest.mark.parametrize("lie", liar.REQUESTS, ids=lambda lie: lie.__name__)
def test_a_request_that_lies_changes_nothing(lie: Lie) -> None:
    stage = settled_stage(7)
    before = {machine.id: promises(machine) for machine in stage.world.up}
    answers: list[Message] = []
    failures: list[CallFailure] = []

    def tell(_: int, answer: Message) -> None:
        answers.append(answer)

    for _ in range(20):
        for machine in (each for each in stage.world.up if not each.is_broker):
            body = lie(machine, liar.STRANGER)
            stage.world.ask(CLIENT, endpoint_of(machine.id), body, 3.0, tell, failures.append)
        stage.for_a_while(0.05)
    assert len(answers) == 60, failures
    assert {machine.id: promises(machine) for machine in stage.world.up} == before
    stage.wait_for_progress()
    stage.wait_until_all_agree()
    assert {machine.id: promises(machine) for machine in stage.world.up} == before


@pytest.mark.parametrize("tamper", liar.TAMPERS, ids=lambda tamper: tamper.__name__)
@pytest.mark.parametrize("encoding", [False, True], ids=["values", "wire"])
def test_records_that_lie_are_not_appended(tamper: Tamper, encoding: bool) -> None:
    """One follower hears lies for a while; with the others the quorum goes on, and the follower catches up
    afterwards.
    """
    stage = settled_stage(9)
    stage.world.network.encoding = encoding
    leader = stage.leader()
    victim = next(node for node in stage.nodes if node != leader)
    told: list[int] = []

    def lies(source: NodeId, target: NodeId, answer: Message) -> Message:
        if target != victim:
            return answer
        lying = tampered(answer, tamper)
        if lying is not answer:
            told.append(1)
        return lying

    stage.world.tamper = lies
    stage.wait_for_progress(10)
    stage.for_a_while(3.0)
    assert told, "nobody lied"
    stage.world.tamper = None
    stage.wait_for_progress()
    stage.wait_until_all_agree()
    assert stage.machine(victim).node is not None


def test_an_answer_to_another_question_is_ignored() -> None:
    """The leader's answers reach the wrong asker for a while."""
    stage = settled_stage(11)
    last: list[Message] = []

    def swap(source: NodeId, target: NodeId, answer: Message) -> Message:
        if target < 0:
            return answer
        last.append(answer)
        other = last[-3] if len(last) > 3 else answer
        return other if type(other) is type(answer) else answer

    stage.world.tamper = swap
    stage.for_a_while(2.0)
    stage.world.tamper = None
    stage.wait_for_progress()
    stage.wait_until_all_agree()
