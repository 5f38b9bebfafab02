"""Raising and lowering finalized feature levels (UpdateFeatures): all of a request or nothing.

A level is granted when this controller knows it, every registered broker and controller supports it, every voter that
the configuration names has registered, what it depends on is there, and, for metadata.version going down, no level in
between changed a record. kraft.version is raft's: the decision names the level, consensus says beforehand whether it
can, and a NoOp record after its own gives the reply an offset to wait for. Eligible leader replicas come with
min.insync.replicas as a matter of the whole cluster: the value of all brokers is recorded, those of single ones go
(KIP-966).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from controller_runtime.answers.refused import Refused
from controller_runtime.controller.configs import MIN_INSYNC_REPLICAS
from controller_runtime.controller.decision import Decision, RequestContext
from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.cluster import VersionRange
from controller_runtime.metadata.configs import ALL_BROKERS, BROKER
from controller_runtime.metadata.features import (
    CONTROLLER_REGISTRATION,
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    FEATURES,
    KRAFT_VERSION,
    LATEST_PRODUCTION_LEVEL,
    METADATA_VERSION,
    METADATA_VERSIONS,
    MINIMUM_LEVEL,
    FeatureError,
    VersionedRecord,
    check_dependencies,
)
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.sharded import ShardedMap
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from controller_runtime.protocol.messages.update_features_response import UpdatableFeatureResult, UpdateFeaturesResponse

UPGRADE: Final = 1
SAFE_DOWNGRADE: Final = 2
UNSAFE_DOWNGRADE: Final = 3
FIRST_VERSION_WITHOUT_RESULTS: Final = 2

SUPPORTED: Final[Mapping[str, VersionRange]] = {
    METADATA_VERSION: VersionRange(MINIMUM_LEVEL, LATEST_PRODUCTION_LEVEL),
    **{feature.name: VersionRange(0, feature.latest_production_level) for feature in FEATURES.values()},
}
"""What a node of this version supports, and registers with."""


def update_features(
    image: MetadataImage,
    request: UpdateFeaturesRequest,
    context: RequestContext,
    node_id: NodeId,
    min_insync_replicas: str,
    static_voters: Iterable[NodeId] = (),
) -> Decision:
    """`min_insync_replicas`: what this node's file says, else the default. `static_voters`: who it says votes."""
    voters = sorted(static_voters)
    api_version, kraft_version = context.api_version, context.kraft_version
    raised: int | None = None
    proposed = {**image.features.levels}
    records: list[VersionedRecord] = []
    for update in {one.feature: one for one in request.feature_updates}.values():  # of a feature's two updates the last
        upgrade_type = _upgrade_type(update, api_version)
        try:
            _check(image, update, upgrade_type, node_id=node_id, kraft_version=kraft_version, voters=voters)
        except Refused as error:
            all_fail = "The update failed for all features since the following feature had an error: "
            raise Refused(error.code, f"{all_fail}{error.message}") from error
        if update.feature == KRAFT_VERSION:
            raised = None if update.max_version_level == kraft_version else update.max_version_level
            continue
        if image.features.level(update.feature) == update.max_version_level:
            continue  # asked for what is there
        proposed[update.feature] = update.max_version_level
        if update.feature == ELIGIBLE_LEADER_REPLICAS_VERSION and update.max_version_level > 0:
            records += _one_least_for_all(image, min_insync_replicas)
        records.append((FeatureLevelRecord(name=update.feature, feature_level=update.max_version_level), 0))
    try:
        check_dependencies(proposed)
    except FeatureError as error:
        raise Refused(ErrorCode.INVALID_UPDATE_VERSION, str(error)) from error
    results = (
        ()
        if api_version >= FIRST_VERSION_WITHOUT_RESULTS
        else tuple(UpdatableFeatureResult(feature=it.feature, error_message="NONE") for it in request.feature_updates)
    )
    if raised is not None and context.kraft_upgrade_fault is not None:
        raise Refused(ErrorCode.INVALID_UPDATE_VERSION, context.kraft_upgrade_fault)
    response = UpdateFeaturesResponse(error_message=None, results=results)
    if request.validate_only:
        return Decision(response)
    if raised is not None:
        records.append((NoOpRecord(), 0))
    return Decision(response, tuple(records), kraft_version=raised)


