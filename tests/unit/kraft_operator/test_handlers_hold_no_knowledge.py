"""Handlers only put keys into the queue: the decorators that write annotations and finalizers do not occur."""

from __future__ import annotations

import ast
from pathlib import Path

import kopf
import pytest

from kraft_operator.handlers import children, clusters
from kraft_operator.handlers.memo import Memo
from kraft_operator.keys import Key
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


def test_every_event_ends_in_the_queue() -> None:
    queue = WorkQueue(lambda: 0.0, lambda: 0.5, Metrics())
    memo = Memo(queue)
    clusters.cluster_changed(namespace="n", name="a", memo=memo)
    assert queue.take() == Key("n", "a")
    children.child_changed(namespace="n", labels={"kraft.quorate.dev/cluster": "b"}, memo=memo)
    assert queue.take() == Key("n", "b")


def test_there_is_no_package_named_operator() -> None:
    assert not (PACKAGE.parent / "__init__.py").exists()
