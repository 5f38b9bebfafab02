"""What ACLs permit and deny, found by who asks: few look-ups for a question, however many ACLs are about others.

Of each principal is known what patterns of resources say of him (`Subject`): whoever asks about one resource looks up
the literal patterns of its name and of `*`, and the beginnings of its name that are as long as some prefixed pattern of
his is. Beside that lies of each pattern what it says of everybody: for changes, and for who asks whether there is any.

Principals and patterns lie in 256 plain dicts of which a change copies one, as in `sharded`; here the dict comes from
`hash()`, which a name computes once: nobody may rely on the order of what is iterated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

Hosts = Mapping[str, int]
"""By host: a bit for each operation that is permitted, and one `DENIED` bits higher for each that is denied."""
Rights = Mapping[str, Hosts]
"""By principal."""
DENIED: Final = 16
LITERAL: Final = 3
PREFIXED: Final = 4
EVERY_NAME: Final = "*"
SHARDS: Final = 256
FEW: Final = 200
"""So many patterns that name one principal are copied for each change of them."""

Said = tuple[str, Hosts]
"""The pattern as `acls.Pattern.key` writes it, and what it says of one principal."""
Lengths = dict[int, int]
"""How many prefixed patterns have a name of this length."""


class _Spread:
    """What patterns of one kind say, by their names: one dict, or many where there is much, of which a change copies
    those that it touches. It never changes.
    """

    __slots__ = ("mask", "parts", "size")

    def __init__(self, parts: tuple[dict[str, Said], ...] = ({},), size: int = 0) -> None:
        self.parts = parts
        self.mask = len(parts) - 1
        """A name is in the part with the number `hash(name) & mask`."""
        self.size = size

    def changed(self, changes: Mapping[str, Said | None]) -> _Spread:
        if not changes:
            return self
        spread = self if self.mask or self.size + len(changes) <= FEW else self._wide()
        parts, own, size = [*spread.parts], set[int](), spread.size
        for name, said in changes.items():
            part = hash(name) & spread.mask
            if part not in own:
                own.add(part)
                parts[part] = dict(parts[part])
            size += (said is not None) - (name in parts[part])
            if said is None:
                parts[part].pop(name, None)
            else:
                parts[part][name] = said
        return _Spread(tuple(parts), size)

    def _wide(self) -> _Spread:
        parts: tuple[dict[str, Said], ...] = tuple({} for _ in range(SHARDS))
        for name, said in self.parts[0].items():
            parts[hash(name) & (SHARDS - 1)][name] = said
        return _Spread(parts, self.size)


class Subject:
    """What is said of one principal about resources of one type. It never changes."""

    __slots__ = ("_lengths", "_literal", "_prefixed")

    def __init__(self, literal: _Spread, prefixed: _Spread, lengths: Lengths) -> None:
        self._literal = literal
        self._prefixed = prefixed
        self._lengths = lengths

    def about(self, name: str) -> list[Said]:
        """Of each pattern that the resource matches, what it says of him."""
        literal, mask = self._literal.parts, self._literal.mask
        said = literal[hash(name) & mask].get(name)
        found = [] if said is None else [said]
        if name != EVERY_NAME:
            said = literal[hash(EVERY_NAME) & mask].get(EVERY_NAME)
            if said is not None:
                found.append(said)
        prefixed, mask, size = self._prefixed.parts, self._prefixed.mask, len(name)
        for length in self._lengths:
            if length <= size:
                begin = name[:length]
                said = prefixed[hash(begin) & mask].get(begin)
                if said is not None:
                    found.append(said)
        return found

    def patterns(self) -> Iterator[tuple[int, str, Hosts]]:
        for kind, spread in ((LITERAL, self._literal), (PREFIXED, self._prefixed)):
            for part in spread.parts:
                yield from ((kind, name, hosts) for name, (_, hosts) in part.items())

    def changed(self, changes: Mapping[tuple[int, str], Said | None]) -> Subject | None:
        """With other words in these patterns (kind, name); None when nothing is left."""
        lengths, begins = self._lengths, self._prefixed
        of_prefixes = {name: said for (kind, name), said in changes.items() if kind == PREFIXED}
        for name, said in of_prefixes.items():
            by = (said is not None) - (name in begins.parts[hash(name) & begins.mask])
            lengths = _counted(lengths, len(name), by)
        literal = self._literal.changed({name: said for (kind, name), said in changes.items() if kind != PREFIXED})
        prefixed = begins.changed(of_prefixes)
        return Subject(literal, prefixed, lengths) if literal.size or prefixed.size else None


_NOBODY: Final = Subject(_Spread(), _Spread(), {})
_Subjects = tuple[dict[tuple[str, int], Subject], ...]
_Names = tuple[dict[str, Rights], ...]
_NONE: Final[_Names] = ({},) * SHARDS
_NO_SUBJECTS: Final[_Subjects] = ({},) * SHARDS
_Change = tuple[int, int, str]
"""Type of resource, kind and name of a pattern."""


class RightsImage:
    """Read side. It never changes."""

    __slots__ = ("_lengths", "_names", "_subjects")

    def __init__(
        self,
        names: Mapping[tuple[int, int], _Names] | None = None,
        lengths: Mapping[int, Lengths] | None = None,
        subjects: _Subjects = _NO_SUBJECTS,
    ) -> None:
        self._names: Mapping[tuple[int, int], _Names] = names or {}
        """By type of resource and kind of pattern."""
        self._lengths: Mapping[int, Lengths] = lengths or {}
        self._subjects = subjects

    def subject(self, principal: str, resource_type: int) -> Subject | None:
        return self._subjects[hash(principal) & 255].get((principal, resource_type))

    def is_any_about(self, resource_type: int, name: str) -> bool:
        """Whether some ACL is about the resource, whoever it names."""
        literal = self._names.get((resource_type, LITERAL), _NONE)
        prefixed = self._names.get((resource_type, PREFIXED), _NONE)
        if any(each in literal[hash(each) & 255] for each in (name, EVERY_NAME)):
            return True
        begins = (name[:length] for length in self._lengths.get(resource_type, ()) if length <= len(name))
        return any(begin in prefixed[hash(begin) & 255] for begin in begins)

    def changed(self, changes: Mapping[_Change, Rights | None]) -> RightsImage:
        """With other rights about these patterns; None: no ACL is about it any more."""
        if not changes:
            return self
        names, lengths = dict(self._names), dict(self._lengths)
        copied: dict[tuple[int, int], tuple[list[dict[str, Rights]], set[int]]] = {}
        said: dict[tuple[str, int], dict[tuple[int, str], Said | None]] = {}
        for (resource_type, kind, name), rights in changes.items():
            of = resource_type, kind
            shards, own = copied.setdefault(of, ([*names.get(of, _NONE)], set()))
            shard = hash(name) & 255
            if shard not in own:
                own.add(shard)
                shards[shard] = dict(shards[shard])
            before = shards[shard].pop(name, None)
            if rights is not None:
                shards[shard][name] = rights
            if kind == PREFIXED:
                by = (rights is not None) - (before is not None)
                lengths[resource_type] = _counted(lengths.get(resource_type, {}), len(name), by)
            pattern = f"{resource_type}:{kind}:{name}"
            for principal, hosts in _differing(before or {}, rights or {}):
                of_him = said.setdefault((principal, resource_type), {})
                of_him[kind, name] = None if hosts is None else (pattern, hosts)
        names |= {of: tuple(shards) for of, (shards, _) in copied.items()}
        return RightsImage(names, lengths, _with(self._subjects, said))


def _differing(before: Rights, now: Rights) -> Iterator[tuple[str, Hosts | None]]:
    """The principals of whom something else is said now, and what."""
    yield from ((principal, hosts) for principal, hosts in now.items() if before.get(principal) != hosts)
    yield from ((principal, None) for principal in before if principal not in now)


def _with(subjects: _Subjects, said: Mapping[tuple[str, int], Mapping[tuple[int, str], Said | None]]) -> _Subjects:
    shards, own = [*subjects], set[int]()
    for of, changes in said.items():
        shard = hash(of[0]) & 255
        if shard not in own:
            own.add(shard)
            shards[shard] = dict(shards[shard])
        now = shards[shard].pop(of, _NOBODY).changed(changes)
        if now is not None:
            shards[shard][of] = now
    return tuple(shards)


def _counted(lengths: Lengths, length: int, by: int) -> Lengths:
    if not by:
        return lengths
    found = dict(lengths)
    count = found.pop(length, 0) + by
    return found | {length: count} if count > 0 else found
