"""An immutable map that is cheap to change: 256 plain dicts, of which a change copies one.

A commit changes one or two entries of maps that may hold a million. Copying a whole dict would make a commit cost the
size of the cluster; here it costs a 256th of it, and two images share every shard that neither changed, which also
makes the difference between them cheap to find. The shard comes from a CRC of the key, never from `hash()`: that is
seeded anew in every process, and the order of iteration - insertion order within ascending shards - must be the same
everywhere for records and tests to be repeatable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Generic, TypeVar
from zlib import crc32

Key = TypeVar("Key", bound="str | bytes")
Value = TypeVar("Value")
Default = TypeVar("Default")

SHARDS: Final = 256


def _shard_of(key: str | bytes) -> int:
    return crc32(key.encode() if isinstance(key, str) else key) & (SHARDS - 1)


class ShardedMap(Mapping[Key, Value], Generic[Key, Value]):
    """Read side. Made empty or by `ShardedMapBuilder.freeze`; never changes."""

    __slots__ = ("_shards", "_size")

    def __init__(self, shards: Sequence[dict[Key, Value]] | None = None, size: int = 0) -> None:
        self._shards: Sequence[dict[Key, Value]] = ({},) * SHARDS if shards is None else shards
        self._size = size

    def __getitem__(self, key: Key) -> Value:
        return self._shards[_shard_of(key)][key]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, (str, bytes)) and key in self._shards[_shard_of(key)]

    def __iter__(self) -> Iterator[Key]:
        for shard in self._shards:
            yield from shard

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"ShardedMap({dict(self)!r})"

    def changes_since(self, before: ShardedMap[Key, Value]) -> Iterator[tuple[Key, Value | None, Value | None]]:
        """Every key whose value is not the same object as in `before`: (key, old or None, new or None)."""
        for mine, theirs in zip(self._shards, before._shards, strict=True):
            if mine is theirs:
                continue
            for key in theirs:
                if key not in mine:
                    yield key, theirs[key], None
            for key, value in mine.items():
                old = theirs.get(key)
                if old is not value:
                    yield key, old, value

    def builder(self) -> ShardedMapBuilder[Key, Value]:
        return ShardedMapBuilder(self)


class ShardedMapBuilder(Generic[Key, Value]):
    """Write side: starts as a map, copies a shard when it is first written."""

    __slots__ = ("_base", "_owned", "_shards", "_size", "_view")

    def __init__(self, base: ShardedMap[Key, Value]) -> None:
        self._base = base
        self._view: ShardedMap[Key, Value] | None = None
        self._shards = list(base._shards)
        self._owned: set[int] = set()
        self._size = len(base)

    def get(self, key: Key) -> Value | None:
        return self._shards[_shard_of(key)].get(key)

    def __contains__(self, key: Key) -> bool:
        return key in self._shards[_shard_of(key)]

    def __setitem__(self, key: Key, value: Value) -> None:
        shard = self._writable(key)
        before = len(shard)
        shard[key] = value
        if len(shard) != before:
            self._grow(1)

    def __delitem__(self, key: Key) -> None:
        del self._writable(key)[key]
        self._grow(-1)

    def _grow(self, by: int) -> None:
        self._size += by
        if self._view is not None:
            self._view._size = self._size

    def pop(self, key: Key) -> Value | None:
        """Remove and return; None when absent."""
        found = self.get(key)
        if found is not None:
            del self[key]
        return found

    def view(self) -> ShardedMap[Key, Value]:
        """The map as it is now; it changes with the next write, and nobody may hold it beyond the next `freeze`."""
        if self._view is None:
            self._view = ShardedMap(self._shards, self._size)
        return self._view

    def freeze(self) -> ShardedMap[Key, Value]:
        if not self._owned:
            return self._base
        frozen = ShardedMap(tuple(self._shards), self._size)
        self._base, self._owned = frozen, set()  # Only now: who failed to freeze still has its changes.
        return frozen

    def _writable(self, key: Key) -> dict[Key, Value]:
        index = _shard_of(key)
        if index not in self._owned:
            self._shards[index] = dict(self._shards[index])
            self._owned.add(index)
        return self._shards[index]
