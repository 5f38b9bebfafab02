"""What becomes of a request once the authorizer is asked: it is served, refused whole, or served in part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeVar

from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.asker import Narrowed
from controller_runtime.parts.authority import Asking
from controller_runtime.parts.authorization import Resource
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.error_responses import refusal
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, replace

CODES: Final[Mapping[Resource, ErrorCode]] = {
    Resource.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    Resource.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    Resource.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    Resource.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    Resource.ANY_TOPIC: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
}


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing of it is served."""

    answer: Message


Verdict = Refused | Narrowed | None
"""None: it is served as it came."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A request that is judged."""

    asking: Asking
    version: int
    image: MetadataImage
    makes_topics: bool = False
    """This broker creates topics that clients ask for (`auto.create.topics.enable`)."""
    may_use_tokens: bool = False
    """Who asks may ask for delegation tokens."""

    def name_of(self, name: str, topic_id: Any) -> str | None:
        """Of a topic that is named, or meant by its id; None: nobody knows the id."""
        if name:
            return name
        topic = self.image.topics.get(topic_id)
        return None if topic is None else topic.name


Judging = InPieces[NoReturn, Verdict]
"""A verdict on many things, one by one."""
Judge = Callable[[Judged, Any], Verdict | Judging]
"""Each takes the request of its own API."""
Name = TypeVar("Name", bound=Hashable)


def narrowed(
    whole_request: Message,
    rest: Message,
    is_empty: bool,
    complete: Callable[[Message], Message | InPieces[NoReturn, Message]],
    empty: Message,
) -> Judging:
    """`empty`: the answer to a request for nothing."""
    found = Narrowed(whole_request, rest, complete)
    return Refused((yield from found.completed(empty))) if is_empty else found


def parted(items: Sequence[Any], may: Callable[[Any], bool]) -> InPieces[NoReturn, tuple[list[Any], list[Any]]]:
    """What is allowed, and what is denied."""
    allowed: list[Any] = []
    denied: list[Any] = []
    for each in items:
        (allowed if may(each) else denied).append(each)
        yield None
    return allowed, denied


@dataclass(frozen=True, slots=True)
class Fields:
    """What messages call the things that are judged one by one, in request and answer."""

    asked: str
    answered: str


def one_by_one(
    request: Message, fields: Fields, may: Callable[[Any], bool], code: ErrorCode, empty: Message
) -> Judging:
    """What is allowed is served; the answer ends with what is denied, each refused with `code`. `empty`: the answer to
    a request for nothing.
    """
    allowed, denied = yield from parted(getattr(request, fields.asked), may)
    if not denied:
        return None
    refused = getattr(refusal(_with(request, fields.asked, denied), code), fields.answered)

    def complete(answer: Message) -> Message:
        return _with(answer, fields.answered, (*getattr(answer, fields.answered), *refused))

    return (yield from narrowed(request, _with(request, fields.asked, allowed), not allowed, complete, empty))


def _with(message: Message, field: str, found: Sequence[Any]) -> Message:
    changed: Message = replace(message, **{field: tuple(found)})
    return changed


def counted(names: Iterable[Name]) -> InPieces[NoReturn, Counter[Name]]:
    """How often each is named."""
    times: Counter[Name] = Counter()
    for name in names:
        times[name] += 1
        yield None
    return times