def _one_least_for_all(image: MetadataImage, otherwise: str) -> Iterator[VersionedRecord]:
    if MIN_INSYNC_REPLICAS not in image.configs.of(BROKER, ALL_BROKERS):
        yield _least(ALL_BROKERS, otherwise)
    nodes = image.configs.by_type.get(BROKER, ShardedMap())
    for name in sorted(name for name, values in nodes.items() if name != ALL_BROKERS and MIN_INSYNC_REPLICAS in values):
        yield _least(name, None)


def _least(broker: str, value: str | None) -> VersionedRecord:
    return ConfigRecord(resource_type=BROKER, resource_name=broker, name=MIN_INSYNC_REPLICAS, value=value), 0


def _upgrade_type(update: FeatureUpdateKey, api_version: int) -> int:
    if api_version > 0:
        return update.upgrade_type
    return SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE


def _check(
    image: MetadataImage,
    update: FeatureUpdateKey,
    upgrade_type: int,
    node_id: NodeId,
    kraft_version: int,
    voters: Iterable[NodeId],
) -> None:
    """Raise Refused with Kafka's words unless this one update may be made."""
    name, level = update.feature, update.max_version_level
    current = kraft_version if name == KRAFT_VERSION else image.features.level(name)
    fault = (
        _fault_of_form(level, upgrade_type)
        or _unsupported(image, name, level, node_id)
        or _unknown(image, node_id, voters)
        or _fault_of_direction(current, level, upgrade_type)
    )
    if fault is None and name == METADATA_VERSION:
        _check_metadata_downgrade(current, level, upgrade_type)
    if fault is None and name == KRAFT_VERSION and level < current:
        fault = "Can't downgrade the version of this feature."
    if fault is not None:
        why = f"Invalid update version {level} for feature {name}. {fault}"
        raise Refused(ErrorCode.INVALID_UPDATE_VERSION, why)


def _fault_of_form(level: int, upgrade_type: int) -> str | None:
    if upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        return "The controller does not support the given upgrade type."
    if level < 0:
        return "A feature version cannot be less than 0."
    return None


def _fault_of_direction(current: int, level: int, upgrade_type: int) -> str | None:
    if level < current and upgrade_type == UPGRADE:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
            "downgrade."
        )
    if level > current and upgrade_type != UPGRADE:
        return "Can't downgrade to a newer version."
    return None


def _unsupported(image: MetadataImage, name: str, level: int, node_id: NodeId) -> str | None:
    if name not in SUPPORTED:
        if level == 0:
            return f"Feature {name} not found."
        return f"Local controller {node_id} does not support this feature."
    if level not in SUPPORTED[name]:
        return f"Local controller {node_id} only supports versions {SUPPORTED[name]}"
    for who, supported in _nodes(image):
        levels = supported.get(name)
        if level != 0 and (levels is None or level not in levels):
            return (
                f"{who} does not support this feature." if levels is None else f"{who} only supports versions {levels}"
            )
    return None


def _unknown(image: MetadataImage, node_id: NodeId, voters: Iterable[NodeId]) -> str | None:
    """A voter of a static quorum that has not said what it supports, where it could have: an older node may return."""
    if image.features.metadata_version < CONTROLLER_REGISTRATION:
        return None
    silent = (voter for voter in voters if voter != node_id and voter not in image.cluster.controllers)
    found = next(silent, None)
    return None if found is None else f"controller {found} has not registered, and may not support this feature"


def _nodes(image: MetadataImage) -> Iterator[tuple[str, Mapping[str, VersionRange]]]:
    for broker in image.cluster.brokers.values():
        yield f"Broker {broker.id}", broker.features
    if image.features.metadata_version >= CONTROLLER_REGISTRATION:
        for controller in image.cluster.controllers.values():
            yield f"Controller {controller.id}", controller.features


def _check_metadata_downgrade(current: int, level: int, upgrade_type: int) -> None:
    changed = any(version.did_change for version in METADATA_VERSIONS[level:current])
    fault = None
    if changed and upgrade_type == UNSAFE_DOWNGRADE:
        fault = "Unsafe metadata downgrade is not supported in this version."
    elif changed:
        fault = "Refusing to perform the requested downgrade because it might delete metadata information."
    if fault is not None:
        why = f"Unsupported metadata.version downgrade from {current} to {level}. {fault}"
        raise Refused(ErrorCode.INVALID_UPDATE_VERSION, why)
