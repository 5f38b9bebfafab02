"""Log directories of a broker, by its own word: what lies in each, what is coming, and which take no new replicas."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

EVERY: Final = "*"
"""As `cordoned.log.dirs` names all of them."""

Replica = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True, slots=True)
class Directory:
    path: str
    replicas: Mapping[Replica, int] = field(default_factory=dict)
    """What lies there, to its bytes."""
    coming: Mapping[Replica, int] = field(default_factory=dict)
    """What is on its way there from another directory of the broker."""
    usable: int = -1
    """Bytes that are free; -1 where the broker does not say."""
    broken: str = ""
    """Why the broker cannot use it."""

    @property
    def empty(self) -> bool:
        return not (self.replicas or self.coming or self.broken)


@dataclass(frozen=True, slots=True)
class Directories:
    """Of one broker."""

    each: tuple[Directory, ...]
    closed: tuple[str, ...] | None = ()
    """What its `cordoned.log.dirs` names; None where its release knows no cordons."""

    def at(self, path: str) -> Directory | None:
        return next((each for each in self.each if each.path == path), None)

    def takes_nothing(self, path: str) -> bool:
        return self.closed is not None and (path in self.closed or EVERY in self.closed)

    def proves_empty(self, path: str) -> bool:
        """Nothing lies there, and nothing new comes (V1). A directory that the broker does not have holds nothing."""
        found = self.at(path)
        return found is None or (found.empty and self.takes_nothing(path))


def moving_off(seen: Directories, replicas: Mapping[Replica, str]) -> Directories:
    """These replicas are on their way, each to the directory that is named."""
    sizes = {key: size for each in seen.each for key, size in each.replicas.items()}
    told = {key: path for key, path in replicas.items() if key in sizes}
    return replace(
        seen,
        each=tuple(
            replace(
                each, coming={**each.coming, **{key: sizes[key] for key, path in told.items() if path == each.path}}
            )
            for each in seen.each
        ),
    )


def moved_off(seen: Directories, paths: Collection[str]) -> Directories:
    """What was on its way has arrived, on a broker that has these directories."""
    come = {key for each in seen.each for key in each.coming}
    found = (each for each in seen.each if each.path in paths)
    left = (
        replace(each, replicas={**{k: v for k, v in each.replicas.items() if k not in come}, **each.coming}, coming={})
        for each in found
    )
    return replace(seen, each=tuple(left))
