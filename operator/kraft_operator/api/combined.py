"""Small clusters whose controllers are their brokers: `controllers.role` Combined.

They are controllers in all that has a name (voters' endpoints are for ever), and there are no pools beside them. So
whoever asks for the brokers of a cluster asks here, and not for its pools.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from kraft_operator.api.roles import BROKER, COMBINED, CONTROLLER, Roles
from kraft_operator.api.spec import ClusterSpec, Group

COUNTS: Final = (1, 3)
"""Of combined nodes: one to try things, three to lose one."""


class Role(StrEnum):
    CONTROLLER = "Controller"
    COMBINED = "Combined"

    @property
    def roles(self) -> Roles:
        return COMBINED if self is Role.COMBINED else CONTROLLER


def is_combined(spec: ClusterSpec) -> bool:
    return spec.controllers.roles == COMBINED


def serving_groups(spec: ClusterSpec) -> tuple[Group, ...]:
    """The pools, or the controllers where these are the brokers."""
    return tuple(group for group in spec.groups if group.roles.serves)


def serving_roles(spec: ClusterSpec) -> Roles:
    """By which Services find brokers."""
    return COMBINED if is_combined(spec) else BROKER


def broker_ids(spec: ClusterSpec) -> frozenset[int]:
    """That the resource asks for."""
    return frozenset(node_id for group in serving_groups(spec) for node_id in group.node_ids)


def check_combined(spec: ClusterSpec) -> Iterator[tuple[str, str]]:
    """What is wrong, as (path below spec, problem)."""
    if not is_combined(spec):
        if spec.controllers.rack_node_label is not None:
            yield "controllers.rack", "racks are the brokers': take it out, or set controllers.role to Combined"
        return
    if spec.controllers.replicas not in COUNTS:
        found = spec.controllers.replicas
        yield "controllers.replicas", f"must be 1 or 3 where controllers.role is Combined, not {found}"
    if spec.broker_pools:
        yield "brokerPools", "take the pools out: where controllers.role is Combined, controllers are the brokers"
    if spec.controllers.storage.ephemeral:
        yield "controllers.storage.type", "must be Persistent: partitions of combined nodes are on their disks"
    if spec.from_archive is not None:
        problem = "take it out: only controllers of their own are formed from an archive, not combined ones"
        yield "bootstrap.fromArchive", problem
    if spec.security.migrated:
        problem = (
            "set it to Disabled: combined nodes do not become secure later. Form a secure cluster, and move what this "
            "one has to it"
        )
        yield "security.tls.mode", problem
