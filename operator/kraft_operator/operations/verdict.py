"""What the surviving copies of a metadata log prove, and which of them a quorum may be made from again (lemmas L5 and
L6).

Let the known prefix of a copy be what lies below the highest high watermark it ever learned. Known prefixes are
prefixes of each other, or the history was no Raft (`FORKED`). Only a copy that holds the longest known prefix may be
the seed, and of these the one with the greatest (last epoch, end): choosing by epoch and offset alone drops entries
that a survivor knows to be committed. The seed also holds every committed entry that any survivor merely holds, if it
was committed in an epoch that the seed's last record has reached. A survivor that has promised itself to a later epoch
tells that there may be more: then the verdict is `UNKNOWN` at most.

`PROVEN_COMPLETE` needs more than L6's n - q + 1 survivors. One change of the voters that no survivor has seen may have
been committed by the lost ones alone (of four voters, two can remove a third: they are a majority of the three that are
left), and after it anything. So the survivors have to meet every majority of the voters they know, and of every set one
change away from it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class CopyRole(StrEnum):
    VOTER = "Voter"
    """It holds whatever it voted for and acknowledged."""
    BROKER = "Broker"
    """Its log may be read, but it is no survivor of any majority: a broker's, or an older copy of a controller's."""


class Judged(StrEnum):
    PROVEN_COMPLETE = "ProvenComplete"
    NO_OBSERVED_LOSS = "NoObservedLoss"
    UNKNOWN = "Unknown"
    KNOWN_LOSS = "KnownLoss"
    FORKED = "Forked"


VoterKey = tuple[int, str]
"""Node id and directory id."""


@dataclass(frozen=True, slots=True)
class LogCopy:
    """One directory's copy of `__cluster_metadata-0`, not changed since its node stopped (or read while it ran)."""

    node_id: int
    role: CopyRole
    cluster_id: str
    directory_id: str
    end: int
    last_epoch: int
    """Of its last record."""
    start: int = 0
    known: int = 0
    """The highest high watermark it tells of: a checkpoint's offset, or what its process said."""
    promised: int = 0
    """The highest epoch it has heard of: of quorum-state, or what its process said."""
    voters: tuple[VoterKey, ...] = ()
    """The last voters it knows, committed or not."""
    digests: Mapping[int, str] = field(default_factory=dict)
    """Offset to the digest of all batches from `common_start` up to it, for `compared_at`."""

    @property
    def key(self) -> VoterKey:
        return self.node_id, self.directory_id

    @property
    def reach(self) -> tuple[int, int]:
        return self.last_epoch, self.end


@dataclass(frozen=True, slots=True)
class Witness:
    """A process that reported what it knows, whatever its disk holds: nothing may be missed that it has seen."""

    node_id: int
    known: int = 0
    promised: int = 0


@dataclass(frozen=True, slots=True)
class RecoveryVerdict:
    """`lost` is the range of offsets [from, to) that somebody knows to be committed and the seed does not hold."""

    judged: Judged
    text: str
    seed: LogCopy | None = None
    lost: tuple[int, int] | None = None


def common_start(copies: Iterable[LogCopy]) -> int:
    """Where every copy that can be compared begins; what lies before is in snapshots only."""
    return max((each.start for each in copies), default=0)


def compared_at(copies: Sequence[LogCopy]) -> tuple[int, ...]:
    """The offsets at which copies have to be compared: the ends of the known prefixes."""
    start = common_start(copies)
    return tuple(sorted({_known(each) for each in copies if _known(each) > start}))


def judge(copies: Sequence[LogCopy], witnesses: Sequence[Witness] = ()) -> RecoveryVerdict:
    if not copies:
        return RecoveryVerdict(Judged.KNOWN_LOSS, "no copy of the metadata log was found")
    if len({each.cluster_id for each in copies}) > 1:
        clusters = ", ".join(sorted({each.cluster_id for each in copies}))
        return RecoveryVerdict(Judged.FORKED, f"the copies are of different clusters: {clusters}")
    if (fork := _fork(copies)) is not None:
        return fork
    longest = max(copies, key=_known)
    admissible = [each for each in copies if _holds(each, longest, copies)]
    seed = max(admissible, key=lambda each: (each.reach, each.role is CopyRole.VOTER, -each.node_id))
    spoken: list[LogCopy | Witness] = [*copies, *witnesses]
    reported = max(each.known for each in spoken)
    if reported > seed.end:
        text = f"offsets {seed.end} to {reported - 1} are known to be committed, and no copy that was found holds them"
        return RecoveryVerdict(Judged.KNOWN_LOSS, text, seed, (seed.end, reported))
    if meets_every_majority(copies):
        text = (
            f"the copies of {len(_voters_alive(seed.voters, copies))} of "
            f"{len(seed.voters)} voters meet every majority (L6)"
        )
        return RecoveryVerdict(Judged.PROVEN_COMPLETE, text, seed)
    later = max(spoken, key=lambda each: each.promised)
    if later.promised > seed.last_epoch:
        text = (
            f"node {later.node_id} has heard of epoch {later.promised}, the last record of the seed is of epoch "
            f"{seed.last_epoch}: in the epochs between something may have been committed that no copy shows (L5)"
        )
        return RecoveryVerdict(Judged.UNKNOWN, text, seed)
    text = f"the seed ends at {seed.end} of epoch {seed.last_epoch}; no survivor knows of anything beyond it (L5)"
    return RecoveryVerdict(Judged.NO_OBSERVED_LOSS, text, seed)


