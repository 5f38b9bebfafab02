"""ACLs by their id and by the pattern of resources that they are about, so that neither a change nor a question costs
what all of them cost.

Whoever describes what is about one resource looks up the literal patterns of its name and of `*`, and each beginning of
its name among the prefixed ones. What they permit and deny is kept beside them, by the same changes (`acl_rights`); who
may do what is decided in `authorizer`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.acl_rights import (
    DENIED,
    EVERY_NAME,
    LITERAL,
    PREFIXED,
    Change,
    Hosts,
    Lengths,
    RightsImage,
    Spread,
    counted,
)
from controller_runtime.metadata.security import AccessControlEntry
from controller_runtime.metadata.sharded import ShardedMap, ShardedMapBuilder
from controller_runtime.values import dataclass

UNKNOWN: Final = 0
ANY: Final = 1
"""Of resource types, kinds of patterns, operations and permissions alike."""
RESOURCE_TYPES: Final = {2: "TOPIC", 3: "GROUP", 4: "CLUSTER", 5: "TRANSACTIONAL_ID", 6: "DELEGATION_TOKEN", 7: "USER"}
CLUSTER: Final = 4
MATCH: Final = 2
PATTERN_TYPES: Final = {LITERAL: "LITERAL", PREFIXED: "PREFIXED"}
OPERATIONS: Final = range(2, 16)
DENY: Final = 2
ALLOW: Final = 3
_LONG_NAME: Final = 300
"""Names of topics are shorter."""

Content = tuple[str, str, int, int]
"""(principal, host, operation, permission): what is said of the resources of a pattern."""


def content_of(acl: AccessControlEntry) -> Content:
    return acl.principal, acl.host, acl.operation, acl.permission_type


@dataclass(frozen=True, slots=True)
class Pattern:
    resource_type: int
    pattern_type: int
    name: str

    @property
    def key(self) -> str:
        return f"{self.resource_type}:{self.pattern_type}:{self.name}"


def pattern_of(acl: AccessControlEntry) -> Pattern:
    return Pattern(acl.resource_type, acl.pattern_type, acl.resource_name)


@dataclass(frozen=True, slots=True)
class AclFilter:
    """What DescribeAcls and DeleteAcls ask for; None and ANY leave open."""

    resource_type: int
    name: str | None
    pattern_type: int
    principal: str | None
    host: str | None
    operation: int
    permission_type: int

    def matches(self, acl: AccessControlEntry) -> bool:
        return (
            self.resource_type in (ANY, acl.resource_type)
            and self._matches_name(acl)
            and (self.principal is None or self.principal == acl.principal)
            and (self.host is None or self.host == acl.host)
            and self.operation in (ANY, acl.operation)
            and self.permission_type in (ANY, acl.permission_type)
        )

    def _matches_name(self, acl: AccessControlEntry) -> bool:
        if self.pattern_type not in (ANY, MATCH, acl.pattern_type):
            return False
        if self.name is None:
            return True
        if self.pattern_type != MATCH:
            return self.name == acl.resource_name
        if acl.pattern_type == LITERAL:
            return acl.resource_name in (self.name, EVERY_NAME)
        return self.name.startswith(acl.resource_name)

    def patterns(self) -> Iterator[Pattern] | None:
        """The only patterns that can match; None: any can, or too many to look each up."""
        if self.name is None or (self.pattern_type == MATCH and len(self.name) > _LONG_NAME):
            return None
        return self._patterns(self.name)

    def _patterns(self, name: str) -> Iterator[Pattern]:
        types = RESOURCE_TYPES if self.resource_type == ANY else (self.resource_type,)
        for resource_type in types:
            if self.pattern_type != MATCH:
                kinds = PATTERN_TYPES if self.pattern_type == ANY else (self.pattern_type,)
                yield from (Pattern(resource_type, kind, name) for kind in kinds)
                continue
            yield from (Pattern(resource_type, LITERAL, each) for each in dict.fromkeys((name, EVERY_NAME)))
            yield from (Pattern(resource_type, PREFIXED, name[:end]) for end in range(len(name) + 1))


class AclsImage(Mapping[Uuid, AccessControlEntry]):
    """Read side, by id; `about` is the other way in. It never changes."""

    __slots__ = ("_by_id", "_by_pattern", "_lengths", "rights")

    def __init__(
        self,
        by_id: ShardedMap[Uuid, AccessControlEntry] | None = None,
        by_pattern: ShardedMap[str, Mapping[Content, Uuid]] | None = None,
        lengths: Mapping[int, Lengths] | None = None,
        rights: RightsImage | None = None,
    ) -> None:
        self._by_id: ShardedMap[Uuid, AccessControlEntry] = ShardedMap() if by_id is None else by_id
        self._by_pattern: ShardedMap[str, Mapping[Content, Uuid]] = ShardedMap() if by_pattern is None else by_pattern
        self._lengths: Mapping[int, Lengths] = lengths or {}
        """Of the prefixed patterns, by type of resource."""
        self.rights = RightsImage(Spread()) if rights is None else rights
        """What they permit and deny."""

    def __getitem__(self, key: Uuid) -> AccessControlEntry:
        return self._by_id[key]

    def __iter__(self) -> Iterator[Uuid]:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)

    def __repr__(self) -> str:
        return f"AclsImage({dict(self)!r})"

    def about(self, pattern: Pattern) -> Mapping[Content, Uuid]:
        """What is said of exactly this pattern."""
        return self._by_pattern.get(pattern.key, {})

    def candidates(self, wanted: AclFilter) -> Iterator[AccessControlEntry | None]:
        """All that may match, and others; None for a look-up, so that whoever counts can count it."""
        patterns = wanted.patterns()
        if patterns is None:
            yield from self.values()
            return
        for pattern in patterns:
            yield None
            yield from (self[acl_id] for acl_id in self.about(pattern).values())

    def is_any_about(self, resource_type: int, name: str) -> bool:
        """Whether some ACL is about the resource, whoever it names."""
        begins = (name[:length] for length in self._lengths.get(resource_type, ()) if length <= len(name))
        keys = [Pattern(resource_type, LITERAL, each).key for each in (name, EVERY_NAME)]
        return any(key in self._by_pattern for key in keys) or any(
            Pattern(resource_type, PREFIXED, begin).key in self._by_pattern for begin in begins
        )

    def builder(self) -> AclsBuilder:
        return AclsBuilder(self._by_id, self._by_pattern, self._lengths, self.rights)


class AclsBuilder:
    """Write side: of the patterns that are touched, what is said of each is copied once."""

    __slots__ = ("_by_id", "_by_pattern", "_lengths", "_rights", "_touched")

    def __init__(
        self,
        by_id: ShardedMap[Uuid, AccessControlEntry],
        by_pattern: ShardedMap[str, Mapping[Content, Uuid]],
        lengths: Mapping[int, Lengths],
        rights: RightsImage,
    ) -> None:
        self._by_id: ShardedMapBuilder[Uuid, AccessControlEntry] = by_id.builder()
        self._by_pattern: ShardedMapBuilder[str, Mapping[Content, Uuid]] = by_pattern.builder()
        self._lengths = lengths
        self._rights = rights
        self._touched: dict[str, dict[Content, Uuid]] = {}

    def __setitem__(self, key: Uuid, acl: AccessControlEntry) -> None:
        self.pop(key)
        self._by_id[key] = acl
        self._said_of(acl)[content_of(acl)] = key

    def pop(self, key: Uuid) -> AccessControlEntry | None:
        """Remove and return; None when absent."""
        acl = self._by_id.pop(key)
        if acl is not None:
            said = self._said_of(acl)
            if said.get(content_of(acl)) == key:
                del said[content_of(acl)]
        return acl

    def _said_of(self, acl: AccessControlEntry) -> dict[Content, Uuid]:
        key = pattern_of(acl).key
        found = self._touched.get(key)
        if found is None:
            found = self._touched[key] = dict(self._by_pattern.get(key) or {})
        return found

    def freeze(self) -> AclsImage:
        changes: dict[str, dict[Change, Hosts | None]] = {}
        for key, said in self._touched.items():
            before = self._by_pattern.get(key) or {}
            resource_type, kind, name = _parsed(key)
            for principal, hosts in _differing(before, said):
                changes.setdefault(principal, {})[resource_type, kind, name] = hosts
            if kind == PREFIXED:
                lengths = self._lengths.get(resource_type, {})
                by = bool(said) - bool(before)
                self._lengths = {**self._lengths, resource_type: counted(lengths, len(name), by)}
            if said:
                self._by_pattern[key] = said
            elif before:
                self._by_pattern.pop(key)
        self._touched, self._rights = {}, self._rights.changed(changes)
        return AclsImage(self._by_id.freeze(), self._by_pattern.freeze(), self._lengths, self._rights)


def _parsed(key: str) -> Change:
    resource_type, kind, name = key.split(":", 2)
    return int(resource_type), int(kind), name


def _differing(before: Mapping[Content, Uuid], now: Mapping[Content, Uuid]) -> Iterator[tuple[str, Hosts | None]]:
    """The principals of whom a pattern says something else now, and what; None: it does not name them any more."""
    touched = {principal for principal, *_ in before.keys() ^ now.keys()}
    said: dict[str, dict[str, int]] = {}
    for principal, host, operation, permission in now:
        if principal in touched:
            bit = 1 << operation if 0 <= operation < DENIED else 0
            bits = bit << DENIED if permission == DENY else bit if permission == ALLOW else 0
            of = said.setdefault(principal, {})
            of[host] = of.get(host, 0) | bits
    yield from ((principal, said.get(principal)) for principal in touched)
