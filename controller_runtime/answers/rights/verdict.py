"""What becomes of a request once the authorizer is asked: it is served, refused whole, or served in part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.asker import Narrowed
from controller_runtime.parts.authority import Asking
from controller_runtime.parts.authorization import Resource
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass

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


Judge = Callable[[Judged, Any], Verdict]
"""Each takes the request of its own API."""


def narrowed(
    whole: Message, rest: Message, is_empty: bool, complete: Callable[[Message], Message], empty: Message
) -> Verdict:
    """`empty`: the answer to a request for nothing."""
    return Refused(complete(empty)) if is_empty else Narrowed(whole, rest, complete)
