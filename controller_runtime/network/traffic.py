"""What went over the outgoing connections of a process, counted for metrics: a few additions for every frame, and
nothing decides by it.

One per pool, shared by its connections. Counts only grow, but for the largest request, which whoever reads takes away.
"""

from __future__ import annotations

from controller_runtime.values import dataclass


@dataclass(slots=True)
class Traffic:
    connections: int = 0
    """Established so far."""
    closed: int = 0
    requests: int = 0
    """Sent, ApiVersions included, as Kafka counts them."""
    responses: int = 0
    bytes_out: int = 0
    bytes_in: int = 0
    reads: int = 0
    largest_request: int = 0
    """In bytes, since `take_largest`."""

    def sent(self, size: int) -> None:
        self.requests += 1
        self.bytes_out += size
        self.largest_request = max(self.largest_request, size)

    def received(self, size: int) -> None:
        self.reads += 1
        self.bytes_in += size

    def take_largest(self) -> int:
        largest, self.largest_request = self.largest_request, 0
        return largest
