"""What ACLs permit and deny, found by who asks: few look-ups for a question, however many ACLs are about others.

Of each principal is known what patterns of resources say of him (`Subject`): whoever asks about one resource looks up
the literal patterns of its name and of `*`, and the beginnings of its name that are as long as some prefixed pattern of
his is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Generic, TypeVar

Hosts = Mapping[str, int]
"""By host: a bit for each operation that is permitted, and one `DENIED` bits higher for each that is denied."""
DENIED: Final = 16
LITERAL: Final = 3
PREFIXED: Final = 4
EVERY_NAME: Final = "*"
EVERYBODY: Final = "User:*"
SHARDS: Final = 256
FEW: Final = 200
"""So many entries are copied for each change of one of them."""

Said = tuple[str, Hosts]
"""The pattern as `acls.Pattern.key` writes it, and what it says of one principal."""
Lengths = Mapping[int, int]
"""How many prefixed patterns have a name of this length."""
Change = tuple[int, int, str]
"""Type of resource, kind and name of a pattern."""
Value = TypeVar("Value")


class Spread(Generic[Value]):
    """A map by name: one dict, or 256 where there is much, of which a change copies those that it touches. It never
    changes. As `sharded`, but the dict comes from `hash()`, which a name computes once: nobody may rely on the order.
    """

    __slots__ = ("get", "mask", "parts", "size")

    def __init__(self, parts: tuple[dict[str, Value], ...] = ({},), size: int = 0) -> None:
        self.parts = parts
        self.mask = len(parts) - 1
        """A name is in the part with the number `hash(name) & mask`."""
        self.size = size
        self.get: Callable[[str], Value | None] = _among(parts) if self.mask else parts[0].get
        """Of a name; the dict's own where there is one, because every decision looks up several."""

    def changed(self, changes: Mapping[str, Value | None]) -> Spread[Value]:
        """None: without this name."""
        if not changes:
            return self
        spread = self if self.mask or self.size + len(changes) <= FEW else self._wide()
        parts, own, size = [*spread.parts], set[int](), spread.size
        for name, value in changes.items():
            part = hash(name) & spread.mask
            if part not in own:
                own.add(part)
                parts[part] = dict(parts[part])
            size += (value is not None) - (name in parts[part])
            if value is None:
                parts[part].pop(name, None)
            else:
                parts[part][name] = value
        return Spread(tuple(parts), size)

    def _wide(self) -> Spread[Value]:
        parts: tuple[dict[str, Value], ...] = tuple({} for _ in range(SHARDS))
        for name, value in self.parts[0].items():
            parts[hash(name) & (SHARDS - 1)][name] = value
        return Spread(parts, self.size)


def _among(parts: tuple[Mapping[str, Value], ...]) -> Callable[[str], Value | None]:
    mask = len(parts) - 1

    def get(name: str) -> Value | None:
        return parts[hash(name) & mask].get(name)

    return get


class Subject:
    """What is said of one principal about resources of one type. It never changes."""

    __slots__ = ("_lengths", "_literal", "_prefixed")

    def __init__(self, literal: Spread[Said], prefixed: Spread[Said], lengths: Lengths) -> None:
        self._literal = literal
        self._prefixed = prefixed
        self._lengths = lengths

    def about(self, name: str) -> list[Said]:
        """Of each pattern that the resource matches, what it says of him."""
        literal, prefixed, size = self._literal.get, self._prefixed.get, len(name)
        said = literal(name)
        found = [] if said is None else [said]
        if name != EVERY_NAME:
            said = literal(EVERY_NAME)
            if said is not None:
                found.append(said)
        for length in self._lengths:
            if length <= size:
                said = prefixed(name[:length])
                if said is not None:
                    found.append(said)
        return found

    def patterns(self) -> Iterator[tuple[int, str, Hosts]]:
        for kind, spread in ((LITERAL, self._literal), (PREFIXED, self._prefixed)):
            for part in spread.parts:
                yield from ((kind, name, hosts) for name, (_, hosts) in part.items())

    def changed(self, changes: Mapping[tuple[int, str], Said | None]) -> Subject | None:
        """With other words in these patterns (kind, name); None when nothing is left."""
        lengths = self._lengths
        of_prefixes = {name: said for (kind, name), said in changes.items() if kind == PREFIXED}
        for name, said in of_prefixes.items():
            lengths = counted(lengths, len(name), (said is not None) - (self._prefixed.get(name) is not None))
        literal = self._literal.changed({name: said for (kind, name), said in changes.items() if kind != PREFIXED})
        prefixed = self._prefixed.changed(of_prefixes)
        return Subject(literal, prefixed, lengths) if literal.size or prefixed.size else None


_NOBODY: Final = Subject(Spread(), Spread(), {})
_NOTHING: Final[Mapping[int, Subject]] = {}


class RightsImage:
    """Read side: principals, and by type of resource what is said of them. It never changes."""

    __slots__ = ("_everybody", "_subjects")

    def __init__(self, subjects: Spread[Mapping[int, Subject]]) -> None:
        self._subjects = subjects
        self._everybody = subjects.get(EVERYBODY) or _NOTHING

    def subjects(self, principal: str, resource_type: int) -> list[Subject]:
        """He, and everybody: those of whom anything is said about resources of the type."""
        found = []
        own = self._subjects.get(principal)
        if own is not None and (subject := own.get(resource_type)) is not None:
            found.append(subject)
        if (subject := self._everybody.get(resource_type)) is not None:
            found.append(subject)
        return found

    def changed(self, changes: Mapping[str, Mapping[Change, Hosts | None]]) -> RightsImage:
        """With other words of these principals in these patterns; None: a pattern does not name him any more."""
        now = {principal: self._with(principal, said) or None for principal, said in changes.items()}
        return RightsImage(self._subjects.changed(now))

    def _with(self, principal: str, changes: Mapping[Change, Hosts | None]) -> Mapping[int, Subject]:
        by_type: dict[int, dict[tuple[int, str], Said | None]] = {}
        for (resource_type, kind, name), hosts in changes.items():
            said = None if hosts is None else (f"{resource_type}:{kind}:{name}", hosts)
            by_type.setdefault(resource_type, {})[kind, name] = said
        found = {**(self._subjects.get(principal) or {})}
        for resource_type, of_type in by_type.items():
            subject = found.pop(resource_type, _NOBODY).changed(of_type)
            if subject is not None:
                found[resource_type] = subject
        return found


def counted(lengths: Lengths, length: int, by: int) -> Lengths:
    """With so many more of this length."""
    if not by:
        return lengths
    found = dict(lengths)
    count = found.pop(length, 0) + by
    return found | {length: count} if count > 0 else found
