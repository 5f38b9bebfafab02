"""What the authorizer says of requests for records: Produce, Fetch, offsets, epochs, deletion. Topics are judged one by
one, whether or not they exist: who may not know a topic learns nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn

from controller_runtime.answers.rights.gate import partitions_denied
from controller_runtime.answers.rights.verdict import Judged, Judging, Refused, Verdict, narrowed
from controller_runtime.broker.batch_checks import frame_size, is_transactional
from controller_runtime.broker.offsets import ISOLATION_LEVELS
from controller_runtime.broker.produce_requests import LOOKED_AT_TOGETHER, fault_of
from controller_runtime.parts.asker import Narrowed
from controller_runtime.parts.authorization import Resource
from controller_runtime.parts.pieces import InPieces
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
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, replace

_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_REFUSED_TOGETHER: Final = 20
"""Partitions: a unit of work."""


@dataclass(frozen=True, slots=True)
class _Fields:
    """What messages about records call their topics, and the partitions of these, in request and answer."""

    asked: str
    answered: str
    partitions: str
    said: str


_OF_PRODUCE: Final = _Fields("topic_data", "responses", "partition_data", "partition_responses")
_OF_OTHERS: Final = _Fields("topics", "topics", "partitions", "partitions")


def produce(judged: Judged, request: ProduceRequest) -> Judging:
    """What cannot be read is refused as that; a transaction needs Write on its name before any topic is looked at."""
    if (yield from fault_of(request)) is not None:
        return None
    name = request.transactional_id
    asking = judged.asking
    if (yield from _is_of_transaction(request)) and not (
        name is not None and asking.may(Operation.WRITE, Resource.TRANSACTIONAL_ID, name)
    ):
        code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        refused = yield from _refused(request, request.topic_data, _OF_PRODUCE, code)
        return Refused(ProduceResponse(responses=tuple(refused)))
    return (yield from _by_topic(judged, request, Operation.WRITE, _OF_PRODUCE))


def _is_of_transaction(request: ProduceRequest) -> InPieces[NoReturn, bool]:
    """Some batch says so."""
    batches = (data.records for topic in request.topic_data for data in topic.partition_data if data.records)
    for number, records in enumerate(batches, 1):
        if number % LOOKED_AT_TOGETHER == 0:
            yield None
        if isinstance(frame_size(records), int) and is_transactional(records):
            return True
    return False


def delete_records(judged: Judged, request: DeleteRecordsRequest) -> Judging:
    return (yield from _by_topic(judged, request, Operation.DELETE, _OF_OTHERS))


def list_offsets(judged: Judged, request: ListOffsetsRequest) -> Judging:
    return (yield from _by_topic(judged, request, Operation.DESCRIBE, _OF_OTHERS))


def epoch_ends(judged: Judged, request: OffsetForLeaderEpochRequest) -> Judging:
    """Followers ask, and consumers."""
    if judged.asking.could(Operation.CLUSTER_ACTION, Resource.CLUSTER):
        return None
    return (yield from _by_topic(judged, request, Operation.DESCRIBE, _OF_OTHERS))


def _by_topic(judged: Judged, request: Message, operation: Operation, fields: _Fields) -> Judging:
    allowed, denied = yield from _split(judged, getattr(request, fields.asked), operation)
    if not denied:
        return None
    refused = yield from _refused(request, denied, fields, _DENIED)

    def complete(answer: Message) -> Message:
        whole: Message = _replaced(answer, fields.answered, (*getattr(answer, fields.answered), *refused))
        return whole

    if not allowed:
        return Refused(_replaced(refusal(_replaced(request, fields.asked, ()), _DENIED), fields.answered, refused))
    return Narrowed(request, _replaced(request, fields.asked, allowed), complete)


def _refused(
    request: Message, topics: Sequence[Any], fields: _Fields, code: ErrorCode
) -> InPieces[NoReturn, list[Any]]:
    """What the answer has of these topics."""
    found: list[Any] = []
    for topic in topics:
        wanted = getattr(topic, fields.partitions)
        said: list[Any] = []
        one: Any = None
        for first in range(0, max(1, len(wanted)), _REFUSED_TOGETHER):
            few = _replaced(topic, fields.partitions, wanted[first : first + _REFUSED_TOGETHER])
            (one,) = getattr(refusal(_replaced(request, fields.asked, (few,)), code), fields.answered)
            said += getattr(one, fields.said)
            yield None
        found.append(_replaced(one, fields.said, said))
    return found


def _replaced(message: Any, name: str, value: Sequence[Any]) -> Any:
    return replace(message, **{name: tuple(value)})


def _split(
    judged: Judged, topics: Sequence[Any], operation: Operation
) -> InPieces[NoReturn, tuple[list[Any], list[Any]]]:
    """Who is unknown by his id is refused as that."""
    allowed: list[Any] = []
    denied: list[Any] = []
    for topic in topics:
        name = judged.name_of(_name(topic), getattr(topic, "topic_id", None))
        may = name is None or judged.asking.may(operation, Resource.TOPIC, name)
        (allowed if may else denied).append(topic)
        yield None
    return allowed, denied


def _name(topic: Any) -> str:
    """Messages about records call it `topic` or `name`."""
    return getattr(topic, "name", "") or getattr(topic, "topic", "")


def fetch(judged: Judged, request: FetchRequest) -> Judging:
    """Followers need ClusterAction, whichever topics they name; a replica id is believed only with it."""
    if request.isolation_level not in ISOLATION_LEVELS:
        return None
    if max(request.replica_id, request.replica_state.replica_id) >= 0:
        if judged.asking.may(Operation.CLUSTER_ACTION, Resource.CLUSTER):
            return None
        return Refused(FetchResponse(responses=(yield from partitions_denied(request.topics, _DENIED))))
    allowed, denied = yield from _split(judged, request.topics, Operation.READ)
    if not denied:
        return None
    responses = yield from partitions_denied(denied, _DENIED)

    def complete(answer: Message) -> Message:
        assert isinstance(answer, FetchResponse), "it answers Fetch"
        return replace(answer, responses=(*answer.responses, *responses))

    rest = replace(request, topics=tuple(allowed))
    return (yield from narrowed(request, rest, not allowed, complete, FetchResponse()))


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
