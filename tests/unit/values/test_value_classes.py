"""Our cheap `dataclass` beside the standard one: whatever the runtime uses of it behaves the same."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar, cast

import pytest

from controller_runtime import values
from controller_runtime.values import dataclass, field, replace

T = TypeVar("T")


def declare(decorator: Callable[..., Any], make_field: Callable[..., Any]) -> dict[str, Any]:
    """The same classes under either decorator."""

    @decorator(frozen=True, slots=True, order=True)
    class Point:
        """A point."""

        KIND: ClassVar[str] = "point"
        x: int
        y: int = 2

        @property
        def sum(self) -> int:
            return self.x + self.y

    @decorator(frozen=True, slots=True)
    class Wide:
        a: int
        b: int
        c: tuple[int, ...]
        d: str = "d"
        e: dict[str, int] = make_field(default_factory=dict)
        hidden: list[int] = make_field(default_factory=list, compare=False, repr=False)

    @decorator(frozen=True, slots=True)
    class Empty:
        pass

    @decorator(slots=True)
    class Counter:
        count: int = 0
        seen: list[int] = make_field(default_factory=list)

        def add(self) -> None:
            self.count += 1

    @decorator(slots=True)
    class Late:
        start: int
        end: int = make_field(init=False)

        def __post_init__(self) -> None:
            self.end = self.start + 1

    @decorator(slots=True, eq=False)
    class Itself:
        x: int

    @decorator(frozen=True, slots=True)
    class Box(Generic[T]):
        a: T
        b: int = 0
        c: int = 0
        d: int = 0
        e: int = 0

    return {c.__name__: c for c in (Point, Wide, Empty, Counter, Late, Itself, Box)}


OURS = declare(dataclass, field)
STANDARD = declare(dataclasses.dataclass, dataclasses.field)


@pytest.fixture(params=["ours", "standard"])
def made(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Both: a sentence that is wrong about the standard decorator is wrong."""
    return OURS if request.param == "ours" else STANDARD


def test_values_are_given_by_position_by_name_or_by_default(made: dict[str, Any]) -> None:
    assert made["Point"](1) == made["Point"](x=1, y=2)
    assert made["Point"](1, 3).sum == 4
    wide = made["Wide"](1, 2, c=(3,))
    assert (wide.a, wide.b, wide.c, wide.d, wide.e) == (1, 2, (3,), "d", {})


def test_wrong_arguments_are_type_errors(made: dict[str, Any]) -> None:
    for arguments, named in (((), {}), ((1, 2, 3), {}), ((1,), {"z": 1}), ((1,), {"x": 1})):
        with pytest.raises(TypeError):
            made["Point"](*arguments, **named)


def test_frozen_classes_refuse_writing_and_deleting_and_have_no_dict(made: dict[str, Any]) -> None:
    for value in (made["Point"](1), made["Wide"](1, 2, ())):
        name = type(value).__match_args__[0]
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, 5)
        with pytest.raises(dataclasses.FrozenInstanceError):
            delattr(value, name)
        with pytest.raises((AttributeError, TypeError)):
            value.other = 5
        assert not hasattr(value, "__dict__")


def test_others_can_be_written_but_get_no_new_attributes(made: dict[str, Any]) -> None:
    counter = made["Counter"]()
    counter.add()
    assert counter.count == 1
    with pytest.raises(AttributeError):
        counter.other = 1
    assert counter.seen is not made["Counter"]().seen


def test_equality_is_by_class_and_compared_fields(made: dict[str, Any]) -> None:
    assert made["Wide"](1, 2, (), hidden=[1]) == made["Wide"](1, 2, (), hidden=[2])
    assert made["Wide"](1, 2, ()) != made["Wide"](1, 2, (), "x")
    assert made["Point"](1) != (1, 2)
    assert made["Empty"]() == made["Empty"]()
    assert made["Empty"]() != made["Point"](1)
    assert made["Itself"](1) != made["Itself"](1)


