"""What the probes are told.

Liveness is that the event loop turns: an answer at all. Readiness is the truth about service: a leader of the metadata log is known, and a
broker is registered and unfenced. A follower that stops hearing its leader forgets it within the fetch timeout, and a leader that loses its
majority resigns, so "known" means "recently heard of".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from controller_runtime.server.facts import NodeFacts
from controller_runtime.server.http import Answer, Route
from controller_runtime.server.metrics import render, samples
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class Readiness:
    leader_known: bool
    unfenced: bool | None
    """None: not a broker."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the node is not ready; empty when it is."""
        missing = []
        if not self.leader_known:
            missing.append("no leader of the metadata log is known")
        if self.unfenced is False:
            missing.append("the broker is not registered and unfenced")
        return tuple(missing)


def routes(readiness: Callable[[], Readiness], facts: Callable[[], Awaitable[NodeFacts]]) -> dict[str, Route]:
    def livez() -> Answer:
        return Answer(200, "ok\n")

    def readyz() -> Answer:
        reasons = readiness().reasons
        return Answer(503, "".join(f"{reason}\n" for reason in reasons)) if reasons else Answer(200, "ok\n")

    async def metrics() -> Answer:
        return Answer(200, render(samples(await facts())), "text/plain; version=0.0.4; charset=utf-8")

    return {"/livez": livez, "/readyz": readyz, "/metrics": metrics}
