"""The operator's memory of one cluster: who every disk is, what was permitted, what is under way.

It lives in the ConfigMap `<cluster>-ledger`, outside `.status` and (unless the user asks otherwise) outside the life of
the resource, because volumes outlive both. Key `ledger.json` is the operator's; each key `node-N.json` is that node's
`Identity`, mounted read-only in its pod, so that a known disk starts without the operator. Values only: parsing and
rendering, no API call. Whoever writes it must do so with the resourceVersion that was read: this is the fence between
two operators. Times are not kept: an equal ledger renders to equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from kraft_operator.operations.operation import OperationType
from kraft_operator.operations.recovery import Recovery
from kraft_operator.operations.recovery import parse as parse_recovery
from kraft_operator.operations.recovery import render as render_recovery
from storage_guard.formats import BadFormat, Grant, Identity, identity_key

VERSION: Final = 1
LEDGER_KEY: Final = "ledger.json"
MAX_NODES: Final = 1000
"""Half of them brokers that the resource asks for at once (`api.parse.MAX_BROKERS`), the others removed ones,
which need less."""


class CorruptLedger(ValueError):
    """The ConfigMap does not hold a ledger of ours. Nothing may be done until a person has looked."""


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
            cluster_id, self.node_id, self.directory_id, self.nonce, self.min_epoch, self.min_offset, self.rack
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
class Step:
    """A step that must not run twice or late, written down before it is taken."""

    kind: StepKind
    node_id: int
    holder: str
    transitions: int
    preconditions: tuple[str, ...] = ()

    def same_work(self, other: Step) -> bool:
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
    journal: tuple[Step, ...] = ()
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
    serial: int = 0
    """Counts what was written. A ledger below the claims' memory was put back from a backup."""

    @property
    def node_made_anew(self) -> int | None:
        """Whose claim the running ProtectClaims makes anew: its volume is retained, so nothing of it is
        lost meanwhile.
        """
        running = self.operation
        return running.node_id if running is not None and running.type == OperationType.PROTECT_CLAIMS.value else None

    def entry(self, node_id: int) -> Entry | None:
        return next((entry for entry in self.entries if entry.node_id == node_id), None)

    def with_entry(self, entry: Entry) -> Ledger:
        others = tuple(other for other in self.entries if other.node_id != entry.node_id)
        return replace(self, entries=tuple(sorted((*others, entry), key=lambda each: each.node_id)))

    def with_step(self, step: Step) -> Ledger:
        """Write the step down, in the place of another holder's record of the same work."""
        others = tuple(other for other in self.journal if not other.same_work(step))
        return replace(self, journal=(*others, step))

    def without_steps(self, done: Iterable[Step]) -> Ledger:
        gone = tuple(done)
        return replace(self, journal=tuple(step for step in self.journal if step not in gone))

    def is_written_off(self, node_id: int, directory_id: str | None) -> bool:
        return any((each.node_id, each.directory_id) == (node_id, directory_id) for each in self.written_off)

    def step(self, kind: StepKind, node_id: int) -> Step | None:
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


def render(ledger: Ledger) -> dict[str, str]:
    """The `data` of the ConfigMap."""
    identities = (entry.identity(ledger.cluster_id) for entry in ledger.entries)
    published = {identity_key(known.node_id): known.to_json() for known in identities if known}
    return {LEDGER_KEY: json.dumps(_ledger(ledger), indent=1, ensure_ascii=False) + "\n", **published}


def parse(data: Mapping[str, str]) -> Ledger:
    text = data.get(LEDGER_KEY)
    if text is None:
        raise CorruptLedger(f"key {LEDGER_KEY} is missing")
    try:
        values = json.loads(text)
        if values.get("version") != VERSION:
            raise CorruptLedger(f"version {values.get('version')!r} is not known to this operator")
        ledger = _parsed(values)
    except (BadFormat, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, CorruptLedger):
            raise
        raise CorruptLedger(f"{LEDGER_KEY}: {type(error).__name__}: {error}") from error
    return ledger


