"""Topics that streams groups need for themselves: asked for at the controller in the name of the member, and what is
known against it.

As in Kafka nobody waits for them: the member is told that they are missing until they are there, and why they could not
be made, as long as that is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.forwarding import CREATE_TOPICS_VERSION, Forwarder
from controller_runtime.identifiers import Instant
from controller_runtime.parts.effects import Log
from controller_runtime.parts.events import ConnectionInfo
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.framing import decode_response
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.values import dataclass

_MOST: Final = 1_000
"""Topics that are remembered because they could not be made."""
_TOLD: Final = 3
_TIMEOUT_MS: Final = 30_000


class StreamsTopics:
    def __init__(self, forwarder: Forwarder, may_create: Callable[[ConnectionInfo, list[str]], list[str]]) -> None:
        self._forwarder = forwarder
        self._may_create = may_create
        self._asked: set[str] = set()
        self._failed: dict[str, tuple[str, Instant]] = {}
        """Why, and until when that is remembered."""

    def make(self, client: ConnectionInfo, topics: Mapping[str, CreatableTopic], kept_ms: int, now: Instant) -> str:
        """Why they are not asked for, or could not be made lately; empty: nothing is known against it."""
        names = list(topics)
        allowed = set(self._may_create(client, names))
        if len(allowed) < len(names):
            denied = ", ".join(name for name in names if name not in allowed)
            return f"Unauthorized to CREATE on topics {denied}."
        known = {name: self._why(name, now) for name in names}
        wanted = tuple(topics[name] for name in names if known[name] is None and name not in self._asked)
        if wanted:
            self._asked.update(each.name for each in wanted)
            errand = StreamsTopicsToBeMade(tuple(each.name for each in wanted), Instant(now + kept_ms / 1000), self)
            body = CreateTopicsRequest(topics=wanted, timeout_ms=_TIMEOUT_MS)
            self._forwarder.create_for(errand, body, client, now)
        failed = [f"{name} ({why})" for name, why in known.items() if why is not None]
        if not failed:
            return ""
        more = f" and {len(failed) - _TOLD} more" if len(failed) > _TOLD else ""
        return f"Creation failed: {', '.join(failed[:_TOLD])}{more}."

    def _why(self, name: str, now: Instant) -> str | None:
        found = self._failed.get(name)
        if found is None:
            return None
        if found[1] <= now:
            del self._failed[name]
            return None
        return found[0]

    def settled(self, names: tuple[str, ...], failed: Mapping[str, str], until: Instant) -> None:
        self._asked.difference_update(names)
        for name, why in failed.items():
            self._failed.pop(name, None)
            self._failed[name] = why, until
        while len(self._failed) > _MOST:
            del self._failed[next(iter(self._failed))]


@dataclass(frozen=True, slots=True)
class StreamsTopicsToBeMade:
    """Nobody waits for the answer; the next heartbeat is told what came of it."""

    names: tuple[str, ...]
    until: Instant
    """What fails is remembered."""
    topics: StreamsTopics

    @property
    def api_key(self) -> int:
        return ApiKey.CREATE_TOPICS

    def answered(self, frame: bytes) -> list[BrokerEffect]:
        answer = decode_response(frame, ApiKey.CREATE_TOPICS, CREATE_TOPICS_VERSION).body
        assert isinstance(answer, CreateTopicsResponse), "it answers CreateTopics"
        failed = {
            each.name: each.error_message or ErrorCode(each.error_code).name
            for each in answer.topics
            if each.error_code
        }
        return self._over(failed)

    def refused(self, _: ErrorCode, words: str) -> list[BrokerEffect]:
        return self._over(dict.fromkeys(self.names, words))

    def unreadable(self) -> list[BrokerEffect]:
        return self.refused(ErrorCode.UNSUPPORTED_VERSION, "the controller cannot read the request")

    def failed(self) -> list[BrokerEffect]:
        return self._over({})

    def _over(self, failed: Mapping[str, str]) -> list[BrokerEffect]:
        self.topics.settled(self.names, failed, self.until)
        made = f"asked for {len(self.names)} topics of a streams group"
        return [Log("warning" if failed else "info", f"{made}, {len(failed)} of them could not be made")]
