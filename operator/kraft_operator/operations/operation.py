"""A KRaftOperation as a value, from the resource as the API server gives it.

Reading never fails: what a schema older or newer than this operator let through becomes an operation with a `problem`,
which is rejected by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

ANNOTATION_APPROVE: Final = "kraft.quorate.dev/approve"
ANNOTATION_CANCEL: Final = "kraft.quorate.dev/cancel"


class OperationType(StrEnum):
    REPLACE_VOTER = "ReplaceVoter"
    REPLACE_BROKER = "ReplaceBroker"
    RECOVER_QUORUM = "RecoverQuorum"
    ROLLING_RESTART = "RollingRestart"
    UNREGISTER_NODE = "UnregisterNode"
    PROTECT_CLAIMS = "ProtectClaims"
    RESTORE = "Restore"


NEEDS_NODE: Final = frozenset(
    {OperationType.REPLACE_VOTER, OperationType.REPLACE_BROKER, OperationType.UNREGISTER_NODE}
)


class Phase(StrEnum):
    PENDING = "Pending"
    ADMITTED = "Admitted"
    REJECTED = "Rejected"
    WAITING_APPROVAL = "WaitingApproval"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"


FINISHED: Final = frozenset({Phase.REJECTED, Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED})
UNDER_WAY: Final = frozenset({Phase.ADMITTED, Phase.WAITING_APPROVAL, Phase.RUNNING})


@dataclass(frozen=True, slots=True)
class Operation:
    name: str
    uid: str
    cluster: str
    type: OperationType | None
    """None: unknown to this operator, see `problem`."""
    node_id: int | None = None
    created: str = ""
    generation: int = 1
    phase: Phase = Phase.PENDING
    """What its status says, which only a finished one may be believed about."""
    problem: str | None = None
    approved: str = ""
    """What the approval annotation says: a hash."""
    cancel: bool = False
    ttl_seconds: int | None = None
    """How long it is kept once it has ended; None: until somebody deletes it."""
    status: Mapping[str, Any] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        return self.phase in FINISHED

    @property
    def order(self) -> tuple[str, str]:
        return self.created, self.name

    def __str__(self) -> str:
        return f"KRaftOperation {self.name}"


def parse_operation(resource: Mapping[str, Any]) -> Operation:
    meta, spec, status = resource["metadata"], resource.get("spec") or {}, resource.get("status") or {}
    marks = meta.get("annotations") or {}
    kind, node_id, problem = _spec(spec)
    return Operation(
        name=meta["name"],
        uid=meta.get("uid", ""),
        cluster=str(spec.get("clusterName", "")),
        type=kind,
        node_id=node_id,
        created=meta.get("creationTimestamp", ""),
        generation=meta.get("generation", 1),
        phase=_phase(status),
        problem=problem,
        approved=marks.get(ANNOTATION_APPROVE, ""),
        cancel=ANNOTATION_CANCEL in marks,
        ttl_seconds=_ttl(spec.get("ttlSecondsAfterFinished")),
        status=status,
    )


def _spec(spec: Mapping[str, Any]) -> tuple[OperationType | None, int | None, str | None]:
    text, node_id = spec.get("type"), spec.get("nodeID")
    if text not in list(OperationType):
        return None, None, f"spec.type {text!r} is none of {', '.join(OperationType)}"
    kind = OperationType(text)
    if (node_id is not None) != (kind in NEEDS_NODE):
        return kind, None, f"spec.nodeID is {'needed' if kind in NEEDS_NODE else 'not allowed'} for {kind.value}"
    if node_id is not None and (not isinstance(node_id, int) or isinstance(node_id, bool) or node_id < 0):
        return kind, None, f"spec.nodeID {node_id!r} is no node's id"
    return kind, node_id, None


def _ttl(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def is_expired(asked: Operation, now: datetime) -> bool:
    """It has ended, and its time to be read is over. Without a date that can be read it stays."""
    if asked.ttl_seconds is None or not asked.finished:
        return False
    try:
        ended = datetime.fromisoformat(str(asked.status.get("finishedAt")))
        return ended + timedelta(seconds=asked.ttl_seconds) <= now
    except (ValueError, TypeError, OverflowError):
        return False


def _phase(status: Mapping[str, Any]) -> Phase:
    text = status.get("phase")
    return Phase(text) if text in list(Phase) else Phase.PENDING
