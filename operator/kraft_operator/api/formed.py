"""A cluster as its ledger says that it is, whatever its resource asks for now.

Whether a cluster is secure is decided when it is formed. One that was formed with plaintext goes on from there by the
stages of `stages`, of which the ledger knows the one that it has reached.
"""

from __future__ import annotations

from dataclasses import replace

from kraft_operator.api.parse import parse_spec
from kraft_operator.api.parse_security import asked_mode, formed_by, mode_of
from kraft_operator.api.reader import InvalidSpec, Reader
from kraft_operator.api.security import Stage, TlsMode
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.api.stages import Formed, formed


def formed_with(cluster: KRaftCluster, security: str, controllers: int = 0) -> KRaftCluster:
    """`security` as the ledger has it. While a cluster becomes secure it has as many `controllers` as it had. Raises
    InvalidSpec for a resource that makes no sense with it.
    """
    found, source = formed(security), Reader("spec", cluster.source)
    asked = mode_of(source, found)
    if found.text == formed_by(asked_mode(source)).text == cluster.formed and cluster.doubt[0]:
        raise InvalidSpec(*cluster.doubt)
    spec = cluster.spec if cluster.formed == found.text else parse_spec(source, found)
    if controllers and found.migrated and Stage.PLAIN < found.stage < Stage.CLOSED:
        spec = replace(spec, controllers=replace(spec.controllers, replicas=controllers))
    kept = asked.value if found.stage >= Stage.CLOSED and asked is not TlsMode.REQUIRED else ""
    return replace(
        cluster, spec=spec, formed=found.text, kept_mode=kept, hindrance=_hindrance(source, found, asked),
        doubt=("", ""),
    )  # fmt: skip


def _hindrance(source: Reader, found: Formed, asked: TlsMode) -> str:
    """What keeps the resource of a plaintext cluster from being that of one that becomes secure."""
    if found.stage or asked is TlsMode.DISABLED:
        return ""
    try:
        parse_spec(source, Formed(Stage.PREPARED, migrated=True))
    except InvalidSpec as error:
        return f"{error.path}: {error.problem}"
    return ""
