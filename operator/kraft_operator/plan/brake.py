"""The fleet's brake: how many replacements of lost disks, voters' and brokers', one operator begins within an hour,
over all of its clusters.

Disks fail one by one. When many clusters lose theirs at once, something beneath them is the cause (a zone, a storage
system, somebody's script), and what looks lost may come back: then it is better to wait and to say so. The brake holds
back beginnings only: what the account has already, and a voter that was removed, or a broker whose directory was
written off, is carried to its end. Times are seconds since 1970, because the account outlives the process that wrote
it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from kraft_operator.plan.headroom import Gate

WINDOW_SECONDS: Final = 3600.0
MAX_LIMIT: Final = 500
"""An account of so many entries still fits into an annotation."""


class BadAccount(ValueError):
    """The text is no account of ours."""


@dataclass(frozen=True, slots=True)
class Begun:
    """One replacement: of this directory in this cluster."""

    cluster: str
    """Its UID."""
    place: str
    """Its namespace and name, for people."""
    node_id: int
    directory_id: str
    at: float

    @property
    def key(self) -> tuple[str, str]:
        return self.cluster, self.directory_id


@dataclass(frozen=True, slots=True)
class Brake:
    """The account as it stands `now`. A limit of 0 holds nothing back."""

    limit: int = 0
    begun: tuple[Begun, ...] = ()
    now: float = 0.0

    @property
    def recent(self) -> tuple[Begun, ...]:
        """What still counts. An entry from a future that never came, because a clock was set back, does not count for
        ever.
        """
        return tuple(each for each in self.begun if abs(self.now - each.at) < WINDOW_SECONDS)

    def knows(self, cluster: str, directory_id: str) -> bool:
        return any(each.key == (cluster, directory_id) for each in self.recent)

    def gate(self, cluster: str, directory_id: str) -> Gate:
        """Whether the replacement of this directory may begin now."""
        count = len(self.recent)
        if not self.limit or count < self.limit or self.knows(cluster, directory_id):
            return Gate(True, f"{count} of {self.limit or 'any number of'} replacements were begun within an hour")
        why = (
            f"the operator has begun {count} replacements of lost disks within an hour and "
            f"may begin no more than {self.limit}"
        )
        return Gate(
            False, f"find out why so many disks are lost at once: {why}, and goes on by itself at {self._next()}"
        )

    def _next(self) -> str:
        """When enough of them are an hour old."""
        times = sorted(each.at for each in self.recent)
        free = times[len(times) - self.limit] + WINDOW_SECONDS
        return datetime.fromtimestamp(free, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


NO_LIMIT: Final = Brake()


def render(begun: Sequence[Begun]) -> str:
    fields = [
        {"cluster": each.cluster, "place": each.place, "nodeID": each.node_id, "directoryID": each.directory_id,
            "at": each.at}
        for each in begun
    ]  # fmt: skip
    return json.dumps(fields, separators=(",", ":"))


def parse(text: str) -> tuple[Begun, ...]:
    """Of an account that was never written: nothing."""
    try:
        return tuple(
            Begun(str(each["cluster"]), str(each["place"]), int(each["nodeID"]), str(each["directoryID"]),
                float(each["at"]))
            for each in json.loads(text or "[]")
        )  # fmt: skip
    except (ValueError, TypeError, KeyError) as error:
        raise BadAccount(f"{text[:200]!r}: {error}") from error
