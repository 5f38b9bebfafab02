"""What has no namespace (volumes, classes, Kubernetes nodes), as far as the operator may see it.

An installation with rights in named namespaces only may see none of it. Then nothing is taken for lost that nobody can
look at: a volume counts as there, its Kubernetes node as alive. The API server itself judges what depends on a class.
"""

from __future__ import annotations

from collections.abc import Iterable

from kraft_operator.kube import STORAGE_CLASS, VOLUME, Forbidden, Gateway, Object
from kraft_operator.observed import Claim


def volume(kube: Gateway, name: str) -> Object | None:
    """None: it does not exist, or nobody may look."""
    try:
        return kube.find(VOLUME, None, name)
    except Forbidden:
        return None


def volume_exists(kube: Gateway, name: str) -> bool:
    try:
        return kube.find(VOLUME, None, name) is not None
    except Forbidden:
        return True


def may_grow(kube: Gateway, storage_class: str) -> bool:
    """Whether volumes of this class can. One that is gone cannot expand anything."""
    if not storage_class:
        return False
    try:
        found = kube.find(STORAGE_CLASS, None, storage_class)
    except Forbidden:
        return True
    return bool((found or {}).get("allowVolumeExpansion"))


def missing_classes(kube: Gateway, claims: Iterable[Claim]) -> frozenset[str]:
    """That claims without a volume name. Whoever may not look takes a class for there."""
    wanted = sorted({each.storage_class for each in claims if each.storage_class and not each.volume})
    try:
        return frozenset(each for each in wanted if kube.find(STORAGE_CLASS, None, each) is None)
    except Forbidden:
        return frozenset()


def volume_is_of(kube: Gateway, name: str, claim_uid: str) -> str | None:
    """UID of the claim that the volume says it is bound to. Who may not look believes the claim, which names the
    volume.
    """
    try:
        found = kube.get(VOLUME, None, name)
    except Forbidden:
        return claim_uid
    return (found["spec"].get("claimRef") or {}).get("uid")
