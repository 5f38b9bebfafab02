"""The changes between two sharded maps: what was added, exchanged and removed, and nothing else."""

from __future__ import annotations

import pytest

from controller_runtime.metadata.sharded import ShardedMap

pytestmark = pytest.mark.unit

NAMES = [f"topic-{number}" for number in range(1000)]


def changed(before: ShardedMap[str, str], put: dict[str, str], gone: tuple[str, ...] = ()) -> ShardedMap[str, str]:
    builder = before.builder()
    for key, value in put.items():
        builder[key] = value
    for key in gone:
        assert builder.pop(key) == before[key]
    return builder.freeze()


def test_what_was_added_exchanged_and_removed_is_found() -> None:
    before = changed(ShardedMap(), {name: name for name in NAMES})
    now = changed(before, {"new": "n", "topic-5": "other", "topic-6": before["topic-6"]}, gone=("topic-7", "topic-900"))
    assert {key: (old, new) for key, old, new in now.changes_since(before)} == {
        "new": (None, "n"),
        "topic-5": ("topic-5", "other"),
        "topic-7": ("topic-7", None),
        "topic-900": ("topic-900", None),
    }
    assert list(now.changes_since(now)) == []
    assert [key in now for key in ("topic-5", "topic-7", "new", 5, None)] == [True, False, True, False, False]
    assert len(now) == len(list(now)) == 999


def test_a_view_follows_its_builder_and_a_frozen_map_does_not() -> None:
    builder = changed(ShardedMap(), {"a": "1"}).builder()
    assert dict(builder.view()) == {"a": "1"}
    builder["b"] = "2"
    assert (dict(builder.view()), len(builder.view())) == ({"a": "1", "b": "2"}, 2)
    frozen = builder.freeze()
    builder["c"] = "3"
    del builder["a"]
    assert (dict(builder.view()), len(builder.view())) == ({"b": "2", "c": "3"}, 2)
    assert (dict(frozen), len(frozen)) == ({"a": "1", "b": "2"}, 2)