def meets_every_majority(copies: Sequence[LogCopy]) -> bool:
    """Whether nothing can have been committed without one of these voters: by the voters any copy knows, or by a set
    one change away.
    """
    sets = {each.voters for each in copies}
    return bool(sets) and all(_met(voters, copies) for voters in sets)


def digest(
    finding: RecoveryVerdict,
    copies: Iterable[LogCopy],
    witnesses: Iterable[Witness] = (),
    claims: Mapping[int, str] | None = None,
) -> str:
    """Names the verdict and all it rests on, the claims that were read (by UID) and found to be a copy or empty among
    them: who approves it approves exactly this."""
    said: dict[str, Any] = {
        "judged": finding.judged.value,
        "seed": finding.seed.key if finding.seed else None,
        "lost": finding.lost,
        "copies": [
            [each.key, each.cluster_id, each.reach, each.start, each.known, each.promised, sorted(each.voters),
             sorted(each.digests.items())]
            for each in sorted(copies, key=lambda each: each.key)
        ],
        "claims": sorted((claims or {}).items()),
        "witnesses": sorted((each.node_id, each.known, each.promised) for each in witnesses),
    }  # fmt: skip
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:12]


def _known(copy: LogCopy) -> int:
    """What it knows and holds."""
    return min(copy.known, copy.end)


def _fork(copies: Sequence[LogCopy]) -> RecoveryVerdict | None:
    start = common_start(copies)
    for at, one in enumerate(copies):
        for other in copies[at + 1 :]:
            both = min(_known(one), _known(other))
            mine, theirs = one.digests.get(both), other.digests.get(both)
            if both > start and (mine is None or mine != theirs):
                text = (
                    f"nodes {one.node_id} and {other.node_id} both know offset {both} to be committed and hold "
                    "different records below it: this is no history of Raft, and no seed can be chosen"
                )
                return RecoveryVerdict(Judged.FORKED, text)
    return None


def _holds(copy: LogCopy, longest: LogCopy, copies: Sequence[LogCopy]) -> bool:
    """Whether it holds the longest known prefix, byte for byte as far as it can be compared."""
    point = _known(longest)
    if copy.end < point:
        return False
    if copy is longest or point <= common_start(copies):
        return True
    mine = copy.digests.get(point)
    return mine is not None and mine == longest.digests.get(point)


def _voters_alive(voters: Iterable[VoterKey], copies: Iterable[LogCopy]) -> set[VoterKey]:
    return set(voters) & {each.key for each in copies if each.role is CopyRole.VOTER}


def _met(voters: tuple[VoterKey, ...], copies: Sequence[LogCopy]) -> bool:
    count = len(voters)
    alive = _voters_alive(voters, copies)
    lost = count - len(alive)
    if count == 0 or lost >= _majority(count):
        return False
    without_a_survivor = not alive or count == 1 or lost < _majority(count - 1)
    with_a_stranger = lost + 1 < _majority(count + 1)
    return without_a_survivor and with_a_stranger


def _majority(count: int) -> int:
    return count // 2 + 1


def published(judged: RecoveryVerdict, name: str, copies: Sequence[LogCopy]) -> dict[str, Any]:
    """The verdict as the status of an operation shows it; `name` is its hash."""
    seed: dict[str, Any] = {"seed": judged.seed.node_id} if judged.seed is not None else {}
    return {
        "verdict": judged.judged.value,
        "hash": name,
        "text": judged.text,
        **seed,
        **({"lostFrom": judged.lost[0], "lostTo": judged.lost[1]} if judged.lost is not None else {}),
        "copies": [
            {
                "nodeID": each.node_id,
                "role": each.role.value,
                "directoryID": each.directory_id,
                "lastEpoch": each.last_epoch,
                "end": each.end,
                "known": each.known,
                "promised": each.promised,
            }
            for each in copies
        ],
    }
