"""The objects of a node, and what the controllers of a cluster are called where nodes are formatted and look for them.

A node's ConfigMap comes before its StatefulSet, so that a new pod never waits for its file. The ledger is not among the
objects: it outlives the resource and is written by its own rules.
"""

from __future__ import annotations

from collections.abc import Sequence

from kraft_operator.api.spec import KRaftCluster
from kraft_operator.manifests.context import Context, Manifest, NodePlan
from kraft_operator.manifests.nodes import stateful_set
from kraft_operator.manifests.properties import config_map


def node_objects(context: Context, node: NodePlan, revision: str) -> list[Manifest]:
    """`revision` is its group's."""
    return [config_map(context, node), stateful_set(context, node, revision)]


def controllers_among(cluster: KRaftCluster, nodes: Sequence[NodePlan]) -> tuple[int, ...]:
    """Where nodes look for the quorum before they know a leader."""
    return tuple(sorted(node.node_id for node in nodes if node.group == cluster.spec.controllers.name))


def initial_controllers(cluster: KRaftCluster, directory_ids: dict[int, str]) -> str:
    """The argument of `--initial-controllers`: id@host:port:directory, the voters' default listener."""
    port = cluster.spec.controller_listeners[0].port
    return ",".join(
        f"{node_id}@{cluster.voter_host(node_id)}:{port}:{directory_id}"
        for node_id, directory_id in sorted(directory_ids.items())
    )
