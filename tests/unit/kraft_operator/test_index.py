"""What the index shows of events and lists that come in any order, and how long a look at a cluster waits for the next
one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kraft_operator.index import BELIEVED_SECONDS, LABELS_BELIEVED_SECONDS, WATCHED, Index
from kraft_operator.keys import CLUSTER_LABEL, Key
from kraft_operator.kube import CLUSTER, NODE, OPERATION, POD, VOLUME, Kind, NotFound, Object, Unreachable
from kraft_operator.memory import LONGEST_PAUSE, Memory

pytestmark = pytest.mark.unit

KEY = Key("n", "c")
OF_C = f"{CLUSTER_LABEL}=c"


def pod(name: str, version: int = 1, cluster: str = "c", namespace: str = "n") -> Object:
    labels = {CLUSTER_LABEL: cluster} if cluster else {}
    meta = {
        "name": name,
        "namespace": namespace,
        "labels": labels,
        "resourceVersion": str(version),
        "managedFields": [1],
    }
    return {"kind": "Pod", "metadata": meta}


class Server:
    """Lists what it has; `meanwhile` happens between a list's question and its answer."""

    def __init__(self, *items: Object) -> None:
        self.items = {POD: list(items)}
        self.asked: list[str] = []
        self.meanwhile: Callable[[], None] = lambda: None
        self.down = False

    def list(self, kind: Kind, namespace: str | None, selector: str = "") -> tuple[Object, ...]:
        if self.down:
            raise Unreachable(0, "nobody answers")
        if kind is OPERATION:
            raise NotFound(404, "no such kind")
        self.asked.append(f"{kind.plural} {selector}")
        found = tuple(each for each in self.items.get(kind, ()) if namespace in (None, each["metadata"]["namespace"]))
        if kind is POD:
            self.meanwhile()
        return found

    def find(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        self.asked.append(f"{kind.kind} {name}")
        return {"metadata": {"name": name}}


def index(server: Server, clock: Callable[[], float] = lambda: 0.0) -> Index:
    kube: Any = server
    return Index(kube, clock)


def pods(found: Index) -> list[tuple[str, str]]:
    return [(each["metadata"]["name"], each["metadata"]["resourceVersion"]) for each in found.list(POD, "n", OF_C)]


def test_before_everything_was_listed_once_it_is_not_complete() -> None:
    server = Server(pod("a"))
    server.down, found = True, index(server)
    found.note(POD, "ADDED", pod("b"))
    with pytest.raises(Unreachable):
        found.resync(())
    assert not found.complete
    server.down = False
    found.resync(())
    assert found.complete
    assert pods(found) == [("a", "1")]


def test_a_list_finds_what_no_event_told() -> None:
    server = Server(pod("a"), pod("b"), pod("elsewhere", namespace="m"))
    found = index(server)
    found.resync(())
    server.items[POD] = [pod("b", 2), pod("c")]
    found.resync(("n",))
    assert pods(found) == [("b", "2"), ("c", "1")]
    assert len(found.list(POD, "m", OF_C)) == 1  # not asked about, so not gone


def test_what_an_event_says_while_a_list_is_under_way_stays() -> None:
    server = Server(pod("changed"), pod("deleted"), pod("same"))
    found = index(server)
    found.resync(())

    def meanwhile() -> None:
        found.note(POD, "MODIFIED", pod("changed", 2))
        found.note(POD, "DELETED", pod("deleted"))
        found.note(POD, "ADDED", pod("new", 7))

    server.meanwhile = meanwhile
    found.resync(())
    assert pods(found) == [("changed", "2"), ("new", "7"), ("same", "1")]
    server.meanwhile, server.items[POD] = lambda: None, [pod("same")]
    found.resync(())
    assert pods(found) == [("same", "1")]


def test_an_object_belongs_to_the_cluster_that_its_label_names_now() -> None:
    found = index(Server())
    found.note(POD, "ADDED", pod("a"))
    found.note(POD, "MODIFIED", pod("a", 2, cluster="d"))
    assert pods(found) == []
    assert len(found.list(POD, "n", f"{CLUSTER_LABEL}=d")) == 1


def test_who_reads_an_object_cannot_change_it_for_others_and_it_is_kept_without_managed_fields() -> None:
    found = index(Server())
    found.note(POD, "ADDED", pod("a"))
    found.list(POD, "n", OF_C)[0]["metadata"]["labels"].clear()
    read = found.find(POD, "n", "a")
    assert read is not None
    assert read["metadata"]["labels"] == {CLUSTER_LABEL: "c"}
    assert "managedFields" not in read["metadata"]
    assert read["apiVersion"] == "v1"


def test_only_what_changes_is_a_change_of_its_cluster() -> None:
    found = index(Server())
    seen = []
    for type_, item in (
        ("ADDED", pod("a")), ("MODIFIED", pod("a")), ("MODIFIED", pod("a", 2)), ("ADDED", pod("b", cluster="d")),
        ("DELETED", pod("a", 2)), ("DELETED", pod("a", 2)),
    ):  # fmt: skip
        found.note(POD, type_, item)
        seen.append(found.changes(KEY))
    assert [later != earlier for earlier, later in zip([0, *seen], seen, strict=False)] == [
        True,
        False,
        True,
        False,
        True,
        False,
    ]


def test_a_resync_asks_once_for_each_kind_and_names_the_clusters() -> None:
    server = Server()
    server.items[CLUSTER] = [{"metadata": {"name": "c", "namespace": "n"}}]
    assert index(server).resync(()) == (KEY,)
    assert len(server.asked) == len(WATCHED) - 1  # one kind is not installed
    assert f"pods {CLUSTER_LABEL}" in server.asked


@pytest.mark.parametrize(
    ("kind", "seconds"), [(NODE, LABELS_BELIEVED_SECONDS), (VOLUME, BELIEVED_SECONDS)], ids=["a node", "a volume"]
)
def test_what_is_not_watched_is_believed_for_a_while(kind: Kind, seconds: float) -> None:
    """Of a node for a minute: who was told to label it waits for the condition."""
    server, now = Server(), [0.0]
    found = index(server, lambda: now[0])
    for now[0] in (0.0, seconds - 1, seconds, seconds + 1):
        assert found.find(kind, None, "m") == {"metadata": {"name": "m"}}
    assert server.asked == [f"{kind.kind} m"] * 2
    assert LABELS_BELIEVED_SECONDS <= 60


def test_looks_at_a_cluster_that_does_not_change_come_with_growing_pauses() -> None:
    memory, now, pauses = Memory("uid"), 0.0, []
    for _ in range(60):
        pauses.append(memory.pause(7, wrote=False, now=now))
        now += pauses[-1]
    assert pauses[0] == 1.0
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_PAUSE
    assert all(pause <= 1.0 + 0.11 * sum(pauses[:count]) for count, pause in enumerate(pauses))  # never late by much
    assert memory.pause(8, wrote=False, now=now) == 1.0  # an event
    assert memory.pause(8, wrote=False, now=now + 100) == 10.0
    assert memory.pause(8, wrote=True, now=now + 101) == 1.0
