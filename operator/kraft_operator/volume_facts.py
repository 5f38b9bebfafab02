"""Where volumes and Kubernetes nodes stand, from raw objects: pure.

A volume is stranded when it can be used on certain nodes only (named by their hostname label, which is not their name),
and none of them will come back with it: each is gone from the API, or its owner has said with the taint
`node.kubernetes.io/out-of-service` that it is shut down. A node that is merely not Ready may come back any moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
HOSTNAME: Final = "kubernetes.io/hostname"

Object = Mapping[str, Any]


def hosts_of(volume: Object) -> tuple[str, ...]:
    """The nodes a local volume is bound to, by hostname; empty when it can be used elsewhere or its terms say something
    else.
    """
    required = ((volume["spec"].get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or ()
    found: list[str] = []
    for term in required:
        names = [
            value
            for each in term.get("matchExpressions") or ()
            if each.get("key") == HOSTNAME and each.get("operator") == "In"
            for value in each.get("values") or ()
        ]
        if not names:
            return ()
        found += names
    return tuple(found)


def is_lost(node: Object) -> bool:
    """Out of service by its owner's word."""
    return any(taint.get("key") == OUT_OF_SERVICE for taint in node["spec"].get("taints") or ())


def is_ready(node: Object) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
