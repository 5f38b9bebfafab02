"""The claim with the archive that a quorum is made of, read from the API server: no label of ours is on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kraft_operator import pod_facts
from kraft_operator.api import names
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.kube import CLAIM, POD, Gateway
from kraft_operator.ledger import Formation, Ledger
from kraft_operator.operations.operation import Operation, OperationType


def archive_seen(
    cluster: KRaftCluster, kube: Gateway, ledger: Ledger | None, operations: Iterable[Operation]
) -> dict[str, Any]:
    """As fields of `Observed`. Looked for while a lost quorum is recovered, whether the resource still asks for an
    archive or not, and while a cluster is formed from one. Raises KubeError.
    """
    asked = cluster.spec.from_archive
    if asked is not None and (ledger is None or ledger.formation is Formation.NOT_STARTED):
        name = asked.claim
    elif any(each.type is OperationType.RECOVER_QUORUM and not each.finished for each in operations):
        name = names.archive_claim(cluster.name)
    else:
        return {}
    pod = kube.find(POD, cluster.namespace, name.removeprefix("archive-")) if name.startswith("archive-") else None
    uses = pod is not None and not pod["metadata"].get("deletionTimestamp")
    return {
        "archive_claim": pod_facts.archive_claim(kube.find(CLAIM, cluster.namespace, name)),
        "archive_on": (pod["spec"].get("nodeName") or "") if pod is not None and uses else "",
    }
