"""What lies between machines: links that lose, delay, duplicate and reorder, in either direction on their own.

A call is a request on a connection. Lost, it times out; its peer dead but its machine alive, it is refused or disconnected; each message has its
own delay, so calls overtake each other. With `encoding` every message goes through the real codec at the highest version.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from controller_runtime.identifiers import NodeId
from controller_runtime.protocol.api_keys import api, request_class, response_class
from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.schema import Message


@dataclass
class Network:
    rng: Random
    loss: float = 0.0
    duplication: float = 0.0
    slow: float = 0.0
    encoding: bool = False
    cut: set[tuple[NodeId, NodeId]] = field(default_factory=set)
    """Directed links that carry nothing."""

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
        return not self.is_cut(source, target) and self.rng.random() >= self.loss

    def delay(self) -> float:
        if self.slow and self.rng.random() < self.slow:
            return self.rng.uniform(0.05, 1.5)
        return self.rng.uniform(0.0002, 0.004)

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