def test_frozen_values_hash_by_value_and_others_not_at_all(made: dict[str, Any]) -> None:
    assert len({made["Point"](1), made["Point"](1, 2), made["Point"](2)}) == 2
    assert len({made["Itself"](1), made["Itself"](1)}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(made["Counter"]())


def test_order_is_that_of_the_fields(made: dict[str, Any]) -> None:
    point = made["Point"]
    assert sorted([point(2, 1), point(1, 9), point(1, 3)]) == [point(1, 3), point(1, 9), point(2, 1)]
    assert point(1) <= point(1)
    assert point(1) >= point(1)
    assert point(2) > point(1)
    with pytest.raises(TypeError):
        assert point(1) < 3


def test_repr_names_class_and_shown_fields(made: dict[str, Any]) -> None:
    assert repr(made["Wide"](1, 2, ())).endswith("Wide(a=1, b=2, c=(), d='d', e={})")
    assert repr(made["Empty"]()).endswith("Empty()")


def test_patterns_take_fields_by_position(made: dict[str, Any]) -> None:
    point, late = made["Point"], made["Late"]
    match point(1, 7):
        case point(x, y):
            assert (x, y) == (1, 7)
        case _:
            pytest.fail("no match")
    assert late.__match_args__ == ("start",)


def test_post_init_runs_and_fields_without_init_are_set_there(made: dict[str, Any]) -> None:
    assert made["Late"](4).end == 5
    with pytest.raises(TypeError):
        made["Late"](4, 5)


def test_generic_classes_make_instances(made: dict[str, Any]) -> None:
    assert made["Box"](1) == made["Box"](1)


def test_values_survive_copying(made: dict[str, Any]) -> None:
    for value in (made["Point"](1, 5), made["Wide"](1, 2, (3,)), made["Counter"](4, [5])):
        assert copy.copy(value) == value
        assert copy.deepcopy(value) == value


@dataclass(frozen=True, slots=True)
class Pickled:
    x: int
    y: str = "y"


def test_values_survive_pickling() -> None:
    assert pickle.loads(pickle.dumps(Pickled(1))) == Pickled(1, "y")


def test_class_attributes_and_docstrings_stay(made: dict[str, Any]) -> None:
    assert made["Point"].KIND == "point"
    assert made["Point"].__doc__ == "A point."


@pytest.mark.parametrize("replacing", [replace, dataclasses.replace], ids=["ours", "standard"])
def test_replace_changes_what_is_named(made: dict[str, Any], replacing: Callable[..., Any]) -> None:
    assert replacing(made["Point"](1, 5), x=2) == made["Point"](2, 5)
    assert replacing(made["Wide"](1, 2, (3,)), d="z") == made["Wide"](1, 2, (3,), "z")
    with pytest.raises(TypeError):
        replacing(made["Point"](1, 5), z=2)


def test_the_standard_functions_know_our_classes() -> None:
    point = OURS["Point"](1, 5)
    assert dataclasses.is_dataclass(point)
    assert [each.name for each in dataclasses.fields(point)] == ["x", "y"]
    assert dataclasses.asdict(cast("Any", point)) == {"x": 1, "y": 5}
    assert [each.compare for each in dataclasses.fields(OURS["Wide"])] == [True] * 5 + [False]


def test_a_value_class_extends_no_other_value_class() -> None:
    with pytest.raises(AssertionError, match="not inherited"):

        @dataclass(frozen=True, slots=True)
        class _More(Pickled):
            z: int = 0


def test_declaring_compiles_nothing() -> None:
    """What start-up time rests on: no source is compiled before the first instance."""
    script = (
        "import builtins, sys\n"
        "from controller_runtime.values import dataclass\n"
        "calls = []\n"
        "sys.addaudithook(lambda name, args: calls.append(args) if name == 'compile' else None)\n"
        "@dataclass(frozen=True, slots=True)\nclass Point:\n    x: 'int'\n    y: 'int' = 2\n"
        "before = len(calls)\nPoint(1)\nPoint(2)\n"
        "print(before, len(calls), 'dataclasses' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "1", "False"]
    assert values.dataclass is dataclass
