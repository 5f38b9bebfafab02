"""What the probes are answered.

Liveness is that the event loop turns: an answer at all, whatever became of the quorum. Readiness is the truth about
service: a controller leads or heard its leader within the fetch timeout (a leader that loses its majority resigns
within one and a half of them), and a broker is registered and unfenced. A broker serves its clients on while the
controllers are away, so it only has to know who led last.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from controller_runtime.identifiers import NodeId
from controller_runtime.server.telemetry.facts import NodeFacts
from controller_runtime.server.telemetry.http import Answer, Route
from controller_runtime.server.telemetry.metrics import render, samples
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class Readiness:
    leader_id: NodeId | None
    """Who leads the epoch, as far as this node knows: it may be gone."""
    hears_leader: bool = True
    """Asked of controllers."""
    unfenced: bool | None = None
    """None: not a broker."""
    caught_up: bool = True
    """Asked of brokers: before, their listeners accept nobody."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the node is not ready; empty when it is."""
        missing = []
        if self.leader_id is None:
            missing.append("no leader of the metadata log is known")
        elif not self.hears_leader:
            missing.append(
                f"no news from node {self.leader_id}, the leader of the metadata log, within the fetch timeout"
            )
        if not self.caught_up:
            missing.append("the broker has not caught up with the metadata log: its listeners accept nobody yet")
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
