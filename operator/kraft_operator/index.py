"""What the watches have shown: the objects of all clusters, kept up to date by kopf's events and made whole by one list
now and then.

A look at a cluster begins here, and ends here if there is nothing to write. Nothing is written on the strength of it:
whatever is to be written is decided anew from live reads (`reconcile`). So an event that comes late, or never, delays a
step and falsifies none.

kopf does not tell of an object that vanished while its watch was broken. `resync` lists everything live; what an event
has touched since the list was asked for is left as the event says, because that is newer or will be followed by what
is. Objects are kept as JSON: it is a tenth of the memory, and who reads one cannot change it for others. Thread-safe:
kopf's loop writes, workers read.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from kraft_operator.keys import CLUSTER_LABEL, Key
from kraft_operator.kube import CHILDREN, CLAIM, CLUSTER, NODE, OPERATION, POD, USER, Gateway, Kind, NotFound, Object

OF_CLUSTERS: Final = (POD, CLAIM, *CHILDREN)
"""Found by the label that names their cluster."""
WATCHED: Final = (CLUSTER, OPERATION, USER, *OF_CLUSTERS)
BELIEVED_SECONDS: Final = 600.0
"""How long is believed what is not watched: the reclaim policies of volumes."""
LABELS_BELIEVED_SECONDS: Final = 60.0
"""The same of Kubernetes nodes: who is told to label one looks whether that was right."""

Place = tuple[str, str]
"""Namespace and name."""


class Index:
    def __init__(self, kube: Gateway, clock: Callable[[], float]) -> None:
        self._kube, self._clock = kube, clock
        self._lock = threading.RLock()
        self._kept: dict[Kind, dict[Place, tuple[str, bytes]]] = {kind: {} for kind in WATCHED}
        """The cluster that an object belongs to, and the object."""
        self._owned: dict[tuple[Kind, str, str], set[str]] = {}
        """Names by kind, namespace and cluster."""
        self._touched: dict[tuple[Kind, Place], int] = {}
        """Since the last resync: when an event spoke of it, counted in events."""
        self._events = 0
        self._serial = 0
        self._changes: dict[Key, int] = {}
        self.watches_routes = False
        """A watch tells of every change of a TLSRoute. Routes themselves are not kept here."""
        self._routes: dict[Key, int] = {}
        self._facts: dict[tuple[Kind, str], tuple[float, Object | None]] = {}
        self.complete = False
        """Everything was listed once; before that nothing here is to be believed."""

    # what the watches bring

    def note(self, kind: Kind, type_: str | None, item: Mapping[str, Any]) -> None:
        """One event of kopf's: of what type, and the object as it was sent."""
        place = _place(item)
        with self._lock:
            self._events += 1
            self._touched[kind, place] = self._events
            if type_ == "DELETED":
                self._drop(kind, place)
            else:
                self._put(kind, place, item)

    def note_route(self, key: Key) -> None:
        """A TLSRoute of this cluster has come, changed or gone."""
        with self._lock:
            self._routes[key] = self._routes.get(key, 0) + 1
            self._changed(key.namespace, key.name)

    def resync(self, namespaces: Collection[str]) -> tuple[Key, ...]:
        """List everything live (every namespace when none is named); returns the clusters that there are. Raises
        KubeError.
        """
        for kind in WATCHED:
            for namespace in namespaces or (None,):
                self._list(kind, namespace)
        with self._lock:
            self.complete = True
            self._touched.clear()
            return tuple(Key(*place) for place in self._kept[CLUSTER])

    def _list(self, kind: Kind, namespace: str | None) -> None:
        with self._lock:
            asked = self._events
        try:
            found = self._kube.list(kind, namespace, CLUSTER_LABEL if kind in OF_CLUSTERS else "")
        except NotFound:
            found = ()  # its definition is not installed
        with self._lock:
            items = {_place(item): item for item in found}
            known = [place for place in self._kept[kind] if namespace in (None, place[0])]
            for place in (*items, *(each for each in known if each not in items)):
                if self._touched.get((kind, place), 0) > asked:
                    continue
                if place in items:
                    self._put(kind, place, items[place])
                else:
                    self._drop(kind, place)

    # what a look reads, as from the API server

    def changes(self, key: Key) -> int:
        """Another number whenever something of this cluster has changed."""
        with self._lock:
            return self._changes.get(key, 0)

    def route_changes(self, key: Key) -> int | None:
        """How many were told of; None: nobody watches routes."""
        with self._lock:
            return self._routes.get(key, 0) if self.watches_routes else None

    def find(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        if kind not in self._kept:
            return self._fact(kind, name)
        with self._lock:
            found = self._kept[kind].get((namespace or "", name))
        return None if found is None else _read(kind, found[1])

    def list(self, kind: Kind, namespace: str | None, selector: str = "") -> tuple[Object, ...]:
        """Of one namespace; `selector` names a cluster by its label, or is empty."""
        assert namespace is not None, "the index is asked for one cluster's objects at a time"
        assert not selector or selector.startswith(f"{CLUSTER_LABEL}="), f"the index knows no {selector}"
        with self._lock:
            kept = self._kept[kind]
            if selector:
                owned = self._owned.get((kind, namespace, selector.partition("=")[2]), ())
                found = [kept[namespace, name][1] for name in sorted(owned)]
            else:
                found = [text for (where, _), (_, text) in sorted(kept.items()) if where == namespace]
        return tuple(_read(kind, text) for text in found)

    def _fact(self, kind: Kind, name: str) -> Object | None:
        now = self._clock()
        known = self._facts.get((kind, name))
        believed = LABELS_BELIEVED_SECONDS if kind is NODE else BELIEVED_SECONDS
        if known is None or now - known[0] >= believed:
            known = self._facts[kind, name] = now, self._kube.find(kind, None, name)
        return known[1]

    # what is kept

    def _put(self, kind: Kind, place: Place, item: Mapping[str, Any]) -> None:
        owner, text = _owner(kind, item), _text(item)
        before = self._kept[kind].get(place)
        if before == (owner, text):
            return
        self._drop(kind, place)
        self._kept[kind][place] = owner, text
        self._owned.setdefault((kind, place[0], owner), set()).add(place[1])
        self._changed(place[0], owner)

    def _drop(self, kind: Kind, place: Place) -> None:
        if (before := self._kept[kind].pop(place, None)) is None:
            return
        names = self._owned[kind, place[0], before[0]]
        names.discard(place[1])
        if not names:
            del self._owned[kind, place[0], before[0]]
        self._changed(place[0], before[0])
        if kind is CLUSTER:
            self._changes.pop(Key(*place), None)
            self._routes.pop(Key(*place), None)

    def _changed(self, namespace: str, owner: str) -> None:
        self._serial += 1
        self._changes[Key(namespace, owner)] = self._serial


def _place(item: Mapping[str, Any]) -> Place:
    meta = item["metadata"]
    return meta.get("namespace", ""), meta["name"]


def _owner(kind: Kind, item: Mapping[str, Any]) -> str:
    if kind is CLUSTER:
        return str(item["metadata"]["name"])
    if kind in (OPERATION, USER):
        return str((item.get("spec") or {}).get("clusterName", ""))
    return str((item["metadata"].get("labels") or {}).get(CLUSTER_LABEL, ""))


def _text(item: Mapping[str, Any]) -> bytes:
    meta = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    return json.dumps({**item, "metadata": meta}, separators=(",", ":")).encode()


def _read(kind: Kind, text: bytes) -> Object:
    """With its kind and version, which the server leaves out of lists."""
    return {"apiVersion": kind.api, "kind": kind.kind, **json.loads(text)}
