"""The mutation run: what it changes, what it leaves alone, and that its explanations are of mutants that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import mutate
from tools.mutations import Module

pytestmark = pytest.mark.unit

SOURCE = '''
"""Words."""
LIMIT = 5


class Box:
    def holds(self, count: int = 3) -> bool:
        """Words."""
        assert count > 0, "a promise"
        return 0 < count <= LIMIT and not self.closed

    def __repr__(self) -> str:
        return "a" if 1 < 2 else "b"


def put(items, log):
    if items:
        log.note(f"{len(items) + 1} items")
        items.clear()
        raise ValueError("x" * (1 + 2))
    return max(1, 2)
'''


@pytest.fixture
def module(tmp_path: Path) -> Module:
    path = tmp_path / "box.py"
    path.write_text(SOURCE)
    return Module(tmp_path, path)


def test_each_change_is_named_by_its_function_and_by_what_stands_there_before_and_after(module: Module) -> None:
    names = [mutation.name.removeprefix("box.py::") for mutation in module.mutations]
    assert names == [
        "Box.holds: return 0 < count <= LIMIT and (not self.closed) -> return None",
        "Box.holds: 0 < count <= LIMIT and (not self.closed) -> 0 < count <= LIMIT or not self.closed",
        "Box.holds: 0 < count <= LIMIT -> 0 <= count <= LIMIT",
        "Box.holds: 0 < count <= LIMIT -> 0 < count < LIMIT",
        "Box.holds: 0 < count <= LIMIT -> 1 < count <= LIMIT",
        "Box.holds: not self.closed -> self.closed",
        "put: items -> not items",
        "put: items.clear() -> pass",
        "put: raise ValueError('x' * (1 + 2)) -> pass",
        "put: return max(1, 2) -> return None",
        "put: max(1, 2) -> min(1, 2)",
        "put: max(1, 2) -> max(2, 2)",
        "put: max(1, 2) -> max(1, 3)",
    ]


def test_a_mutant_is_the_code_of_its_function_and_leaves_the_next_one_alone(module: Module) -> None:
    def value(number: int) -> int | None:
        mutation = module.mutations[number]
        scope: dict[str, object] = {}
        exec(compile(SOURCE, "box.py", "exec"), scope)
        function = scope["put"]
        function.__code__ = module.code(mutation)  # type: ignore[attr-defined]
        return function([], None)  # type: ignore[operator, no-any-return]

    assert [value(number) for number in (9, 10, 11, 12, 10)] == [None, 1, 2, 3, 1]


def test_the_second_of_two_equal_changes_has_another_name(tmp_path: Path) -> None:
    path = tmp_path / "twice.py"
    path.write_text("def f(a):\n    a.go()\n    a.go()\n")
    assert [mutation.name for mutation in Module(tmp_path, path).mutations] == [
        "twice.py::f: a.go() -> pass",
        "twice.py::f: a.go() -> pass #2",
    ]


def test_explanations_are_read_with_their_reasons() -> None:
    text = "# words\n\nf.py::g: a -> b\n    Because\n    of that.\nf.py::g: a -> c\n"
    assert mutate.explanations(text) == {"f.py::g: a -> b": "Because of that.", "f.py::g: a -> c": ""}


def test_everything_that_is_explained_is_there_and_has_a_reason() -> None:
    explained = mutate.explanations(mutate.EXPLAINED.read_text())
    assert mutate.stale(explained, mutate.modules_of(mutate.FOLDERS)) == []
    assert [name for name, why in explained.items() if len(why) < 20] == []
