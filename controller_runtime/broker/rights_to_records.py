"""What the authorizer says of requests for records: Produce, Fetch, offsets, epochs, deletion. Topics are judged one by
one, whether or not they exist: who may not know a topic learns nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from controller_runtime.answers.rights.gate import partitions_denied
from controller_runtime.answers.rights.verdict import Judged, Refused, Verdict, narrowed
from controller_runtime.broker.batch_checks import frame_size, is_transactional
from controller_runtime.broker.fetch import is_full
from controller_runtime.broker.offsets import ISOLATION_LEVELS
from controller_runtime.broker.produce import fault_of
from controller_runtime.parts.asker import Narrowed
from controller_runtime.parts.authorization import Resource
from controller_runtime.protocol.authorized_operations import Operation
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.delete_records_request import DeleteRecordsRequest
from controller_runtime.protocol.messages.fetch_request import FetchRequest
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.init_producer_id_request import InitProducerIdRequest
from controller_runtime.protocol.messages.init_producer_id_response import InitProducerIdResponse
from controller_runtime.protocol.messages.list_offsets_request import ListOffsetsRequest
from controller_runtime.protocol.messages.offset_for_leader_epoch_request import OffsetForLeaderEpochRequest
from controller_runtime.protocol.messages.produce_request import ProduceRequest
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace

_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def produce(judged: Judged, request: ProduceRequest) -> Verdict:
    """What cannot be read is refused as that; a transaction needs Write on its name before any topic is looked at."""
    if fault_of(request) is not None:
        return None
    name = request.transactional_id
    asking = judged.asking
    if _is_of_transaction(request) and not (
        name is not None and asking.may(Operation.WRITE, Resource.TRANSACTIONAL_ID, name)
    ):
        return Refused(refusal(request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
    return _by_topic(judged, request, Operation.WRITE, "topic_data", "responses")


def _is_of_transaction(request: ProduceRequest) -> bool:
    """Some batch says so."""
    return any(
        isinstance(frame_size(data.records), int) and is_transactional(data.records)
        for topic in request.topic_data
        for data in topic.partition_data
        if data.records
    )


def delete_records(judged: Judged, request: DeleteRecordsRequest) -> Verdict:
    return _by_topic(judged, request, Operation.DELETE, "topics", "topics")


def list_offsets(judged: Judged, request: ListOffsetsRequest) -> Verdict:
    return _by_topic(judged, request, Operation.DESCRIBE, "topics", "topics")


def epoch_ends(judged: Judged, request: OffsetForLeaderEpochRequest) -> Verdict:
    """Followers ask, and consumers."""
    if judged.asking.could(Operation.CLUSTER_ACTION, Resource.CLUSTER):
        return None
    return _by_topic(judged, request, Operation.DESCRIBE, "topics", "topics")


def _by_topic(judged: Judged, request: Message, operation: Operation, asked: str, answered: str) -> Verdict:
    """`asked` and `answered`: the fields of request and answer that have the topics."""
    allowed, denied = _split(judged, getattr(request, asked), operation)
    if not denied:
        return None
    refused: Any = refusal(_replaced(request, asked, denied), _DENIED)

    def complete(answer: Message) -> Message:
        return _replaced(answer, answered, (*getattr(answer, answered), *getattr(refused, answered)))

    rest = _replaced(request, asked, allowed)
    return Refused(refused) if not allowed else Narrowed(request, rest, complete)


def _replaced(message: Message, name: str, value: Sequence[Any]) -> Message:
    return replace(message, **{name: tuple(value)})


def _split(judged: Judged, topics: Sequence[Any], operation: Operation) -> tuple[list[Any], list[Any]]:
    """Who is unknown by his id is refused as that."""
    allowed: list[Any] = []
    denied: list[Any] = []
    for topic in topics:
        name = judged.name_of(_name(topic), getattr(topic, "topic_id", None))
        may = name is None or judged.asking.may(operation, Resource.TOPIC, name)
        (allowed if may else denied).append(topic)
    return allowed, denied


def _name(topic: Any) -> str:
    """Messages about records call it `topic` or `name`."""
    return getattr(topic, "name", "") or getattr(topic, "topic", "")


def fetch(judged: Judged, request: FetchRequest) -> Verdict:
    """Followers need ClusterAction, whichever topics they name; a replica id is believed only with it."""
    if request.isolation_level not in ISOLATION_LEVELS or not is_full(request):
        return None
    if max(request.replica_id, request.replica_state.replica_id) >= 0:
        if judged.asking.may(Operation.CLUSTER_ACTION, Resource.CLUSTER):
            return None
        return Refused(FetchResponse(responses=partitions_denied(request.topics, _DENIED)))
    allowed, denied = _split(judged, request.topics, Operation.READ)
    if not denied:
        return None
    responses = partitions_denied(denied, _DENIED)

    def complete(answer: Message) -> Message:
        assert isinstance(answer, FetchResponse), "it answers Fetch"
        return replace(answer, responses=(*answer.responses, *responses))

    rest = replace(request, topics=tuple(allowed))
    return narrowed(request, rest, not allowed, complete, FetchResponse())


def init_producer_id(judged: Judged, request: InitProducerIdRequest) -> Verdict:
    """A transaction needs its name; who only wants no duplicates may write to the cluster, or to any topic."""
    asking, name = judged.asking, request.transactional_id
    if name is None:
        if asking.could(Operation.IDEMPOTENT_WRITE, Resource.CLUSTER) or asking.may(
            Operation.WRITE, Resource.ANY_TOPIC, ""
        ):
            return None
        return _no_producer(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    needed = [Operation.WRITE, *([Operation.TWO_PHASE_COMMIT] if request.enable2_pc else [])]
    if all(asking.may(operation, Resource.TRANSACTIONAL_ID, name) for operation in needed):
        return None
    return _no_producer(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def _no_producer(code: ErrorCode) -> Refused:
    return Refused(InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1))
