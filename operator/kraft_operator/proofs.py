"""Whether nodes have what another authority asks of them, asked of the nodes themselves: a connection that is secured
in a certain way comes about, or it does not.

Which way is `credentials_seen`'s to say: with a certificate of the new authority, which who does not trust it refuses;
or trusting nobody but the new authority, whom an older certificate does not convince.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

from controller_runtime.identifiers import Endpoint
from controller_runtime.security.listener_security import ListenerSecurity
from kraft_operator.api import names
from kraft_operator.api.roles import controls, serves
from kraft_operator.api.security import Stage
from kraft_operator.api.spec import KRaftCluster, Probes
from kraft_operator.api.stages import REPLICATION, SECURE_CONTROLLER
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


class Counts(Protocol):
    def sessions(self, pages: Mapping[int, str], listeners: Collection[str]) -> dict[int, int]: ...


def plaintext_sessions(cluster: KRaftCluster, pods: Collection[Pod], probe: Counts) -> dict[int, int]:
    """Right before the controllers' plaintext listeners are closed: of nodes that have a page, who is connected."""
    group = cluster.spec.controllers
    if cluster.spec.security.stage is not Stage.REPLICATING or cluster.spec.probes_of(group) is not Probes.HTTP:
        return {}
    running = [each.node_id for each in pods if each.pool == group.name and each.main_started and not each.terminating]
    pages = {node_id: f"http://{cluster.voter_host(node_id)}:{names.HTTP_PORT}/metrics" for node_id in running}
    return probe.sessions(pages, cluster.spec.plaintext_controllers)


def doubts(cluster: KRaftCluster, pods: Collection[Pod], proven: Collection[str]) -> tuple[Doubt, ...]:
    """`proven`: UIDs of pods of which it is known. On the way to a secure cluster those are asked that get its new
    listener now.
    """
    found = []
    stage, on_its_way = cluster.spec.security.stage, cluster.spec.security.on_its_way
    for pod in pods:
        group = cluster.spec.group(pod.pool)
        if group is None or not pod.main_started or pod.terminating or pod.uid in proven:
            continue
        for controller in (each for each, has in ((True, controls(pod)), (False, serves(pod))) if has):
            if on_its_way and stage is not (Stage.LISTENING if controller else Stage.FOLLOWED):
                continue
            port = _secure_port(cluster, controller=controller)
            if not port:
                port = cluster.spec.asked_controller.port if controller else cluster.spec.broker_port(pod.port)
            found.append(Doubt(pod.uid, pod.node_id, controller, Endpoint(cluster.host(group, pod.node_id), port)))
    return tuple(found)


def _secure_port(cluster: KRaftCluster, *, controller: bool) -> int:
    """Of the listener that a cluster on its way gets; 0 for one that is no such, or is past it."""
    if not cluster.spec.security.on_its_way:
        return 0
    return (SECURE_CONTROLLER if controller else REPLICATION).port


async def prove(asked: Collection[Doubt], security: ListenerSecurity, pools: Pools) -> frozenset[str]:
    """UIDs of the pods whose node answered, a combined one on the listeners of both its roles."""
    some = list(asked)[:MAX_AT_ONCE]
    answers = await asyncio.gather(*(_answers(each, security, pools) for each in some))
    silent = {each.pod_uid for each, answer in zip(some, answers, strict=True) if not answer}
    silent |= {each.pod_uid for each in list(asked)[MAX_AT_ONCE:]}
    return frozenset(each.pod_uid for each in some) - silent


async def _answers(doubt: Doubt, security: ListenerSecurity, pools: Pools) -> bool:
    made = pools.controllers if doubt.controller else pools.brokers
    admin = await made([doubt.endpoint], PROBE_SECONDS, security)
    return await answered(admin.describe_features(doubt.endpoint)) is not None
