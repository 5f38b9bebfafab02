"""What was rendered, remembered by what it was made of: while nothing of a node has changed, it is rendered once.

It changes no decision: whoever has none of it gets the same objects, later. Manifests that come from here are shared
and must not be changed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any

from kraft_operator.api.spec import ClusterSpec, Group, KRaftCluster
from kraft_operator.manifests.context import Context, Manifest, NodePlan
from kraft_operator.manifests.nodes import revision_of

Key = tuple[Hashable, ...]


class Rendered:
    """Of one cluster. What neither this look nor the one before has asked for is forgotten (`begin`)."""

    __slots__ = ("_before", "_compared", "_objects", "_specs")

    def __init__(self) -> None:
        self._objects: dict[Key, Any] = {}
        self._before: dict[Key, Any] = {}
        self._specs: dict[int, ClusterSpec] = {}
        """Those that keys name by their identity, so that no other one can get it."""
        self._compared: dict[tuple[int, int], tuple[object, object, bool]] = {}

    def begin(self, cluster: KRaftCluster) -> KRaftCluster:
        """A new look at the cluster: returned with the specification that is known already, if it says the same."""
        self._before, self._objects, self._compared = self._objects, {}, {}
        known = next((each for each in self._specs.values() if each == cluster.spec), cluster.spec)
        self._specs = {id(known): known}
        kept = {key[0] for key in self._before} - {id(known)}
        self._before = {key: each for key, each in self._before.items() if key[0] not in kept}
        return replace(cluster, spec=known)

    def objects(self, cluster: KRaftCluster, what: Key, render: Callable[[], list[Manifest]]) -> list[Manifest]:
        found: list[Manifest] = self._known(cluster, what, render)
        return found

    def node(self, context: Context, node: NodePlan, render: Callable[[], list[Manifest]]) -> list[Manifest]:
        what = ("node", *_made_of(context), context.controller_ids, node)
        return self.objects(context.cluster, what, render)

    def revision(self, context: Context, group: Group) -> str:
        what = ("revision", *_made_of(context), group.name)
        found: str = self._known(context.cluster, what, lambda: revision_of(context, group))
        return found

    def compare(self, one: Mapping[str, Any], other: Mapping[str, Any], by: Callable[[Any, Any], bool]) -> bool:
        """`by` of the two, which are kept as long as its answer."""
        known = self._compared.get((id(one), id(other)))
        if known is None:
            known = self._compared[id(one), id(other)] = one, other, by(one, other)
        return known[2]

    def _known(self, cluster: KRaftCluster, what: Key, make: Callable[[], Any]) -> Any:
        key = (id(cluster.spec), cluster.namespace, cluster.name, cluster.uid, cluster.restart, *what)
        if key not in self._objects:
            self._specs[id(cluster.spec)] = cluster.spec
            self._objects[key] = self._before[key] if key in self._before else make()
        return self._objects[key]


def _made_of(context: Context) -> Key:
    """What is not the resource's own."""
    return context.cluster_id, context.images, context.replication_factor
