"""Calls from one broker to another, or to itself, in the service of a coordinator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.call_ids import CallIds
from controller_runtime.parts.effects import Call
from controller_runtime.parts.events import CallId
from controller_runtime.protocol.schema import Message

_TIMEOUT_MS: Final = 30_000
ToItself = Callable[[Message, Callable[[Message], None]], "list[BrokerEffect]"]


class Peers:
    def __init__(
        self,
        node_id: NodeId,
        calls: CallIds,
        listener: str,
        image: Callable[[], MetadataImage],
        to_itself: ToItself | None = None,
    ) -> None:
        """`listener`: at which brokers speak with each other. `to_itself`: a request to this broker, and who gets its
        answer; None: it calls itself as it calls others.
        """
        self._node_id = node_id
        self._calls = calls
        self._listener = listener
        self._image = image
        self._to_itself = to_itself

    def call(
        self, node: NodeId, channel: str, body: Message, answered: Callable[[Message], object]
    ) -> tuple[CallId | None, list[BrokerEffect]] | None:
        """Its number, which the answer brings back, and what is to be done. No number: this broker asks itself, and
        `answered` gets the answer. None: the other one cannot be reached now.
        """
        if node == self._node_id and self._to_itself is not None:
            return None, self._to_itself(body, lambda answer: _drop(answered(answer)))
        broker = self._image().cluster.brokers.get(node)
        listener = None if broker is None else broker.listeners.get(self._listener)
        if listener is None:
            return None
        call_id = self._calls.next()
        return call_id, [Call(call_id, f"{channel}-{node}", listener.endpoint, body, _TIMEOUT_MS, at_broker=True)]


def _drop(_: object) -> None:
    """Nothing is to be done with it."""
