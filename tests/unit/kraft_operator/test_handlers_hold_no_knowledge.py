"""Handlers only put keys into the queue: the decorators that write annotations and finalizers do not occur."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import kopf
import pytest

from kraft_operator.handlers import children, clusters, operations, users
from kraft_operator.handlers.memo import Memo
from kraft_operator.index import OF_CLUSTERS, WATCHED, Index
from kraft_operator.keys import CLUSTER_LABEL, Key
from kraft_operator.kube import CLUSTER, OPERATION, Kind
from kraft_operator.metrics import Metrics
from kraft_operator.work_queue import WorkQueue

pytestmark = pytest.mark.unit

PACKAGE = Path(clusters.__file__).parent.parent
ALLOWED = {"event", "startup", "login", "cleanup"}


def decorators_of_kopf() -> set[str]:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and ast.unparse(node).startswith("kopf."):
                found.add(ast.unparse(node))
    return found


def test_only_handlers_without_side_effects_are_used() -> None:
    used = {name.removeprefix("kopf.on.") for name in decorators_of_kopf() if name.startswith("kopf.on.")}
    assert used <= ALLOWED
    assert "event" in used
    assert not decorators_of_kopf() & {"kopf.timer", "kopf.daemon", "kopf.index", "kopf.adopt", "kopf.event"}


def test_kopf_itself_knows_no_handler_that_would_write() -> None:
    registry = kopf.get_default_registry()
    assert not list(registry._changing.get_all_handlers())
    assert not list(registry._spawning.get_all_handlers())
    assert list(registry._watching.get_all_handlers())


def memo() -> Memo:
    nothing: Any = None
    return Memo(WorkQueue(lambda: 0.0, lambda: 0.5, Metrics()), Index(nothing, lambda: 0.0))


def item(kind: Kind, name: str, **labels: str) -> dict[str, Any]:
    return {
        "kind": kind.kind,
        "metadata": {"namespace": "n", "name": name, "labels": labels},
        "spec": {"clusterName": "c"},
    }


async def test_every_event_ends_in_the_index_and_the_queue() -> None:
    found = memo()
    cluster = item(CLUSTER, "a")
    await clusters.cluster_changed(namespace="n", name="a", event={"type": None, "object": cluster}, memo=found)
    assert found.queue.take() == Key("n", "a")
    assert found.index.find(CLUSTER, "n", "a") == {"apiVersion": CLUSTER.api, **cluster}
    asked = item(OPERATION, "o")
    await operations.operation_changed(
        namespace="n", spec=asked["spec"], event={"type": "ADDED", "object": asked}, memo=found
    )
    assert found.queue.take() == Key("n", "c")
    for kind in OF_CLUSTERS:
        child = item(kind, "x", **{CLUSTER_LABEL: "b"})
        resource = kopf.Resource("", "v1", kind.plural)
        told: dict[str, Any] = {
            "namespace": "n",
            "labels": child["metadata"]["labels"],
            "resource": resource,
            "memo": found,
        }
        await children.child_changed(event={"type": "MODIFIED", "object": child}, **told)
        assert taken(found) == Key("n", "b")
        assert len(found.index.list(kind, "n", f"{CLUSTER_LABEL}=b")) == 1
        await children.child_changed(event={"type": "DELETED", "object": child}, **told)
        assert found.index.list(kind, "n", f"{CLUSTER_LABEL}=b") == ()
        assert taken(found) == Key("n", "b")


def taken(memo: Memo) -> Key | None:
    key = memo.queue.take()
    if key is not None:
        memo.queue.done(key, None)
    return key


def test_everything_that_is_indexed_is_watched() -> None:
    assert all((children, clusters, operations, users)), "they register their handlers as they are imported"
    watched = {str(each.selector) for each in kopf.get_default_registry()._watching.get_all_handlers()}
    for kind in WATCHED:
        assert any(kind.plural in each for each in watched), (kind, watched)


def test_there_is_no_package_named_operator() -> None:
    assert not (PACKAGE.parent / "__init__.py").exists()
