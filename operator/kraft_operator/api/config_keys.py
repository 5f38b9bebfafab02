"""Which keys of server.properties belong to the operator, and what to set instead.

The CRD's rules refuse the same keys (a test compares the two lists), so that `kubectl apply` says it first. A key is
refused, not overridden: a file that says one thing while another happens is worse than an error.
"""

from __future__ import annotations

from typing import Final

OWNED: Final = {
    "process.roles": "a node's role is that of its group",
    "node.id": "node ids come from nodeIdRange",
    "broker.id": "node ids come from nodeIdRange",
    "listeners": "use spec.endpoints",
    "advertised.listeners": "use spec.endpoints",
    "listener.security.protocol.map": "use spec.endpoints",
    "inter.broker.listener.name": "the first of spec.endpoints.broker",
    "security.inter.broker.protocol": "the first of spec.endpoints.broker",
    "controller.listener.names": "use spec.endpoints",
    "controller.quorum.voters": "voters live in the metadata log",
    "controller.quorum.bootstrap.servers": "derived from spec.controllers",
    "controller.quorum.auto.join.enable": "the operator alone changes the voters",
    "log.dir": "the operator mounts the volume",
    "log.dirs": "the operator mounts the volume",
    "metadata.log.dir": "the operator mounts the volume",
    "broker.rack": "use rack.fromNodeLabel",
}


def owner_of(key: str) -> str | None:
    """What to do instead of setting this key; None when the user may set it."""
    return OWNED.get(key)
