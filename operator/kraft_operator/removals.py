"""What is done for a further volume of brokers that the resource names no more, beside closing its directories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kraft_operator.ledger import JournaledStep


@dataclass(frozen=True, slots=True)
class EmptyDirectory:
    """Have a broker move replicas out of a volume, each to the directory that is named. It is asked itself. Fenced by
    `step`. Asking twice is harmless.
    """

    node_id: int
    volume: str
    host: str
    port: int
    replicas: Mapping[tuple[str, int], str]
    step: JournaledStep
    reason: str


@dataclass(frozen=True, slots=True)
class DropVolume:
    """A pool is to do without a volume: the ledger that was written before says so, and its pods are made anew."""

    pool: str
    volume: str
    reason: str


RemovalAction = EmptyDirectory | DropVolume


def about(action: RemovalAction) -> str:
    match action:
        case EmptyDirectory():
            return f"broker {action.node_id}"
        case DropVolume():
            return f"volume {action.volume} of pool {action.pool}"
