"""QC-02: what a controller tells a client is committed when it is told.

The record that the answer speaks of lies below the high watermark of the node that answers, though a later one may have
undone it already.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller_runtime.identifiers import Offset
from controller_runtime.metadata.records import decode_record
from controller_runtime.parts import envelope
from controller_runtime.protocol.framing import decode_response
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.envelope_response import EnvelopeResponse
from controller_runtime.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from controller_runtime.protocol.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.record_batch import decode_batches
from controller_runtime.protocol.schema import Message
from controller_runtime.storage.errors import CorruptFile
from support.simulation.machine import Machine
from support.simulation.world import Violation, World


class AnswersAreCommitted:
    def on_answer(self, world: World, machine: Machine, asked: Message, answer: Message) -> None:
        """Of what a broker carries, the controller is asked: the broker may not have replayed it yet."""
        if machine.is_broker:
            return
        assert machine.node is not None
        image = machine.node.image
        asked, answer = _unwrapped(asked, answer)
        match answer:
            case CreateTopicsResponse():
                for topic in answer.topics:
                    if topic.error_code == 0 and image.topics.get(topic.topic_id) is None:
                        self._find(machine, f"{topic.name} {topic.topic_id}", TopicRecord, "topic_id", topic.topic_id)
            case IncrementalAlterConfigsResponse() if answer.responses[0].error_code == 0:
                assert isinstance(asked, IncrementalAlterConfigsRequest)
                resource = asked.resources[0]
                config = resource.configs[0]
                if image.configs.of(resource.resource_type, resource.resource_name).get(config.name) != config.value:
                    self._find(machine, f"{config.name}={config.value}", ConfigRecord, "value", config.value)
            case _:
                pass

    def _find(self, machine: Machine, what: str, kind: type[Message], name: str, value: object) -> None:
        try:
            for record in committed_records(machine):
                if isinstance(record, kind) and getattr(record, name) == value:
                    return
        except CorruptFile:
            if machine.disk.is_rotten:
                return
            raise
        raise Violation(f"n{machine.id} acknowledges {what}, which is not committed")


def _unwrapped(asked: Message, answer: Message) -> tuple[Message, Message]:
    """What is in an Envelope, and in the one that answers it."""
    if not isinstance(asked, EnvelopeRequest) or not isinstance(answer, EnvelopeResponse) or answer.error_code:
        return asked, answer
    inner = envelope.unwrap(asked)
    assert isinstance(inner, envelope.Unwrapped), inner
    header = inner.request.header
    assert answer.response_data is not None
    return inner.request.body, decode_response(
        answer.response_data, header.request_api_key, header.request_api_version
    ).body


def committed_records(machine: Machine) -> Iterator[Message]:
    """What is in the log below the high watermark."""
    assert machine.node is not None
    assert machine.log is not None
    at, bound = machine.log.start_offset, machine.node.meta.high_watermark
    while at < min(bound, machine.log.end_offset):
        for batch in decode_batches(machine.log.read(at, 1 << 20)):
            at = Offset(batch.header.next_offset)
            if at <= bound and not batch.header.is_control:
                for record in batch.records:
                    yield decode_record(record.value or b"")[0]
