"""Of disks that go with their pods: what the spec of such a cluster must not ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kraft_operator.api.spec import ClusterSpec, Group, LifecycleState, VolumePolicy


def check_ephemeral(spec: ClusterSpec, paths: Callable[[Group], str]) -> Iterator[tuple[str, str]]:
    """What a cluster must not be asked to do whose disks go with their pods, as (path, problem)."""
    groups = [group for group in spec.groups if group.storage.ephemeral]
    if not groups:
        return
    path = f"{paths(groups[0])}.storage.type"
    if spec.volume_policy is not VolumePolicy.DELETE:
        yield path, "Ephemeral needs deletionPolicy.volumes Delete: a ledger that outlives every disk knows none"
    if spec.lifecycle is LifecycleState.HIBERNATED:
        yield "lifecycle.state", "must not be Hibernated: Ephemeral disks go with their pods"
    if spec.controllers.storage.ephemeral and spec.controllers.replicas < 3:
        yield path, "Ephemeral needs three controllers at least: one alone would take the cluster with its pod"
    if spec.controllers.storage.ephemeral and spec.from_archive is not None:
        yield path, "must be Persistent: bootstrap.fromArchive forms the cluster on a claim"
