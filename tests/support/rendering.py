"""From a KRaftCluster file to the manifests of its cluster, as the operator would apply them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from kraft_operator.api.parse import parse_cluster
from kraft_operator.manifests.cluster import Images, cluster_objects, desired_nodes

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
IMAGES = Images(operator="quorate/operator:dev", operator_namespace="kraft-operator")
GOLDEN = Path(__file__).parent.parent / "golden" / "manifests"


def render_file(path: Path, namespace: str = "kafka", images: Images = IMAGES) -> list[dict[str, Any]]:
    resource = yaml.safe_load(path.read_text())
    resource["metadata"].update(namespace=namespace, uid="11111111-2222-3333-4444-555555555555", generation=1)
    cluster = parse_cluster(resource)
    return cluster_objects(cluster, cluster.spec.cluster_id or CLUSTER_ID, desired_nodes(cluster), images)


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
