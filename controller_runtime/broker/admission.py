"""Requests at a broker's listeners are judged before any handler sees them; what leaves is made whole again.

A request of which the authorizer lets a part be served goes to its handler without the rest, and is remembered until
its answer leaves, whichever part of the broker it comes from. Both may take more than one step (`long_answers`).
"""

from __future__ import annotations

from typing import assert_never

from controller_runtime.answers.rights.guard import Guard, Question
from controller_runtime.answers.rights.verdict import Refused, Verdict
from controller_runtime.broker.long_answers import Effects, Handler, LongAnswers
from controller_runtime.broker.produce import NO_ACKS
from controller_runtime.broker.rights import GATE
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.metadata.authorizer import AuthorizerRules
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.asker import Asker, Narrowed
from controller_runtime.parts.authority import Asking
from controller_runtime.parts.authorization import Resource
from controller_runtime.parts.effects import CloseConnection, Log, Respond
from controller_runtime.parts.events import ConnectionId, ConnectionInfo, RequestId, RequestReceived
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.authorized_operations import Operation
from controller_runtime.protocol.messages.produce_request import ProduceRequest
from controller_runtime.values import replace


class Admission:
    def __init__(self, rules: AuthorizerRules, makes_topics: bool, long: LongAnswers) -> None:
        self.guard = Guard(rules, GATE, makes_topics)
        self._long = long
        self._narrowed: dict[RequestId, tuple[ConnectionId, Narrowed]] = {}
        """Requests that are served in part, until they are answered."""

    @property
    def waiting(self) -> int:
        """Requests that are served in part, and not answered yet."""
        return len(self._narrowed)

    def may_describe(self, connection: ConnectionInfo, topic: str, image: MetadataImage) -> bool:
        """Probed for who reads topics by a regular expression."""
        asking = self._asking(connection, image, ApiKey.CONSUMER_GROUP_HEARTBEAT)
        return asking.could(Operation.DESCRIBE, Resource.TOPIC, topic)

    def may_create(self, connection: ConnectionInfo, topics: list[str], image: MetadataImage) -> list[str]:
        """All, or those that are allowed one by one."""
        asking = self._asking(connection, image, ApiKey.STREAMS_GROUP_HEARTBEAT)
        if asking.could(Operation.CREATE, Resource.CLUSTER):
            return topics
        return [name for name in topics if asking.may(Operation.CREATE, Resource.TOPIC, name)]

    def may_read(self, connection: ConnectionInfo, topic: str, image: MetadataImage) -> bool:
        """Asked for each topic of a share session."""
        return self._asking(connection, image, ApiKey.SHARE_FETCH).may(Operation.READ, Resource.TOPIC, topic)

    def _asking(self, connection: ConnectionInfo, image: MetadataImage, key: ApiKey) -> Asking:
        acls = image.acls if self.guard.is_ready else None
        return self.guard.authority.asking(acls, connection.principal, connection.peer_address, key)

    def guarded(self, handler: Handler, image: MetadataImage) -> Handler:
        return lambda event, _, now, wall: self._judge(handler, image, event, now, wall)

    def _judge(
        self, handler: Handler, image: MetadataImage, event: RequestReceived, now: Instant, wall: WallClock
    ) -> Effects:
        who = event.connection
        question = Question(who.principal, who.peer_address, event.api_key, event.api_version, event.body)
        return self._long.first(
            Asker(event.request_id, event.body, None, who.connection_id),
            self.guard.judge(question, image, now),
            lambda found, now, wall: self._judged(handler, event, *found, now, wall),
            now,
            wall,
            outlives=_is_unanswered(event),
        )

    def _judged(
        self,
        handler: Handler,
        event: RequestReceived,
        verdict: Verdict,
        said: list[Log],
        now: Instant,
        wall: WallClock,
    ) -> Effects:
        if verdict is None:
            return [*said, *handler(event, event.body, now, wall)]
        # Who wants no answer learns of an error by losing the connection, as in Kafka.
        who, is_unanswered = event.connection, _is_unanswered(event)
        end: Effects = [CloseConnection(who.connection_id)] if is_unanswered else []
        match verdict:
            case Refused(answer):
                return [*said, *(end or [Respond(event.request_id, answer)])]
            case Narrowed():
                if not is_unanswered:
                    self._narrowed[event.request_id] = who.connection_id, verdict
                rest = replace(event, body=verdict.rest, frame=None)
                return [*said, *handler(rest, verdict.rest, now, wall), *end]
            case _:
                assert_never(verdict)

    def completed(self, effects: Effects, now: Instant, wall: WallClock) -> Effects:
        """What leaves, with answers to what was served in part made whole, now or a little later."""
        if not self._narrowed:
            return effects
        out: Effects = []
        for each in effects:
            found = self._narrowed.pop(each.request_id, None) if isinstance(each, Respond) else None
            if found is None or not isinstance(each, Respond):
                out.append(each)
            else:
                out += self._complete(each, *found, now, wall)
        return out

    def _complete(
        self, answer: Respond, connection_id: ConnectionId, narrowed: Narrowed, now: Instant, wall: WallClock
    ) -> Effects:
        return self._long.first(
            Asker(answer.request_id, narrowed.whole, None, connection_id),
            narrowed.completed(answer.body),
            lambda whole, *_: [Respond(answer.request_id, whole)],
            now,
            wall,
            doing="answered",
        )

    def on_closed(self, connection_id: ConnectionId) -> None:
        """Nobody waits any more."""
        for request_id in [each for each, (whose, _) in self._narrowed.items() if whose == connection_id]:
            del self._narrowed[request_id]


def _is_unanswered(event: RequestReceived) -> bool:
    """Its sender wants no answer, and may have hung up when it is served."""
    return isinstance(event.body, ProduceRequest) and event.body.acks == NO_ACKS
