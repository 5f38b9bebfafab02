"""The operator's memory of one cluster: who every disk is, what was permitted, what is under way.

It lives in the ConfigMap `<cluster>-ledger` (`ledger_format` reads and writes its bytes), outside `.status` and (unless
the user asks otherwise) outside the life of the resource, because volumes outlive both. Whoever writes it must do so
with the resourceVersion that was read: this is the fence between two operators. Times are not kept: an equal ledger
renders to equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from kraft_operator.operations.from_archive import FormedFrom
from kraft_operator.operations.operation import OperationType
from kraft_operator.operations.recovery import Recovery
from storage_guard.formats import Grant, Identity

MAX_NODES: Final = 1000
"""Half of them brokers that the resource asks for at once (`api.parse.MAX_BROKERS`), the others removed ones whose
volume is still there, which need less. Removed ones without a volume are ranges of ids, and are not counted."""


class Origin(StrEnum):
    NEW = "New"
    REBUILT = "Rebuilt"
    """From what the claims remember, after the ledger was lost or an older one was put back."""


class Formation(StrEnum):
    NOT_STARTED = "NotStarted"
    STARTED = "Started"
    """Grants for the first quorum were given; its voters are fixed, a leader was not seen yet."""
    FORMED = "Formed"


@dataclass(frozen=True, slots=True)
class Entry:
    """One node: the disk it is known by, and the last permission it was given."""

    node_id: int
    role: str
    pool: str
    chosen_directory_id: str | None = None
    """Chosen by the operator for the first quorum; the only id that may ever appear in
    `--initial-controllers` for it.
    """
    directory_id: str | None = None
    pvc_name: str | None = None
    pvc_uid: str | None = None
    pv_name: str | None = None
    nonce: str | None = None
    min_epoch: int = 0
    min_offset: int = 0
    rack: str | None = None
    retired: bool = False
    """Scaled away and unregistered; its volume stays and is welcome again."""
    grant: Grant | None = None
    grant_used: bool = False
    """The gate was seen open for it: from then on a disk that is empty again has lost something."""
    replaces: str | None = None
    """The directory id that was written off and whose successor this node waits for or has."""
    host: tuple[str, str] | None = None
    """Name and UID of the Kubernetes node on which it ran last."""

    def identity(self, cluster_id: str) -> Identity | None:
        if self.directory_id is None:
            return None
        return Identity(
            cluster_id,
            self.node_id,
            self.directory_id,
            nonce=self.nonce,
            min_epoch=self.min_epoch,
            min_offset=self.min_offset,
            rack=self.rack,
        )


@dataclass(frozen=True, slots=True)
class WrittenOff:
    """A directory that was lost and replaced. It is refused for ever: its votes and its log were given up."""

    node_id: int
    directory_id: str
    pvc_uid: str | None = None
    nonce: str | None = None


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A broker that was forced out, or whose disk was lost, with what it held; `only` are partitions of which nobody
    else had a replica in sync.
    """

    node_id: int
    only: tuple[str, ...] = ()
    more: int = 0
    """How many such partitions there are besides."""
    lost: bool = False
    """Its disk was lost; the broker itself stays."""


@dataclass(frozen=True, slots=True)
class GoodRevision:
    """The newest revision of a group's pods that was seen to serve, and of what it was made (`api.revision`)."""

    group: str
    revision: str
    inputs: str


@dataclass(frozen=True, slots=True)
class BadRevision:
    """A revision whose first pod did not come up. It is tried never again, as long as no later one was good."""

    group: str
    revision: str
    node_id: int
    detail: str = ""
    halted: bool = False
    """By spec.rollout.onBadRevision its pod was left as it is."""
    patience: float = 0.0
    """How long it had to serve, in seconds (spec.rollout.readyTimeout); 0 where nobody wrote that down."""


@dataclass(frozen=True, slots=True)
class Excuse:
    """This node was down before it got this revision: that it stays down tells nothing about the revision."""

    group: str
    revision: str
    node_id: int


