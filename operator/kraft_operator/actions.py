"""What the planner may ask for. Each action says why; `execute` is the only code that performs one.

Order in a plan is meaning: the ledger is written before a step that must be fenced, and a second `WriteLedger` after it
records what came of it. If an action fails, those behind it are not performed; the next pass plans anew from what is
then true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kraft_operator.credentials import CredentialAction, EnterStage, written_by
from kraft_operator.ledger import JournaledStep, Ledger
from kraft_operator.removals import EmptyDirectory, RemovalAction, about
from kraft_operator.users import UserAction
from storage_guard.formats import Grant


@dataclass(frozen=True, slots=True)
class WriteLedger:
    """With the resourceVersion that was read as precondition; creating it fails when one exists."""

    ledger: Ledger
    reason: str


@dataclass(frozen=True, slots=True)
class ApplyChild:
    manifest: Mapping[str, Any]
    reason: str


@dataclass(frozen=True, slots=True)
class DeleteChild:
    api: str
    kind: str
    name: str
    uid: str
    reason: str


@dataclass(frozen=True, slots=True)
class DeliverGrant:
    """Annotate exactly the pod that the grant names. Fenced by `step`."""

    pod: str
    claim: str
    grant: Grant
    format_argument: str | None
    step: JournaledStep
    reason: str
    volume: str = ""  # a further one of the node; empty for its first


@dataclass(frozen=True, slots=True)
class AnnotateClaim:
    """Repeat a disk's identity on its claim, so that a lost ledger can be rebuilt."""

    claim: str
    uid: str
    annotations: Mapping[str, str]
    reason: str


@dataclass(frozen=True, slots=True)
class Remember:
    """Write down on these claims (name, UID, resourceVersion) what must outlive the ledger. It comes after the ledger
    and before whatever that permits.
    """

    claims: tuple[tuple[str, str, str], ...]
    memory: str
    reason: str


@dataclass(frozen=True, slots=True)
class GrowClaim:
    """Ask for a larger volume on the claim itself; a StatefulSet cannot."""

    claim: str
    uid: str
    size: str
    reason: str


@dataclass(frozen=True, slots=True)
class RetainVolume:
    """Let a volume outlive its claim, while it is bound to the claim that was seen."""

    volume: str
    claim: str
    claim_uid: str
    reason: str


@dataclass(frozen=True, slots=True)
class MakeClaim:
    """Make a claim anew on the volume that an earlier claim of this name left: it can bind no other, nobody else it."""

    claim: str
    old_uid: str
    volume: str
    labels: Mapping[str, str]
    reason: str


@dataclass(frozen=True, slots=True)
class OrphanSet:
    """Delete a StatefulSet without its pod: the claim template cannot be changed, the set made anew adopts the pod."""

    name: str
    uid: str
    reason: str


@dataclass(frozen=True, slots=True)
class TellRack:
    pod: str
    uid: str
    rack: str
    reason: str


@dataclass(frozen=True, slots=True)
class NudgePod:
    """Touch a pod whose gate has not seen what was written on it: each change makes the kubelet write the annotations
    into the pod's volume anew. A change that meets the start of a container is otherwise seen only a minute later."""

    pod: str
    uid: str
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class UnregisterBroker:
    """Fenced by `step`. A broker that is not registered (any more) is success."""

    node_id: int
    step: JournaledStep
    reason: str


@dataclass(frozen=True, slots=True)
class MoveReplicas:
    """Ask for other replicas of these partitions, so that a broker may go. Fenced by `step`. May be asked twice."""

    node_id: int
    replicas: Mapping[tuple[str, int], tuple[int, ...]]
    step: JournaledStep
    reason: str


@dataclass(frozen=True, slots=True)
class CordonBroker:
    """Let a broker, or only these directories of it, take no new replicas. It is asked itself. Fenced by `step`."""

    node_id: int
    host: str
    port: int
    step: JournaledStep
    reason: str
    directories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UncordonBroker:
    """Let a broker that the operator has cordoned take replicas again; it need not run. Fenced by `step`."""

    node_id: int
    step: JournaledStep
    reason: str


@dataclass(frozen=True, slots=True)
class FinalizeFeature:
    """Raise a feature's final level, which nobody can take back. Fenced by `step`."""

    feature: str
    level: int
    name: str
    step: JournaledStep
    reason: str


@dataclass(frozen=True, slots=True)
class RemoveVoter:
    """Fenced by `step`. A voter that is not there (any more) is success."""

    node_id: int
    directory_id: str
    step: JournaledStep
    reason: str
    begins: bool = False
    """The replacement of a lost voter begins with it: the operator enters it into its account first, or
    does not do it.
    """
    why: str = ""
    """The reason without the numbers that prove it."""


@dataclass(frozen=True, slots=True)
class BeginReplacement:
    """Enter the replacement of a lost broker into the operator's account. Without room there it fails, and nothing has
    happened.
    """

    node_id: int
    directory_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class GiveUpDisk:
    """A broker's directory is written off: the ledger that was written before says so, nothing else is to be done.
    `announced` is the step's name in the plan.
    """

    node_id: int
    directory_id: str
    announced: str
    reason: str


