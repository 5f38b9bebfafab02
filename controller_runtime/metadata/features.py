"""What each metadata.version and feature level means: levels, names, defaults, and the record versions they allow.

All of it is data about Apache Kafka 4.3.1. A level is a promise to every node of the cluster: a record may only be
written at a version which the finalized metadata.version allows (`record_version`), because an older node would stop at
it. kraft.version is listed here for its range, but it lives in the raft log as a control record and never in a
FeatureLevelRecord.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass, field

VersionedRecord = tuple[Message, int]
"""A record and the version at which it is written."""

METADATA_VERSION: Final = "metadata.version"
KRAFT_VERSION: Final = "kraft.version"
ELIGIBLE_LEADER_REPLICAS_VERSION: Final = "eligible.leader.replicas.version"


class FeatureError(ValueError):
    """A release, feature or level that cannot be used; the message is Apache Kafka's."""


class UnmetDependency(FeatureError):
    """A level needs a level of another feature that the set does not have."""


@dataclass(frozen=True, slots=True, order=True)
class MetadataVersion:
    """One level of metadata.version. `did_change`: its records cannot all be read by the level before it."""

    level: int
    name: str
    did_change: bool

    @property
    def release(self) -> str:
        """The release line that brought it: "4.0" of "4.0-IV3"."""
        return self.name.partition("-")[0]


_NAMES_AND_CHANGES: Final = (
    "3.0-IV1 y, 3.1-IV0 n, 3.2-IV0 y, 3.3-IV0 n, 3.3-IV1 y, 3.3-IV2 y, 3.3-IV3 y, 3.4-IV0 y, 3.5-IV0 n, "
    "3.5-IV1 n, 3.5-IV2 y, 3.6-IV0 n, 3.6-IV1 y, 3.6-IV2 y, 3.7-IV0 y, 3.7-IV1 n, 3.7-IV2 y, 3.7-IV3 n, "
    "3.7-IV4 n, 3.8-IV0 n, 3.9-IV0 n, 4.0-IV0 n, 4.0-IV1 y, 4.0-IV2 n, 4.0-IV3 n, 4.1-IV0 n, 4.1-IV1 n, "
    "4.2-IV0 n, 4.2-IV1 n, 4.3-IV0 y, 4.4-IV0 n"
)
METADATA_VERSIONS: Final = tuple(
    MetadataVersion(level, entry.split()[0], entry.endswith("y"))
    for level, entry in enumerate(_NAMES_AND_CHANGES.split(", "), start=1)
)
"""Every level that 4.3.1 knows, from 1; `METADATA_VERSIONS[level - 1]`."""

MINIMUM_LEVEL: Final = 7
LATEST_PRODUCTION_LEVEL: Final = 30

# The first level at which something may be written or asked for.
ZK_MIGRATION: Final = 8
SCRAM: Final = 11
METADATA_TRANSACTIONS: Final = 13
DELEGATION_TOKENS: Final = 14
CONTROLLER_REGISTRATION: Final = 15
DIRECTORY_ASSIGNMENT: Final = 17
ELR: Final = 23
CORDONED_LOG_DIRS: Final = 30


@dataclass(frozen=True, slots=True)
class Feature:
    """A finalizable feature beside metadata.version: its levels, and the metadata.version at which each becomes the
    default.
    """

    name: str
    latest_production_level: int
    default_since: Mapping[int, int]
    """Level -> first metadata.version level at which a new cluster gets it."""
    needs: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    """Level -> the levels of other features that it depends on."""

    def default_level(self, metadata_level: int) -> int:
        """The level of a cluster formatted at this metadata.version."""
        return max((level for level, since in self.default_since.items() if since <= metadata_level), default=0)


_DECLARED: Final = (
    Feature(ELIGIBLE_LEADER_REPLICAS_VERSION, 1, {1: 26}, {1: {METADATA_VERSION: ELR}}),
    Feature("group.version", 1, {1: 22}),
    Feature(KRAFT_VERSION, 1, {1: 21}),
    Feature("share.version", 1, {1: 28}),
    Feature("streams.version", 1, {1: 29}),
    Feature("transaction.version", 2, {1: 24, 2: 24}),
)
FEATURES: Final[Mapping[str, Feature]] = {feature.name: feature for feature in _DECLARED}
"""In the order of their names, as Kafka prints and writes them."""


