"""How much a listener, its connections and their peers may take."""

from __future__ import annotations

from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class ListenerLimits:
    max_frame_bytes: int = 104857600
    max_idle_seconds: float = 600.0
    backlog: int = 50
    receive_buffer_bytes: int | None = None
    send_buffer_bytes: int | None = None
    max_collected_bytes: int = 256 << 20
    """Of requests that have not come whole yet or wait behind another, of all connections together (Kafka:
    queued.max.request.bytes).
    """
    max_unsent_bytes: int = 128 << 20
    """Of replies that peers have not taken yet, all together. Beyond it nothing is read from disks for them, and
    patience is short; at twice as much the connection with most is closed at once."""
    stalled_seconds: float = 60.0
    """A peer that takes nothing of its reply for so long is given up: longer than a network's hiccup. One that takes
    little by little is not.
    """
    stalled_seconds_when_full: float = 3.0
    """The same while `max_unsent_bytes` are reached, because others wait."""