@dataclass(frozen=True, slots=True)
class AddVoter:
    """Fenced by `step`. `endpoints` are all of its (listener, host, port), the voters' default one first. The very same
    voter being there is success.
    """

    node_id: int
    directory_id: str
    endpoints: tuple[tuple[str, str, int], ...]
    step: JournaledStep
    reason: str


@dataclass(frozen=True, slots=True)
class UpdateVoter:
    """Fenced by `step`, and by the leader's epoch: correct where this voter, which does not lead, is found. `endpoints`
    are all of its (listener, host, port).
    """

    node_id: int
    directory_id: str
    endpoints: tuple[tuple[str, str, int], ...]
    epoch: int
    step: JournaledStep
    reason: str


@dataclass(frozen=True, slots=True)
class DiscardClaim:
    """Delete a written-off disk's claim and the pod that waits on it, so that the node gets a new volume. Fenced by
    `step`.
    """

    claim: str
    claim_uid: str
    pod: str
    pod_uid: str
    node_is_lost: bool
    """Nobody is left on the pod's node who could end it: it is deleted without grace, the one case in which that is
    allowed.
    """
    step: JournaledStep
    reason: str


@dataclass(frozen=True, slots=True)
class RestartPod:
    """Delete exactly this pod; its StatefulSet makes it anew from the newest revision. Fenced by `step`."""

    pod: str
    uid: str
    step: JournaledStep
    reason: str
    why: str = ""
    """The reason without the numbers that prove it."""


@dataclass(frozen=True, slots=True)
class RunHelper:
    """Create this pod, and before it the claim that it shall use, if there is none. One that is there already is
    success: its name says its whole task."""

    pod: str
    manifest: Mapping[str, Any]
    claim: Mapping[str, Any] | None
    reason: str


@dataclass(frozen=True, slots=True)
class EndHelper:
    """Delete a helper pod whose word is not needed any more: as long as it is there, its claim cannot go."""

    pod: str
    uid: str
    reason: str


@dataclass(frozen=True, slots=True)
class DropClaim:
    """Delete the claim of a volume that a helper saw to be empty, and that no pod uses."""

    claim: str
    uid: str
    reason: str


@dataclass(frozen=True, slots=True)
class DeleteOperation:
    """Delete a KRaftOperation that has ended and whose time to be read is over."""

    name: str
    uid: str
    reason: str


Action = (
    WriteLedger
    | ApplyChild
    | DeleteChild
    | DeliverGrant
    | AnnotateClaim
    | Remember
    | GrowClaim
    | RetainVolume
    | MakeClaim
    | OrphanSet
    | TellRack
    | NudgePod
    | UnregisterBroker
    | CordonBroker
    | UncordonBroker
    | MoveReplicas
    | FinalizeFeature
    | RemoveVoter
    | BeginReplacement
    | GiveUpDisk
    | AddVoter
    | UpdateVoter
    | EnterStage
    | DiscardClaim
    | RestartPod
    | RunHelper
    | EndHelper
    | DropClaim
    | DeleteOperation
    | RemovalAction
    | CredentialAction
    | UserAction
)
VOTERS_FEEL: Final = (RemoveVoter, AddVoter, UpdateVoter, DiscardClaim, RestartPod)
"""A plan has at most one of these."""
_BROKERS_FEEL: Final = (CordonBroker, UncordonBroker, UnregisterBroker, MoveReplicas, EmptyDirectory)
DISRUPTIVE: Final = (*_BROKERS_FEEL, FinalizeFeature, *VOTERS_FEEL)
"""They come last in a plan."""


def target(action: Action) -> str:
    """What an action is about, for people."""
    if isinstance(action, UserAction):
        return f"KRaftUser/{action.user}"
    if isinstance(action, CredentialAction):
        return written_by(action)
    if isinstance(action, RemovalAction):
        return about(action)
    match action:
        case WriteLedger():
            return "ledger"
        case Remember():
            return f"{len(action.claims)} {'claims' if len(action.claims) > 1 else 'claim'}"
        case ApplyChild(manifest):
            return f"{manifest['kind']}/{manifest['metadata']['name']}"
        case DeleteChild():
            return f"{action.kind}/{action.name}"
        case DeliverGrant() | TellRack() | NudgePod():
            return f"Pod/{action.pod}"
        case OrphanSet():
            return f"StatefulSet/{action.name}"
        case RetainVolume():
            return f"PersistentVolume/{action.volume}"
        case AnnotateClaim() | GrowClaim() | DiscardClaim() | MakeClaim() | DropClaim():
            return f"PersistentVolumeClaim/{action.claim}"
        case RestartPod() | RunHelper() | EndHelper():
            return f"Pod/{action.pod}"
        case (
            UnregisterBroker() | MoveReplicas() | CordonBroker() | UncordonBroker() | BeginReplacement() | GiveUpDisk()
        ):
            return f"broker {action.node_id}"
        case DeleteOperation():
            return f"KRaftOperation/{action.name}"
        case FinalizeFeature() | EnterStage():
            return action.name
        case RemoveVoter() | AddVoter() | UpdateVoter():
            return f"voter {action.node_id} {action.directory_id}"
