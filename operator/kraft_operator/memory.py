"""What is remembered of one cluster between passes, in this process. All of it is safe to lose.

How the API server renders our last applies saves needless ones; how far controllers' logs were seen to reach raises the
ledger's minimums; since when something has been as it is says how long to wait before a step, and before the next look.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kraft_operator.actions import Action, DeliverGrant, NudgePod, TellRack
from kraft_operator.archive_page import ArchiveMemory
from kraft_operator.credentials_seen import SecretMemory
from kraft_operator.judgement import Round, round_of
from kraft_operator.observed import Brokers, Observed, Pod, Quorum, QuorumState
from kraft_operator.plan.rendered import Rendered
from kraft_operator.quorum import Addresses
from kraft_operator.routes_seen import RouteMemory
from kraft_operator.steadiness import Steadiness

BUSY_SECONDS: Final = 1.0
"""How soon to look again while something is on its way that sends no event (an election, a registration)."""
LONGEST_PAUSE: Final = 30.0
"""Between two looks at a cluster that is not Ready and does not change."""
PATIENCE: Final = 0.1
"""Of the time in which nothing has changed, how much passes until the next look: so a step is late by a tenth of what
it waited for.
"""
CHEAP_SECONDS: Final = 0.5
"""A way that costs no more is laid out at every look."""
WAY_PATIENCE: Final = 20.0
"""How many times as long as the way ahead took to lay out it stays as it is, if nothing unforeseen is done."""
ROUND_SECONDS: Final = 2.0
"""How long before a look its round of comparison must be: four times the wait of a follower's fetch."""
REST_SECONDS: Final = 60.0
"""How long nothing is planned for a cluster at rest: only time changes what there is to do, a soak that ends for
instance.
"""
NUDGE_SECONDS: Final = 3.0
"""How long a gate may take to see an annotation before the pod is touched again."""


@dataclass(frozen=True, slots=True)
class Rest:
    """A look that found nothing to do at a cluster that is Ready or waits for a person: at what it looked, and when."""

    changes: int
    asked: Addresses
    quorum: Quorum
    brokers: Brokers
    at: float


@dataclass(slots=True)
class Memory:
    """Of one cluster, in this process."""

    uid: str
    settled: dict[tuple[str, str], str] = field(default_factory=dict)
    progress: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)
    inspected: dict[str, float] = field(default_factory=dict)
    """Pod UID to when its inspected disk was first seen."""
    suspected: dict[str, float] = field(default_factory=dict)
    """What the last plan suspected, to when it was suspected first."""
    rounds: deque[tuple[float, Round]] = field(default_factory=lambda: deque(maxlen=16))
    """When the quorum was looked at, and what of it is compared with later looks."""
    reclaimed: dict[str, tuple[float, str]] = field(default_factory=dict)
    """Volume to when its reclaim policy was read, and what it was."""
    rendered: Rendered = field(default_factory=Rendered)
    """Of a cluster at rest nothing is kept."""
    steady: Steadiness = field(default_factory=Steadiness)
    secrets: SecretMemory = field(default_factory=SecretMemory)
    archive: ArchiveMemory = field(default_factory=ArchiveMemory)
    routes: RouteMemory = field(default_factory=RouteMemory)
    touched: dict[str, float] = field(default_factory=dict)
    """Pod UID to when we last wrote something on it that its gate waits for."""
    way_due: float = 0.0
    """When the way ahead is laid out again."""
    quiet: bool = False
    """The last look found nothing to do, to say or to suspect: the next one may be a glance."""
    rest: Rest | None = None
    changes: int = -1
    """Of the index, when it was looked at last."""
    still_since: float | None = None
    """When something of the cluster was last seen to change, or was changed."""

    def forget(self, actions: Sequence[Action]) -> None:
        """What they have changed is read again."""
        self.secrets.forget(actions)
        self.routes.forget(actions)

    def note_quorum(self, quorum: Quorum, now: float) -> None:
        if (seen := round_of(quorum)) is not None:
            self.rounds.append((now, seen))
        if quorum.state is not QuorumState.AVAILABLE or quorum.high_watermark < 0:
            return
        for voter in quorum.voters:
            # At or past the high watermark of this epoch, a log holds an entry of this epoch: (epoch, offset) compares
            # safely. No further than it: what is not committed may be truncated.
            if voter.live and voter.log_end_offset >= quorum.high_watermark:
                self.progress[voter.node_id, voter.directory_id] = (quorum.epoch, quorum.high_watermark)

    def before(self, now: float) -> Round | None:
        """The newest round that is old enough."""
        return next((seen for at, seen in reversed(self.rounds) if now - at >= ROUND_SECONDS), None)

    def waited(self, now: float) -> dict[str, float]:
        return {suspicion: now - since for suspicion, since in self.suspected.items()}

    def suspect(self, suspects: Collection[str], now: float) -> None:
        """A suspicion that was not repeated is forgotten: evidence has to stand without a break."""
        self.suspected = {each: self.suspected.get(each, now) for each in suspects}

    def overdue(self, now: float) -> frozenset[str]:
        return frozenset(uid for uid, at in self.touched.items() if now - at > NUDGE_SECONDS)

    def note_gates(self, pods: Collection[Pod], now: float) -> None:
        waiting = {pod.uid for pod in pods if pod.gate_waits}
        self.touched = {uid: at for uid, at in self.touched.items() if uid in waiting}
        self.inspected = {pod.uid: self.inspected.get(pod.uid, now) for pod in pods if pod.inspect}

    def note_touched(self, done: Sequence[Action], now: float) -> list[float]:
        """Returns how long each disk waited, from the sight of it to its grant."""
        waits = []
        for action in done:
            match action:
                case DeliverGrant():
                    self.touched[action.grant.pod_uid] = now
                    waits.append(now - self.inspected.get(action.grant.pod_uid, now))
                case TellRack() | NudgePod():
                    self.touched[action.uid] = now
                case _:
                    pass
        return waits

    def note_plan(self, cost: float, now: float) -> None:
        """A plan that laid out the way has cost so many seconds."""
        self.way_due = now + cost * WAY_PATIENCE if cost > CHEAP_SECONDS else now

    def note_rest(self, changes: int, asked: Addresses, observed: Observed, now: float) -> None:
        self.rendered = Rendered()
        asked, brokers = replace(asked, with_users=False), replace(observed.brokers, users=None)
        self.rest = Rest(changes, asked, essence(observed.quorum), brokers, now)

    def rests(self, changes: int, now: float) -> Rest | None:
        """The last look, if only the quorum can have changed since."""
        rest = self.rest
        return rest if rest is not None and rest.changes == changes and now - rest.at < REST_SECONDS else None

    def pause(self, changes: int, wrote: bool, now: float) -> float:
        """Until the next look at a cluster that is on its way: longer and longer while nothing changes."""
        if wrote or changes != self.changes or self.still_since is None:
            self.changes, self.still_since = changes, now
        return min(max(BUSY_SECONDS, PATIENCE * (now - self.still_since)), LONGEST_PAUSE)


def essence(quorum: Quorum) -> Quorum:
    """Without the numbers that grow by themselves."""
    return replace(
        quorum,
        high_watermark=-1,
        voters=tuple(replace(each, log_end_offset=-1, last_fetch=-1) for each in quorum.voters),
        observers=tuple(replace(each, last_fetch=-1) for each in quorum.observers),
    )
