"""All objects of a cluster, in the order in which they are to be applied.

A node's ConfigMap comes before its StatefulSet, so that a new pod never waits for its file; Services come first, so
that names resolve when pods look for each other. The ledger is not among them: it outlives the resource and is written
by its own rules.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kraft_operator.api.spec import KRaftCluster
from kraft_operator.manifests.context import Context, Images, Manifest, NodePlan
from kraft_operator.manifests.nodes import revision_of, stateful_set
from kraft_operator.manifests.policies import disruption_budgets, network_policies
from kraft_operator.manifests.properties import config_map
from kraft_operator.manifests.services import exposed_services, services


def cluster_objects(
    cluster: KRaftCluster,
    cluster_id: str,
    nodes: Sequence[NodePlan],
    images: Images,
    voters_needed: int | None = None,
    rolled_back: Mapping[str, tuple[KRaftCluster, Images]] | None = None,
    closed: Collection[str] = (),
) -> list[Manifest]:
    """`nodes` are those that shall have a StatefulSet; the controllers among them are the bootstrap servers. Groups
    that are `rolled_back` get pods as the resource described them when they were good; of those that are `closed`
    nobody may be evicted."""
    controllers = tuple(sorted(node.node_id for node in nodes if node.group == cluster.spec.controllers.name))
    context = Context(cluster, cluster_id, controllers, images)
    objects = [
        *services(cluster),
        *exposed_services(cluster, sorted(nodes)),
        *network_policies(cluster, images),
        *disruption_budgets(cluster, voters_needed, closed),
    ]
    contexts = {
        name: Context(good, cluster_id, controllers, of_then) for name, (good, of_then) in (rolled_back or {}).items()
    }
    revisions: dict[str, str] = {}
    for node in sorted(each for each in nodes if not each.pending):
        of_group = contexts.get(node.group, context)
        if node.group not in revisions:
            revisions[node.group] = revision_of(of_group, of_group.group(node))
        objects += [config_map(of_group, node), stateful_set(of_group, node, revisions[node.group])]
    return objects


def desired_nodes(cluster: KRaftCluster) -> list[NodePlan]:
    """What the resource asks for, the controllers first; the planner holds, keeps or drops nodes from there."""
    return [NodePlan(node_id, group.name) for group in cluster.spec.groups for node_id in group.node_ids]


def initial_controllers(cluster: KRaftCluster, directory_ids: dict[int, str]) -> str:
    """The argument of `--initial-controllers`: id@host:port:directory, the voters' default listener."""
    port = cluster.spec.controller_listeners[0].port
    return ",".join(
        f"{node_id}@{cluster.voter_host(node_id)}:{port}:{directory_id}"
        for node_id, directory_id in sorted(directory_ids.items())
    )


__all__ = ["Images", "Manifest", "NodePlan", "cluster_objects", "desired_nodes", "initial_controllers"]
