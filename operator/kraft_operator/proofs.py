"""Whether nodes have what another authority asks of them, asked of the nodes themselves: a connection that is secured
in a certain way comes about, or it does not.

Which way is `credentials_seen`'s to say: with a certificate of the new authority, which who does not trust it refuses;
or trusting nobody but the new authority, whom an older certificate does not convince.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from controller_runtime.identifiers import Endpoint
from controller_runtime.security.listener_security import ListenerSecurity
from kraft_operator.api.spec import KRaftCluster, Probes, Role
from kraft_operator.cluster_queries import PROBE_SECONDS, answered
from kraft_operator.credentials import Credentials
from kraft_operator.observed import Pod
from kraft_operator.pools import Pools

MAX_AT_ONCE: Final = 32
"""Nodes that are asked in one look."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A node that runs, of which it is not known yet."""

    pod_uid: str
    node_id: int
    controller: bool
    endpoint: Endpoint


def restarted_for(cluster: KRaftCluster, seen: Credentials | None) -> KRaftCluster:
    """Nodes that are probed by TCP read their files at start only: with a restart for each step that was taken."""
    turns = seen.succession.turns if seen is not None else 0
    reads_anew = all(cluster.spec.probes_of(group) is Probes.HTTP for group in cluster.spec.groups)
    if not turns or reads_anew:
        return cluster
    return replace(cluster, restart=" ".join(filter(None, (cluster.restart, f"authority-{turns}"))))


def doubts(cluster: KRaftCluster, pods: Collection[Pod], proven: Collection[str]) -> tuple[Doubt, ...]:
    """`proven`: UIDs of pods of which it is known."""
    found = []
    for pod in pods:
        group = cluster.spec.group(pod.pool)
        if group is None or not pod.main_started or pod.terminating or pod.uid in proven:
            continue
        controller = pod.role == Role.CONTROLLER.value
        port = cluster.spec.controller_listeners[0].port
        if not controller:
            port = pod.port or cluster.spec.broker_listeners[0].port
        found.append(Doubt(pod.uid, pod.node_id, controller, Endpoint(cluster.host(group, pod.node_id), port)))
    return tuple(found)


async def prove(asked: Collection[Doubt], security: ListenerSecurity, pools: Pools) -> frozenset[str]:
    """UIDs of the pods whose node answered."""
    some = list(asked)[:MAX_AT_ONCE]
    answers = await asyncio.gather(*(_answers(each, security, pools) for each in some))
    return frozenset(each.pod_uid for each, answer in zip(some, answers, strict=True) if answer)


async def _answers(doubt: Doubt, security: ListenerSecurity, pools: Pools) -> bool:
    made = pools.controllers if doubt.controller else pools.brokers
    admin = await made([doubt.endpoint], PROBE_SECONDS, security)
    return await answered(admin.describe_features(doubt.endpoint)) is not None
