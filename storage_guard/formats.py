"""The words that the operator and its guards in the pods exchange: JSON, one line each.

A guard reads a `Grant` (an annotation on its own pod), an `Identity` (its node's line in the ledger) and a `Marker`
(beside the log directory); it writes a `Report` to its termination message. Both sides use these classes, so that they
cannot disagree, but may be of different releases: an unknown field is ignored, an unknown version or a missing field is
`BadFormat`, never a guess. Nothing here touches a disk.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, Self

from storage_guard.reading import MAX_JSON_SIZE_BYTES, VERSION, BadFormat, Reader

__all__ = [
    "MAX_JSON_SIZE_BYTES", "BadFormat", "DiskVerdict", "Grant", "GrantMode", "GuardStep", "Identity", "Marker",
    "MarkerState", "Report", "Seen", "config_hash", "format_argument", "identity_key", "of_volume",
]  # fmt: skip
"""With those of `reading`, which both sides meet here."""

MAX_MESSAGE_SIZE_BYTES: Final = 1024
MAX_ID_SIZE_BYTES: Final = 128

MAX_FURTHER_VOLUMES: Final = 7
"""Of a broker, beside the first: a report about all of them is one termination message."""
_FURTHER_MESSAGE_BYTES: Final = 96
_FURTHER_ID_BYTES: Final = 36

GRANT_ANNOTATION: Final = "kraft.quorate.dev/grant"
FORMAT_MODE_ANNOTATION: Final = "kraft.quorate.dev/format-mode"
RACK_ANNOTATION: Final = "kraft.quorate.dev/rack"

NO_RACK: Final = "-"
"""The rack annotation of a pod whose Kubernetes node lacks the label: no label's value looks like this, and absent
means wait.
"""

HOST_IP: Final = "${HOST_IP}"
"""Stands in a configuration for the address of the Kubernetes node on which the pod runs: only the pod knows it."""

NO_INITIAL_CONTROLLERS: Final = "--no-initial-controllers"
INITIAL_CONTROLLERS_PREFIX: Final = "--initial-controllers="


class DiskVerdict(StrEnum):
    """What a volume is, in the light of the ledger."""

    EMPTY = "Empty"
    """No trace of Kafka and none of us."""
    UNFINISHED = "Unfinished"
    """A granted formatting began here and was never sealed: no node ever ran on this directory."""
    FORMATTED = "Formatted"
    """A whole directory of this cluster and node; of the ledger's identity, if the ledger has one."""
    FOREIGN = "Foreign"
    """Another cluster's, another node's, or another directory than the ledger's."""
    REGRESSED = "Regressed"
    """The right identity, but its log ends below the ledger's minimum: an old copy."""
    UNREADABLE = "Unreadable"
    """Could not be read whole: nobody may conclude anything from it."""


class GrantMode(StrEnum):
    """What the grant allows."""

    INITIAL_CONTROLLERS = "InitialControllers"
    NO_INITIAL_CONTROLLERS = "NoInitialControllers"
    BROKER = "Broker"
    ADOPT = "Adopt"
    """Start a formatted directory that the mounted ledger does not know (yet); formats nothing."""


class MarkerState(StrEnum):
    GRANTED = "Granted"
    SEALED = "Sealed"


class GuardStep(StrEnum):
    INSPECT = "inspect"
    GATE = "gate"
    SEAL = "seal"


