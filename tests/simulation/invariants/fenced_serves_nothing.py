"""A broker serves partitions only while it is registered and unfenced, for all that it knows (KIP-631): the image that
it has replayed has its own registration, of this run, and does not fence it.
"""

from __future__ import annotations

from controller_runtime.protocol.messages.fetch_request import FetchRequest
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.produce_request import ProduceRequest
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.schema import Message
from simulation.invariants.acknowledged_is_readable import acknowledged, fetched
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class FencedServesNothing:
    def on_answer(self, world: World, machine: Machine, asked: Message, answer: Message) -> None:
        if not machine.is_broker or not serves(asked, answer):
            return
        assert machine.node is not None
        own = machine.node.image.cluster.brokers.get(machine.id)
        if own is None or own.incarnation_id != machine.incarnation:
            raise Violation(f"n{machine.id} serves a partition, and has not replayed a registration of this run: {own}")
        if own.fenced:
            raise Violation(f"n{machine.id} serves a partition, and is fenced: {answer!r}")


def serves(asked: Message, answer: Message) -> bool:
    """Records were taken or given."""
    match asked, answer:
        case ProduceRequest(), ProduceResponse():
            return any(True for _ in acknowledged(asked, answer))
        case FetchRequest(), FetchResponse():
            return any(data.records for _, _, data in fetched(asked, answer))
        case _:
            return False