@dataclass(frozen=True, slots=True)
class Removal:
    """A further volume that a pool is to do without."""

    pool: str
    volume: str
    gone: bool = False
    """Every directory on it was proven to be empty: pods are made without it."""
    closed: tuple[int, ...] = ()
    """Brokers on which the operator has cordoned it, and has to lift that."""


class StepKind(StrEnum):
    GRANT = "Grant"
    UNREGISTER = "Unregister"
    REMOVE_VOTER = "RemoveVoter"
    ADD_VOTER = "AddVoter"
    UPDATE_VOTER = "UpdateVoter"
    DISCARD_CLAIM = "DiscardClaim"
    RESTART = "Restart"
    FINALIZE = "Finalize"
    MOVE_REPLICAS = "MoveReplicas"
    CORDON = "Cordon"
    UNCORDON = "Uncordon"


@dataclass(frozen=True, slots=True)
class RunningOperation:
    """The one KRaftOperation that is acted for, written down before anything is done for it."""

    uid: str
    name: str
    type: str
    node_id: int | None = None
    directory_id: str | None = None
    """ReplaceVoter, ReplaceBroker: the directory to be replaced. Under another one the wish is fulfilled."""


@dataclass(frozen=True, slots=True)
class JournaledStep:
    """A step that must not run twice or late, written down before it is taken."""

    kind: StepKind
    node_id: int
    holder: str
    transitions: int
    preconditions: tuple[str, ...] = ()

    def same_work(self, other: JournaledStep) -> bool:
        return (self.kind, self.node_id, self.preconditions) == (other.kind, other.node_id, other.preconditions)