def _ledger(ledger: Ledger) -> dict[str, Any]:
    return {
        "version": VERSION,
        "clusterID": ledger.cluster_id,
        "origin": ledger.origin.value,
        "formation": ledger.formation.value,
        "generation": ledger.generation,
        "initialControllers": list(ledger.initial_controllers),
        "controllers": list(ledger.controllers),
        "writtenOff": [_written_off(each) for each in ledger.written_off],
        "unprovenClaims": list(ledger.unproven_claims),
        "revisions": _revisions(ledger),
        "nodes": [_entry(entry) for entry in ledger.entries],
        "journal": [_step(step) for step in ledger.journal],
        **({"operation": _operation(ledger.operation)} if ledger.operation else {}),
        **({"recovery": render_recovery(ledger.recovery)} if ledger.recovery else {}),
        **({"restart": ledger.restart} if ledger.restart else {}),
        **({"givenUp": [_given_up(each) for each in ledger.given_up]} if ledger.given_up else {}),
        **({"doubted": list(ledger.doubted)} if ledger.doubted else {}),
        "serial": ledger.serial,
    }


def _entry(entry: Entry) -> dict[str, Any]:
    values: dict[str, Any] = {
        "nodeID": entry.node_id,
        "role": entry.role,
        "pool": entry.pool,
        "chosenDirectoryID": entry.chosen_directory_id,
        "directoryID": entry.directory_id,
        "pvcName": entry.pvc_name,
        "pvcUID": entry.pvc_uid,
        "pvName": entry.pv_name,
        "nonce": entry.nonce,
        "minEpoch": entry.min_epoch or None,
        "minOffset": entry.min_offset or None,
        "rack": entry.rack,
        "retired": entry.retired or None,
        "grant": json.loads(entry.grant.to_json()) if entry.grant else None,
        "grantUsed": entry.grant_used or None,
        "replaces": entry.replaces,
        "host": list(entry.host) if entry.host else None,
    }
    return {key: value for key, value in values.items() if value is not None}


def _revisions(ledger: Ledger) -> dict[str, Any]:
    return {
        "good": [{"group": each.group, "revision": each.revision, "inputs": each.inputs} for each in ledger.good],
        "bad": [
            {"group": each.group, "revision": each.revision, "nodeID": each.node_id, "detail": each.detail}
            | ({"halted": True} if each.halted else {})
            | ({"patience": each.patience} if each.patience else {})
            for each in ledger.bad
        ],
        "excused": [
            {"group": each.group, "revision": each.revision, "nodeID": each.node_id} for each in ledger.excused
        ],
    }


def _written_off(lost: WrittenOff) -> dict[str, Any]:
    values = {
        "nodeID": lost.node_id,
        "directoryID": lost.directory_id,
        "pvcUID": lost.pvc_uid,
        "nonce": lost.nonce,
    }
    return {key: value for key, value in values.items() if value is not None}


def _given_up(gone: GivenUp) -> dict[str, Any]:
    values = {"nodeID": gone.node_id, "partitions": list(gone.only), "more": gone.more}
    return values | ({"lost": True} if gone.lost else {})


def _operation(running: RunningOperation) -> dict[str, Any]:
    values = {
        "uid": running.uid,
        "name": running.name,
        "type": running.type,
        "nodeID": running.node_id,
        "directoryID": running.directory_id,
    }
    return {key: value for key, value in values.items() if value is not None}


def _step(step: Step) -> dict[str, Any]:
    return {
        "kind": step.kind.value,
        "nodeID": step.node_id,
        "holder": step.holder,
        "leaseTransitions": step.transitions,
        "preconditions": list(step.preconditions),
    }


