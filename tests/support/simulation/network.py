"""What lies between machines: links that lose, delay, duplicate and reorder, in either direction on their own, and
remember.

A call is a request on a connection. Lost, it times out; its peer dead but its machine alive, it is refused or
disconnected; each message has its own delay, so calls overtake each other. What nodes said to each other may be said
again, minutes later (`Memory`). With `encoding` every message goes through the real codec at the highest version.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from controller_runtime.identifiers import NodeId
from controller_runtime.protocol.api_keys import api, request_class, response_class
from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.schema import Message

REMEMBERED: Final = 64


@dataclass
class Memory:
    """Some of what was sent, the oldest forgotten first: each entry sends its message again."""

    rng: Random
    share: float = 0.0
    sent: deque[Callable[[], None]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    def keep(self, again: Callable[[], None]) -> None:
        if self.share and self.rng.random() < self.share:
            self.sent.append(again)

    def replay(self, count: int) -> None:
        for again in self.rng.sample(list(self.sent), min(count, len(self.sent))):
            again()


@dataclass
class Network:
    rng: Random
    loss: float = 0.0
    duplication: float = 0.0
    slow: float = 0.0
    encoding: bool = False
    cut: set[tuple[NodeId, NodeId]] = field(default_factory=set)
    """Directed links that carry nothing."""

    def __post_init__(self) -> None:
        self.memory = Memory(self.rng)

    def heal(self) -> None:
        self.cut.clear()
        self.loss = self.duplication = self.slow = 0.0

    def isolate(self, node: NodeId, others: tuple[NodeId, ...]) -> None:
        for other in others:
            if other != node:
                self.cut_both(node, other)

    def cut_both(self, one: NodeId, other: NodeId) -> None:
        self.cut |= {(one, other), (other, one)}

    def is_cut(self, source: NodeId, target: NodeId) -> bool:
        return (source, target) in self.cut

    def carries(self, source: NodeId, target: NodeId) -> bool:
        """Whether this message arrives."""
        return (source, target) not in self.cut and (not self.loss or self.rng.random() >= self.loss)

    def delay(self) -> float:
        if self.slow and self.rng.random() < self.slow:
            return 0.05 + 1.45 * self.rng.random()
        return 0.0002 + 0.0038 * self.rng.random()

    def copies(self) -> int:
        return 2 if self.duplication and self.rng.random() < self.duplication else 1

    def request(self, body: Message) -> tuple[int, int, Message]:
        """Key, version and body as they arrive."""
        assert body.KEY is not None
        key = body.KEY
        version = api(key).highest_stable
        return key, version, decode(request_class(key), encode(body, version), version) if self.encoding else body

    def response(self, key: int, version: int, body: Message) -> Message:
        return decode(response_class(key), encode(body, version), version) if self.encoding else body