@dataclass(frozen=True, slots=True)
class Ledger:
    cluster_id: str
    origin: Origin = Origin.NEW
    formation: Formation = Formation.NOT_STARTED
    generation: int = 1
    initial_controllers: tuple[int, ...] = ()
    unproven_claims: tuple[str, ...] = ()
    """UIDs of claims that were there before this ledger and say nothing of an identity: no quorum is formed before
    each of them was seen to be empty."""
    entries: tuple[Entry, ...] = ()
    journal: tuple[JournaledStep, ...] = ()
    controllers: tuple[int, ...] = ()
    """The controllers that have a node, voters or on their way in or out; empty until the quorum is formed."""
    written_off: tuple[WrittenOff, ...] = ()
    operation: RunningOperation | None = None
    recovery: Recovery | None = None
    """Of that operation, if it is a RecoverQuorum."""
    restart: str = ""
    """The stamp of the last RollingRestart. It stays on the pods' templates: taking it away would restart
    them again.
    """
    good: tuple[GoodRevision, ...] = ()
    bad: tuple[BadRevision, ...] = ()
    excused: tuple[Excuse, ...] = ()
    given_up: tuple[GivenUp, ...] = ()
    """Until every partition that they had has a leader again."""
    doubted: tuple[int, ...] = ()
    """Nodes that a rebuild knows no directory of, although they may have had one: an empty disk of theirs is formatted
    only when somebody approves.
    """
    cordoned: tuple[int, ...] = ()
    """Brokers that the operator has cordoned, and has to open again."""
    users: tuple[str, ...] = ()
    """KRaftUsers for whom the cluster has something, or may have."""
    security: str = ""
    """The security.tls.mode that the cluster was formed with, if it was Required: it cannot be taken back by an edit.
    """
    replication_factor: int = 0
    """How many copies the nodes' properties speak of, since the cluster was formed; 0 in one formed before that."""
    volumes: tuple[tuple[str, Entry], ...] = ()
    """Further volumes of brokers, by name and node: what `entries` are of the first one. One of which nothing is known
    but node and pool may have been there before the ledger was made again.
    """
    removals: tuple[Removal, ...] = ()
    """Further volumes on their way out, and those that are out and whose claims are there."""
    formed_from: FormedFrom | None = None
    """Of a cluster that was formed from an archive."""
    serial: int = 0
    """Counts what was written. A ledger below the claims' memory was put back from a backup."""

    @property
    def size(self) -> int:
        """How many controllers there are."""
        return len(self.controllers or self.initial_controllers)

    @property
    def kept_whole(self) -> tuple[Entry, ...]:
        """Entries that say more than that a node was removed."""
        last = {each.node_id: each.directory_id for each in self.written_off}
        return tuple(each for each in self.entries if each != removed(each, last.get(each.node_id)))

    @property
    def node_made_anew(self) -> int | None:
        """Whose claim the running ProtectClaims makes anew: its volume is retained, so nothing of it is
        lost meanwhile.
        """
        running = self.operation
        return running.node_id if running is not None and running.type == OperationType.PROTECT_CLAIMS.value else None

    @property
    def every_entry(self) -> tuple[Entry, ...]:
        """One for each volume of each node."""
        return (*self.entries, *(entry for _, entry in self.volumes))

    def of_volume(self, name: str) -> tuple[Entry, ...]:
        return tuple(entry for volume, entry in self.volumes if volume == name)

    def with_volume(self, name: str, entries: Iterable[Entry]) -> Ledger:
        """With these as all that is known of this volume. A removed broker whose disk is gone has none."""
        kept = [(name, each) for each in entries if each.directory_id is not None or not each.retired]
        others = [each for each in self.volumes if each[0] != name]
        return replace(self, volumes=tuple(sorted((*others, *kept), key=lambda each: (each[0], each[1].node_id))))

    def removal(self, pool: str, volume: str) -> Removal | None:
        return next((each for each in self.removals if (each.pool, each.volume) == (pool, volume)), None)

    def with_removal(self, removal: Removal) -> Ledger:
        kept = self.without_removal(removal.pool, removal.volume).removals
        return replace(self, removals=tuple(sorted((*kept, removal), key=lambda each: (each.pool, each.volume))))

    def without_removal(self, pool: str, volume: str) -> Ledger:
        return replace(self, removals=tuple(e for e in self.removals if (e.pool, e.volume) != (pool, volume)))

    def entry(self, node_id: int) -> Entry | None:
        return next((entry for entry in self.entries if entry.node_id == node_id), None)

    def with_entry(self, entry: Entry) -> Ledger:
        others = tuple(other for other in self.entries if other.node_id != entry.node_id)
        return replace(self, entries=tuple(sorted((*others, entry), key=lambda each: each.node_id)))

    def with_step(self, step: JournaledStep) -> Ledger:
        """Write the step down, in the place of another holder's record of the same work."""
        others = tuple(other for other in self.journal if not other.same_work(step))
        return replace(self, journal=(*others, step))

    def without_steps(self, done: Iterable[JournaledStep]) -> Ledger:
        gone = tuple(done)
        return replace(self, journal=tuple(step for step in self.journal if step not in gone))

    def is_written_off(self, node_id: int, directory_id: str | None) -> bool:
        return any((each.node_id, each.directory_id) == (node_id, directory_id) for each in self.written_off)

    def step(self, kind: StepKind, node_id: int) -> JournaledStep | None:
        return next((step for step in self.journal if (step.kind, step.node_id) == (kind, node_id)), None)

    def good_revision(self, group: str) -> GoodRevision | None:
        return next((each for each in self.good if each.group == group), None)

    def bad_revision(self, group: str, revision: str) -> BadRevision | None:
        return next((each for each in self.bad if (each.group, each.revision) == (group, revision)), None)

    def with_good(self, good: GoodRevision) -> Ledger:
        """What was held against earlier revisions of the group is forgotten."""
        others = tuple(each for each in self.good if each.group != good.group)
        return replace(
            self,
            good=tuple(sorted((*others, good), key=lambda each: each.group)),
            bad=tuple(each for each in self.bad if each.group != good.group),
            excused=tuple(each for each in self.excused if each.group != good.group),
        )


def removed(entry: Entry, replaces: str | None) -> Entry:
    """What is left of a node that was removed and whose disk is gone: its id, and what is written off."""
    return Entry(entry.node_id, entry.role, entry.pool, retired=True, replaces=replaces)
