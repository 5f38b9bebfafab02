"""What of a resource makes the pods of one group: kept as text while it is known to be good, and put back into the
resource as it is now.

Sizes, replicas and policies are no part of it: a group that goes back to an earlier revision keeps everything else that
was asked for since. How secure the cluster was then is: the layouts of two adjacent stages are all that may ever meet
(`plan.securing`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kraft_operator.api import names
from kraft_operator.api.parse import parse_spec
from kraft_operator.api.reader import InvalidSpec, Reader
from kraft_operator.api.spec import Group, KRaftCluster
from kraft_operator.api.stages import Formed, formed

SHARED: Final = ("image", "probes", "endpoints", "config", "security")
VOLUMES: Final = "volumes"
"""Of `storage`, whose sizes and classes are no part of a revision: which further volumes a node has, is."""
OWN: Final = ("image", "probes", "resources", "pod", "config", "rack", "failureDomains", "jvm", "logging", "metrics")


def inputs_of(cluster: KRaftCluster, group: Group, operator_image: str) -> str:
    own = _group(cluster.source, group.name)
    volumes = (own.get("storage") or {}).get(VOLUMES)
    values = {
        "shared": {key: cluster.source[key] for key in SHARED if key in cluster.source},
        "own": {key: own[key] for key in OWN if key in own} | ({VOLUMES: volumes} if volumes else {}),
        "restart": cluster.restart,
        "operatorImage": operator_image,
        "formed": cluster.formed,
    }
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


def cluster_with(cluster: KRaftCluster, group: Group, inputs: str) -> tuple[KRaftCluster, str]:
    """The resource with these inputs for this group, and the operator's image of then. Only this group's pods may be
    made of it. Raises InvalidSpec when this operator does not understand them any more."""
    shared, own_of_then, restart, operator_image, found = _read(inputs, cluster.formed)
    source = {key: value for key, value in cluster.source.items() if key not in SHARED} | shared
    own = _with_volumes(_group(cluster.source, group.name), own_of_then.pop(VOLUMES, ()))
    own = {key: value for key, value in own.items() if key not in OWN} | own_of_then
    if group.name == names.CONTROLLER_ROLE:
        source["controllers"] = own
    else:
        pools = source.get("brokerPools") or []
        source["brokerPools"] = [own if each.get("name") == group.name else each for each in pools]
    spec = parse_spec(Reader("spec", source), found)
    return replace(cluster, spec=spec, formed=found.text, restart=restart, source=source), operator_image


def _with_volumes(own: Mapping[str, Any], then: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """With the volumes that the group had then, as large as they are asked for now: they grow, and go nowhere back."""
    now = {each["name"]: each for each in (own.get("storage") or {}).get(VOLUMES) or ()}
    kept = {key: value for key, value in (own.get("storage") or {}).items() if key != VOLUMES}
    volumes = [now.get(each["name"], each) for each in then]
    return {**own, "storage": {**kept, VOLUMES: volumes} if volumes else kept}


def _read(inputs: str, here: str) -> tuple[dict[str, Any], dict[str, Any], str, str, Formed]:
    """`here`: as the ledger has the cluster's security now, of which inputs of earlier operators say nothing."""
    try:
        values = json.loads(inputs)
        found = formed(str(values.get("formed", here)))
        return dict(values["shared"]), dict(values["own"]), str(values["restart"]), str(values["operatorImage"]), found
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidSpec("ledger.revisions.good", f"{type(error).__name__}: {error}") from error


def _group(source: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    if name == names.CONTROLLER_ROLE:
        return source.get("controllers") or {}
    pools = source.get("brokerPools") or ()
    return next((each for each in pools if each.get("name") == name), {})


__all__ = ["InvalidSpec", "cluster_with", "inputs_of"]
