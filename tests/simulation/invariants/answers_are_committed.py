"""QC-02: what a controller tells a client is committed when it is told, and a majority has it on disk."""

from __future__ import annotations

from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.schema import Message
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class AnswersAreCommitted:
    def on_answer(self, world: World, machine: Machine, asked: Message, answer: Message) -> None:
        if not isinstance(answer, CreateTopicsResponse):
            return
        assert machine.node is not None
        for topic in answer.topics:
            if topic.error_code == 0 and machine.node.image.topics.get(topic.topic_id) is None:
                raise Violation(f"n{machine.id} acknowledges {topic.name}, which is not in its committed image")

    def after_step(self, world: World, machine: Machine) -> None: ...

    def after_save(self, world: World, machine: Machine) -> None: ...

    def at_end(self, world: World) -> None: ...
