"""From a KRaftCluster file to the manifests of its cluster, as the operator would apply them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from kraft_operator.api.formed import formed_with
from kraft_operator.api.parse import parse_cluster, read_cluster
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.manifests.cluster import controllers_among, node_objects
from kraft_operator.manifests.context import Context, Images, Manifest, NodePlan
from kraft_operator.manifests.nodes import revision_of
from kraft_operator.manifests.passthrough import passthrough_objects
from kraft_operator.manifests.policies import disruption_budgets, network_policies
from kraft_operator.manifests.services import exposed_services, services

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
IMAGES = Images(operator="quorate/operator:dev", operator_namespace="kraft-operator")
GOLDEN = Path(__file__).parents[2] / "golden" / "manifests"


def render_file(
    path: Path, namespace: str = "kafka", images: Images = IMAGES, formed: str | None = None
) -> list[dict[str, Any]]:
    """`formed`: as a ledger has the cluster's security; None for one that is formed now."""
    resource = yaml.safe_load(path.read_text())
    resource["metadata"].update(namespace=namespace, uid="11111111-2222-3333-4444-555555555555", generation=1)
    cluster = parse_cluster(resource) if formed is None else formed_with(read_cluster(resource), formed)
    return cluster_objects(cluster, cluster.spec.cluster_id or CLUSTER_ID, desired_nodes(cluster), images)


def cluster_objects(cluster: KRaftCluster, cluster_id: str, nodes: list[NodePlan], images: Images) -> list[Manifest]:
    """Of a cluster of which nothing is known yet, in the order in which they are applied."""
    context = Context(cluster, cluster_id, controllers_among(cluster, nodes), images)
    found = [*services(cluster), *exposed_services(cluster, sorted(nodes)), *network_policies(cluster, images)]
    found += passthrough_objects(cluster, sorted(nodes))
    found += disruption_budgets(cluster, None)
    for node in sorted(nodes):
        found += node_objects(context, node, revision_of(context, context.group(node)))
    return found


def desired_nodes(cluster: KRaftCluster) -> list[NodePlan]:
    """What the resource asks for, the controllers first."""
    return [NodePlan(node_id, group.name) for group in cluster.spec.groups for node_id in group.node_ids]


class _Plain(yaml.SafeDumper):
    """Repeats what is shared instead of naming it."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Plain.add_representer(str, _text)


def to_yaml(manifest: dict[str, Any]) -> str:
    return yaml.dump(manifest, Dumper=_Plain, sort_keys=False, width=140)


def golden_specs() -> list[Path]:
    return sorted(GOLDEN.glob("*/spec.yaml"))


def render_golden(path: Path, namespace: str = "kafka", images: Images = IMAGES) -> list[dict[str, Any]]:
    """Of a cluster that an operator formed when clusters were plaintext, or one that is formed now (`secure`)."""
    return render_file(path, namespace, images, None if path.parent.name == "secure" else "")
