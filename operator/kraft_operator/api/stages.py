"""How far a plaintext cluster is on its way to a secure one, and which listeners its nodes have at each stage.

A stage is one layout of all nodes; a cluster goes from one to the next, never past one, so that nodes of two adjacent
layouts are all that ever meet. P is what the resource names for controllers, T the secure listener beside it; R is the
brokers' own secure one.

    stage          controllers serve   their default   brokers know   brokers serve   brokers' own
    PLAIN          P                   P               P              theirs          the first of theirs
    PREPARED       (the same; certificates are made, network policies let T through)
    LISTENING      P, T                P               P              theirs          the first of theirs
    TURNED         T, P                T               P              theirs          the first of theirs
    FOLLOWED       T, P                T               T              theirs, R       the first of theirs
    REPLICATING    T, P                T               T              R, theirs       R
    CLOSED         T                   T               T              R, theirs       R
    AUTHORIZED     the same; every node asks the authorizer, which allows what no ACL is about
    ENFORCED       the same; what no ACL allows is denied

A cluster that is taken over from another operator may begin at AUTHORIZED, with the listeners that it had; of those
that were formed secure it is the only one that is not ENFORCED.

From CLOSED on there is no way back. The order is Apache Kafka's own: a controller whose default listener is not in
every voter's entry ends (KIP-853), a broker whose controllers do not serve its listener is fenced.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from kraft_operator.api.network import ListenerSpec
from kraft_operator.api.security import Authentication, Stage, TlsMode
from kraft_operator.api.spec import ClusterSpec

SECURE_CONTROLLER: Final = ListenerSpec("CONTROLLERTLS", 9095, authentication=Authentication.TLS, tls=True)
REPLICATION: Final = ListenerSpec("REPLICATION", 9091, authentication=Authentication.TLS, tls=True, own=True)
_MIGRATED: Final = "Secured"
_BACK: Final = "back"
_TAKEN_OVER: Final = f"{TlsMode.REQUIRED.value}/{Stage.AUTHORIZED.name.capitalize()}"


@dataclass(frozen=True, slots=True)
class Formed:
    """What a ledger says of its cluster's security."""

    stage: Stage = Stage.PLAIN
    migrated: bool = False
    """It was plaintext once, and has the listeners of the table above."""
    back: bool = False
    """It is on its way back: the stage before this one was a later one."""

    @property
    def text(self) -> str:
        if not self.migrated:
            if self.stage is Stage.AUTHORIZED:
                return _TAKEN_OVER
            return TlsMode.REQUIRED.value if self.stage else ""
        return f"{_MIGRATED}/{self.stage.name.capitalize()}" + (f"/{_BACK}" if self.back else "")


def formed(text: str) -> Formed:
    """Raises ValueError for what no operator up to this one has written."""
    if text in ("", TlsMode.DISABLED.value):
        return Formed()
    if text == TlsMode.REQUIRED.value:
        return Formed(Stage.ENFORCED)
    if text == _TAKEN_OVER:
        return Formed(Stage.AUTHORIZED)
    kind, _, rest = text.partition("/")
    name, _, way = rest.partition("/")
    if kind != _MIGRATED or way not in ("", _BACK) or name.upper() not in Stage.__members__:
        raise ValueError(f"security {text!r} is not known to this operator")
    return Formed(Stage[name.upper()], migrated=True, back=bool(way))


def laid_out(spec: ClusterSpec) -> ClusterSpec:
    """The specification of a cluster that was plaintext once, with the listeners of its stage."""
    stage, plain = spec.security.stage, spec.controller_listeners
    secure, clients = (SECURE_CONTROLLER,), spec.broker_listeners
    controllers = plain
    if stage >= Stage.CLOSED:
        controllers = secure
    elif stage >= Stage.TURNED:
        controllers = (*secure, *plain)
    elif stage >= Stage.LISTENING:
        controllers = (*plain, *secure)
    if stage < Stage.FOLLOWED:
        brokers = tuple(each for each in clients if not each.tls)
    else:
        brokers = (REPLICATION, *clients) if stage >= Stage.REPLICATING else (*clients, REPLICATION)
    return replace(
        spec,
        controller_listeners=controllers,
        quorum_listeners=secure if stage >= Stage.FOLLOWED else plain,
        opening=secure if stage < Stage.LISTENING else (),
        broker_listeners=brokers,
    )