STATIC_VOTERS: Final = "StaticVoters"
"""`inspect`'s reason for a directory of another operator whose quorum this one could not lead."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The state of the volume that a grant was given for; it is void for any other."""

    verdict: DiskVerdict
    directory_id: str | None = None
    nonce: str | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """Permission for one pod to format (or adopt) the volume it has, as `inspect` saw it. Dies with the pod."""

    pod_uid: str
    pvc_uid: str
    pv_name: str
    node_id: int
    cluster_id: str
    mode: GrantMode
    nonce: str
    seen: Seen
    directory_id: str | None = None
    """The directory id that must come out: the operator's choice (InitialControllers), the one to adopt (Adopt)."""
    replaces: str | None = None
    """The ledger's directory id that this grant retires. Needed when the ledger has one."""

    def to_json(self) -> str:
        return _dump(
            {
                "podUID": self.pod_uid,
                "pvcUID": self.pvc_uid,
                "pvName": self.pv_name,
                "nodeID": self.node_id,
                "clusterID": self.cluster_id,
                "mode": self.mode.value,
                "nonce": self.nonce,
                "seen": _present(
                    {
                        "verdict": self.seen.verdict.value,
                        "directoryID": self.seen.directory_id,
                        "nonce": self.seen.nonce,
                    }
                ),
                "directoryID": self.directory_id,
                "replaces": self.replaces,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        reader = Reader.of(text, "grant")
        seen = reader.nested("seen")
        return cls(
            pod_uid=reader.text("podUID"),
            pvc_uid=reader.text("pvcUID"),
            pv_name=reader.text("pvName"),
            node_id=reader.number("nodeID"),
            cluster_id=reader.text("clusterID"),
            mode=reader.choice("mode", GrantMode),
            nonce=reader.text("nonce"),
            seen=Seen(
                seen.choice("verdict", DiskVerdict), seen.optional_text("directoryID"), seen.optional_text("nonce")
            ),
            directory_id=reader.optional_text("directoryID"),
            replaces=reader.optional_text("replaces"),
        )


@dataclass(frozen=True, slots=True)
class Identity:
    """What the ledger knows of one node's directory: key `node-<id>.json` of the ledger, see `identity_key`."""

    cluster_id: str
    node_id: int
    directory_id: str
    nonce: str | None = None
    min_epoch: int = 0
    min_offset: int = 0
    """The node's metadata log reached (min_epoch, min_offset) once, so a disk whose log ends below it is an
    old copy.
    """
    rack: str | None = None

    def to_json(self) -> str:
        return _dump(
            {
                "clusterID": self.cluster_id,
                "nodeID": self.node_id,
                "directoryID": self.directory_id,
                "nonce": self.nonce,
                "minEpoch": self.min_epoch,
                "minOffset": self.min_offset,
                "rack": self.rack,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        reader = Reader.of(text, "identity")
        return cls(
            cluster_id=reader.text("clusterID"),
            node_id=reader.number("nodeID"),
            directory_id=reader.text("directoryID"),
            nonce=reader.optional_text("nonce"),
            min_epoch=reader.optional_number("minEpoch") or 0,
            min_offset=reader.optional_number("minOffset") or 0,
            rack=reader.optional_text("rack"),
        )


@dataclass(frozen=True, slots=True)
class Marker:
    """Lies on the volume beside the log directory: who formatted it by which grant, and whether that was finished."""

    state: MarkerState
    cluster_id: str
    node_id: int
    nonce: str | None
    pod_uid: str
    directory_id: str | None = None

    def to_json(self) -> str:
        return _dump(
            {
                "state": self.state.value,
                "clusterID": self.cluster_id,
                "nodeID": self.node_id,
                "nonce": self.nonce,
                "podUID": self.pod_uid,
                "directoryID": self.directory_id,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        reader = Reader.of(text, "marker")
        return cls(
            state=reader.choice("state", MarkerState),
            cluster_id=reader.text("clusterID"),
            node_id=reader.number("nodeID"),
            nonce=reader.optional_text("nonce"),
            pod_uid=reader.text("podUID"),
            directory_id=reader.optional_text("directoryID"),
        )


@dataclass(frozen=True, slots=True)
class Report:
    """A guard's termination message. `reason` is CamelCase and stable, `message` is for people."""

    step: GuardStep
    verdict: DiskVerdict
    reason: str
    message: str
    pod_uid: str
    node_id: int
    """The node that the pod is meant to be."""
    cluster_id: str | None = None
    """What the disk says, as are the next ones; absent where the disk says nothing."""
    disk_node_id: int | None = None
    directory_id: str | None = None
    last_epoch: int | None = None
    log_end_offset: int | None = None
    nonce: str | None = None
    config_hash: str | None = None
    """gate only: the hash of the configuration that the node will start with."""
    volumes: Mapping[str, Report] = field(default_factory=dict)
    """Of a broker with several volumes: the same about each further one, by name."""

    def to_json(self) -> str:
        return _dump(
            {
                "step": self.step.value,
                "verdict": self.verdict.value,
                "reason": self.reason,
                "message": _short(self.message, MAX_MESSAGE_SIZE_BYTES if not self.volumes else 384),
                "podUID": self.pod_uid,
                "nodeID": self.node_id,
                "clusterID": _short_id(self.cluster_id),
                "diskNodeID": self.disk_node_id,
                "directoryID": _short_id(self.directory_id),
                "lastEpoch": self.last_epoch,
                "logEndOffset": self.log_end_offset,
                "nonce": _short_id(self.nonce),
                "configHash": self.config_hash,
                "volumes": {name: each.in_brief() for name, each in self.volumes.items()} or None,
            }
        )

    def in_brief(self) -> dict[str, Any]:
        """As one of several in a report."""
        return _present(
            {
                "verdict": self.verdict.value,
                "reason": self.reason,
                "message": _short(self.message, _FURTHER_MESSAGE_BYTES),
                "clusterID": _short(self.cluster_id, _FURTHER_ID_BYTES) if self.cluster_id is not None else None,
                "diskNodeID": self.disk_node_id,
                "directoryID": _short(self.directory_id, _FURTHER_ID_BYTES) if self.directory_id is not None else None,
                "nonce": _short(self.nonce, _FURTHER_ID_BYTES) if self.nonce is not None else None,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        reader = Reader.of(text, "report")
        whole = cls._read(reader, reader.choice("step", GuardStep), reader.text("podUID"), reader.number("nodeID"))
        found = reader.each("volumes") if "volumes" in reader.values else {}
        if len(found) > MAX_FURTHER_VOLUMES:
            raise BadFormat(f"report.volumes: {len(found)} are too many")
        further = {name: cls._read(each, whole.step, whole.pod_uid, whole.node_id) for name, each in found.items()}
        return replace(whole, volumes=further)

    @classmethod
    def _read(cls, reader: Reader, step: GuardStep, pod_uid: str, node_id: int) -> Self:
        return cls(
            step=step,
            verdict=reader.choice("verdict", DiskVerdict),
            reason=reader.text("reason"),
            message=reader.text("message"),
            pod_uid=pod_uid,
            node_id=node_id,
            cluster_id=reader.optional_text("clusterID"),
            disk_node_id=reader.optional_number("diskNodeID"),
            directory_id=reader.optional_text("directoryID"),
            last_epoch=reader.optional_number("lastEpoch"),
            log_end_offset=reader.optional_number("logEndOffset"),
            nonce=reader.optional_text("nonce"),
            config_hash=reader.optional_text("configHash"),
        )

    def seen(self) -> Seen:
        """What a grant for this volume must name."""
        return Seen(self.verdict, self.directory_id, self.nonce)


def identity_key(node_id: int, volume: str = "") -> str:
    """The key of a node's `Identity` in the ledger's data; of a further volume's, if one is named."""
    return f"node-{node_id}-{volume}.json" if volume else f"node-{node_id}.json"


def of_volume(word: str, volume: str) -> str:
    """What is there once for a node, as it is called for one of its further volumes: annotations, files."""
    return f"{word}-{volume}" if volume else word


def format_argument(mode: GrantMode, initial_controllers: str = "") -> str:
    """The value of the format-mode annotation for a controller: one argument of `kafka-storage format`."""
    if mode is GrantMode.INITIAL_CONTROLLERS:
        return INITIAL_CONTROLLERS_PREFIX + initial_controllers
    return NO_INITIAL_CONTROLLERS


def _short(text: str, size_bytes: int = MAX_MESSAGE_SIZE_BYTES) -> str:
    """One line of bounded size, also as JSON."""
    line = "".join(char if char.isprintable() else " " for char in text)
    return line.encode()[:size_bytes].decode(errors="ignore")


def _short_id(text: str | None) -> str | None:
    """A disk may say anything; an id of ours is never as long as that."""
    return None if text is None else _short(text, MAX_ID_SIZE_BYTES)


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _dump(values: Mapping[str, Any]) -> str:
    return json.dumps({"version": VERSION, **_present(values)}, separators=(",", ":"), ensure_ascii=False)


def config_hash(text: str) -> str:
    """Names a server.properties on the pod that waits for it. Where to look for the quorum is left out: any of its
    controllers will do for a node that runs, so a changed list of them is no reason to restart it."""
    counted = [line for line in text.splitlines() if not line.startswith("controller.quorum.bootstrap.servers=")]
    return hashlib.sha256("\n".join(counted).encode()).hexdigest()[:16]