def metadata_version(level: int) -> MetadataVersion:
    """The version of a level. Raises FeatureError for a level that 4.3.1 does not know."""
    if not 1 <= level <= len(METADATA_VERSIONS):
        raise FeatureError(
            f"No MetadataVersion with feature level {level}. Valid feature levels are "
            f"from 1 to {len(METADATA_VERSIONS)}."
        )
    return METADATA_VERSIONS[level - 1]


def supported_metadata_versions(*, unstable: bool = False) -> tuple[MetadataVersion, ...]:
    """The levels that a cluster may be formatted at, ascending."""
    return METADATA_VERSIONS[MINIMUM_LEVEL - 1 : None if unstable else LATEST_PRODUCTION_LEVEL]


def parse_release(release: str, *, unstable: bool = False) -> MetadataVersion:
    """Read "4.0-IV3", "4.0" (the newest level of that release) or "4.0.1". Raises FeatureError with Kafka's words."""
    line = ".".join(release.partition("-")[0].split(".")[:2])
    candidates = supported_metadata_versions(unstable=unstable)
    wanted = [v for v in candidates if v.name == release] or [
        v for v in candidates if "-" not in release and v.release == line
    ]
    if not wanted:
        names = ", ".join(version.name for version in candidates)
        raise FeatureError(f"Unknown metadata.version '{release}'. Supported metadata.version are: {names}")
    return wanted[-1]


def finalized_levels(level: int, overrides: Mapping[str, int] | None = None) -> dict[str, int]:
    """The levels of a new cluster by name, metadata.version first, kraft.version left out. Raises FeatureError as
    `kafka-storage` does.
    """
    chosen = dict(overrides or {})
    for name, wanted in chosen.items():
        if name not in FEATURES:
            raise FeatureError(f"Unsupported feature: {name}. Supported features are: {', '.join(FEATURES)}")
        latest = FEATURES[name].latest_production_level
        if not 0 <= wanted <= latest:
            raise FeatureError(f"No feature:{name} with feature level {wanted}")
    levels = {METADATA_VERSION: level} | {
        feature.name: chosen.get(feature.name, feature.default_level(level))
        for feature in FEATURES.values()
        if feature.name != KRAFT_VERSION
    }
    check_dependencies(levels)
    return {name: value for name, value in levels.items() if value > 0}


def check_dependencies(levels: Mapping[str, int]) -> None:
    """Raise FeatureError if a level in this proposed set needs a level that the set does not have."""
    for name, level in levels.items():
        needs = FEATURES[name].needs.get(level, {}) if name in FEATURES else {}
        for other, least in needs.items():
            if levels.get(other, 0) < least:
                raise UnmetDependency(f"{name} could not be set to {level} because it depends on {other} level {least}")


def bootstrap_records(
    release: str | None = None, features: Mapping[str, int] | None = None, *, unstable: bool = False
) -> tuple[VersionedRecord, ...]:
    """The first data records of a new cluster: what `kafka-storage format` writes to bootstrap.checkpoint, in its
    order.

    `features` may hold metadata.version as a level, but not beside a release. Raises FeatureError.
    """
    chosen = dict(features or {})
    level = chosen.pop(METADATA_VERSION, None)
    if release is not None and level is not None:
        raise FeatureError("Use --release-version or --feature metadata.version, not both.")
    if release is not None:
        level = parse_release(release, unstable=unstable).level
    level = LATEST_PRODUCTION_LEVEL if level is None else level
    if level not in {version.level for version in supported_metadata_versions(unstable=unstable)}:
        raise FeatureError(f"metadata.version {level} is not between {MINIMUM_LEVEL} and {LATEST_PRODUCTION_LEVEL}")
    return tuple(
        (FeatureLevelRecord(name=name, feature_level=value), 0)
        for name, value in finalized_levels(level, chosen).items()
    )


_RECORD_VERSIONS: Final[Mapping[str, tuple[tuple[int, int], ...]]] = {
    "RegisterBrokerRecord": ((CORDONED_LOG_DIRS, 4), (DIRECTORY_ASSIGNMENT, 3), (ZK_MIGRATION, 2), (7, 1)),
    "PartitionRecord": ((ELR, 2), (DIRECTORY_ASSIGNMENT, 1)),
    "PartitionChangeRecord": ((ELR, 2), (DIRECTORY_ASSIGNMENT, 1)),
}


def record_version(record_type: type[Message], metadata_level: int) -> int:
    """The version at which records of this type are written under a finalized metadata.version; 0 for types with one
    version.
    """
    for since, version in _RECORD_VERSIONS.get(record_type.__name__, ()):
        if metadata_level >= since:
            return version
    return 0
