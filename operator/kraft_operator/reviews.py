"""What the API server lets this operator do, asked before it is done."""

from __future__ import annotations

from typing import Final

from kraft_operator.kube import Gateway, Kind

REVIEW: Final = Kind("SelfSubjectAccessReview", "authorization.k8s.io/v1", "selfsubjectaccessreviews", namespaced=False)


def allows(kube: Gateway, verb: str, group: str, resource: str, namespace: str | None) -> bool:
    """`resource` may have a `/subresource`; no namespace: in every one. Everybody may ask. Raises KubeError."""
    plural, _, sub = resource.partition("/")
    asked = {"group": group, "resource": plural, "verb": verb} | ({"subresource": sub} if sub else {})
    attributes = asked | ({"namespace": namespace} if namespace else {})
    body = {"apiVersion": REVIEW.api, "kind": REVIEW.kind, "spec": {"resourceAttributes": attributes}}
    answer = kube.create(REVIEW, None, body)
    return bool((answer.get("status") or {}).get("allowed"))
