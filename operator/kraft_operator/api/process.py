"""How the process of a node is run, where its image lets the operator say it: the Java machine, the log, metrics.

What an image can honour follows from its probes: HTTP is what Quorate's own offers, which has no JVM, serves its
metrics itself and has one level for its whole log; TCP is Apache Kafka's. What cannot be honoured is refused, because a
heap that nobody takes, or a logger that nobody hears, is worse than an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

DEFAULT_HEAP_PERCENT: Final = 50
"""Of the memory limit: what a broker does not use for its heap, the page cache has."""
MIN_HEAP: Final = "32Mi"


class GcLog(StrEnum):
    OFF = "Off"
    CONSOLE = "Console"


class Level(StrEnum):
    ERROR = "ERROR"
    WARN = "WARN"
    INFO = "INFO"
    DEBUG = "DEBUG"
    TRACE = "TRACE"


@dataclass(frozen=True, slots=True)
class Jvm:
    heap_bytes: int
    options: tuple[str, ...] = ()
    gc_log: GcLog = GcLog.OFF


@dataclass(frozen=True, slots=True)
class Logging:
    """On the console, and nowhere else: files below /tmp would fill it."""

    level: Level = Level.INFO
    loggers: Mapping[str, Level] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JavaAgent:
    """A Prometheus exporter inside of the JVM, from a volume of the pod or from the image."""

    jar: str
    port: int
    config: str


@dataclass(frozen=True, slots=True)
class Metrics:
    jmx_port: int | None = None
    """JMX for containers of the same pod: it has no login, so it listens on the pod's loopback only."""
    java_agent: JavaAgent | None = None

    @property
    def ports(self) -> tuple[int, ...]:
        agent = (self.java_agent.port,) if self.java_agent else ()
        return (*agent, *((self.jmx_port,) if self.jmx_port is not None else ()))


@dataclass(frozen=True, slots=True)
class Process:
    jvm: Jvm | None = None
    logging: Logging | None = None
    metrics: Metrics | None = None