def _parsed(values: Mapping[str, Any]) -> Ledger:
    entries = tuple(_parsed_entry(each) for each in values["nodes"])
    ids = [entry.node_id for entry in entries]
    if len(set(ids)) != len(ids) or len(ids) > MAX_NODES:
        raise CorruptLedger(f"node ids {ids[:20]} repeat or are too many")
    return Ledger(
        cluster_id=_text(values["clusterID"]),
        origin=Origin(values["origin"]),
        formation=Formation(values["formation"]),
        generation=int(values["generation"]),
        initial_controllers=tuple(int(each) for each in values["initialControllers"]),
        controllers=tuple(int(each) for each in values.get("controllers", ())),
        written_off=tuple(_parsed_written_off(each) for each in values.get("writtenOff", ())),
        unproven_claims=tuple(_text(each) for each in values["unprovenClaims"]),
        entries=tuple(sorted(entries, key=lambda entry: entry.node_id)),
        journal=tuple(_parsed_step(each) for each in values["journal"]),
        operation=_parsed_operation(values["operation"]) if values.get("operation") else None,
        recovery=parse_recovery(values["recovery"]) if values.get("recovery") else None,
        restart=str(values.get("restart", "")),
        given_up=tuple(
            GivenUp(
                int(each["nodeID"]),
                tuple(_text(name) for name in each["partitions"]),
                int(each["more"]),
                bool(each.get("lost")),
            )
            for each in values.get("givenUp", ())
        ),
        doubted=tuple(int(each) for each in values.get("doubted", ())),
        serial=int(values.get("serial", 0)),
        **_parsed_revisions(values.get("revisions") or {}),
    )


def _parsed_revisions(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "good": tuple(
            GoodRevision(_text(each["group"]), _text(each["revision"]), _text(each["inputs"]))
            for each in values.get("good", ())
        ),
        "bad": tuple(
            BadRevision(
                _text(each["group"]),
                _text(each["revision"]),
                int(each["nodeID"]),
                str(each.get("detail", "")),
                bool(each.get("halted")),
                float(each.get("patience", 0.0)),
            )
            for each in values.get("bad", ())
        ),
        "excused": tuple(
            Excuse(_text(each["group"]), _text(each["revision"]), int(each["nodeID"]))
            for each in values.get("excused", ())
        ),
    }


def _parsed_operation(values: Mapping[str, Any]) -> RunningOperation:
    node_id = values.get("nodeID")
    return RunningOperation(
        _text(values["uid"]),
        _text(values["name"]),
        _text(values["type"]),
        int(node_id) if node_id is not None else None,
        values.get("directoryID"),
    )


def _parsed_entry(values: Mapping[str, Any]) -> Entry:
    grant = values.get("grant")
    return Entry(
        node_id=int(values["nodeID"]),
        role=_text(values["role"]),
        pool=_text(values["pool"]),
        chosen_directory_id=values.get("chosenDirectoryID"),
        directory_id=values.get("directoryID"),
        pvc_name=values.get("pvcName"),
        pvc_uid=values.get("pvcUID"),
        pv_name=values.get("pvName"),
        nonce=values.get("nonce"),
        min_epoch=int(values.get("minEpoch", 0)),
        min_offset=int(values.get("minOffset", 0)),
        rack=values.get("rack"),
        retired=bool(values.get("retired")),
        grant=Grant.from_json(json.dumps(grant)) if grant else None,
        grant_used=bool(values.get("grantUsed")),
        replaces=values.get("replaces"),
        host=(_text(host[0]), _text(host[1])) if (host := values.get("host")) else None,
    )


def _parsed_written_off(values: Mapping[str, Any]) -> WrittenOff:
    return WrittenOff(int(values["nodeID"]), _text(values["directoryID"]), values.get("pvcUID"), values.get("nonce"))


def _parsed_step(values: Mapping[str, Any]) -> Step:
    return Step(
        StepKind(values["kind"]),
        int(values["nodeID"]),
        _text(values["holder"]),
        int(values["leaseTransitions"]),
        tuple(_text(each) for each in values["preconditions"]),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise CorruptLedger(f"text is needed, not {value!r}")
    return value
