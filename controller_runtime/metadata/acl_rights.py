"""What ACLs permit and deny, by the pattern of resources that they are about: found by few look-ups for a resource.

Whoever asks about one resource looks up the literal patterns of its name and of `*`, and the beginnings of its name
that are as long as some prefixed pattern is. Names lie in 256 plain dicts of which a change copies one, as in
`sharded`; here the dict comes from `hash()`, which a name computes once: nobody may rely on the order of what is
iterated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

Rights = Mapping[str, Mapping[str, int]]
"""By principal and host: a bit for each operation that is permitted, and one `DENIED` bits higher for each that is
denied.
"""
DENIED: Final = 16
LITERAL: Final = 3
PREFIXED: Final = 4
EVERY_NAME: Final = "*"
SHARDS: Final = 256

Said = tuple[str, Rights]
"""The pattern as `acls.Pattern.key` writes it, and what is said of its resources."""
Names = tuple[dict[str, Said], ...]
Lengths = Mapping[int, int]
"""How many prefixed patterns have a name of this length."""
_NONE: Final[Names] = ({},) * SHARDS
_NO_LENGTHS: Final[Lengths] = {}


class RightsImage:
    """Read side. It never changes."""

    __slots__ = ("_lengths", "_names")

    def __init__(
        self, names: Mapping[tuple[int, int], Names] | None = None, lengths: Mapping[int, Lengths] | None = None
    ) -> None:
        self._names: Mapping[tuple[int, int], Names] = names or {}
        """By type of resource and kind of pattern."""
        self._lengths: Mapping[int, Lengths] = lengths or {}

    def about(self, resource_type: int, name: str) -> list[Said]:
        """Of each pattern that the resource matches, what it permits and denies."""
        literal = self._names.get((resource_type, LITERAL), _NONE)
        said = literal[hash(name) & 255].get(name)
        found = [] if said is None else [said]
        if name != EVERY_NAME:
            said = literal[hash(EVERY_NAME) & 255].get(EVERY_NAME)
            if said is not None:
                found.append(said)
        prefixed = self._names.get((resource_type, PREFIXED), _NONE)
        size = len(name)
        for length in self._lengths.get(resource_type, _NO_LENGTHS):
            if length <= size:
                begin = name[:length]
                said = prefixed[hash(begin) & 255].get(begin)
                if said is not None:
                    found.append(said)
        return found

    def of_type(self, resource_type: int) -> Iterator[tuple[int, str, Rights]]:
        """Of every pattern of resources of this type."""
        for kind in (LITERAL, PREFIXED):
            for shard in self._names.get((resource_type, kind), _NONE):
                yield from ((kind, name, rights) for name, (_, rights) in shard.items())

    def changed(self, changes: Mapping[tuple[int, int, str], Rights | None]) -> RightsImage:
        """With other rights about these patterns (type, kind, name); None: no ACL is about it any more."""
        if not changes:
            return self
        names, lengths = dict(self._names), dict(self._lengths)
        copied: dict[tuple[int, int], tuple[list[dict[str, Said]], set[int]]] = {}
        for (resource_type, kind, name), rights in changes.items():
            of = resource_type, kind
            shards, own = copied.setdefault(of, ([*names.get(of, _NONE)], set()))
            shard = hash(name) & 255
            if shard not in own:
                own.add(shard)
                shards[shard] = dict(shards[shard])
            by = (rights is not None) - (name in shards[shard])
            if rights is None:
                shards[shard].pop(name, None)
            else:
                shards[shard][name] = f"{resource_type}:{kind}:{name}", rights
            if kind == PREFIXED and by:
                lengths[resource_type] = _counted(lengths.get(resource_type, _NO_LENGTHS), len(name), by)
        names |= {of: tuple(shards) for of, (shards, _) in copied.items()}
        return RightsImage(names, lengths)


def _counted(lengths: Lengths, length: int, by: int) -> Lengths:
    found = dict(lengths)
    count = found.pop(length, 0) + by
    return found | {length: count} if count > 0 else found
