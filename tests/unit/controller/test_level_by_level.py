"""A cluster of an old release is raised through every metadata.version that Kafka 4.3.1 knows, from 3.3-IV3 to 4.3-IV0.

At each level what the controller writes is what nodes of that level can read, and a snapshot says all of the image.
The levels below are those of `MetadataVersion` in Kafka's sources.
"""

from __future__ import annotations

import pytest

from controller_runtime.controller.feature_updates import SUPPORTED
from controller_runtime.identifiers import NodeId
from controller_runtime.metadata.features import (
    LATEST_PRODUCTION_LEVEL,
    METADATA_VERSIONS,
    MINIMUM_LEVEL,
    VersionedRecord,
    bootstrap_records,
)
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.records import decode_record, encode_record
from controller_runtime.metadata.replay import replay
from controller_runtime.metadata.snapshot import snapshot_records
from controller_runtime.node.quorum.snapshots import SnapshotConfig
from controller_runtime.parts.effects import Respond
from controller_runtime.parts.events import ConnectionId, ConnectionInfo, RequestId, RequestReceived
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from controller_runtime.protocol.messages.alter_user_scram_credentials_response import AlterUserScramCredentialsResponse
from controller_runtime.protocol.messages.controller_registration_request import ControllerRegistrationRequest, Feature
from controller_runtime.protocol.messages.controller_registration_response import ControllerRegistrationResponse
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from controller_runtime.protocol.messages.update_features_response import UpdateFeaturesResponse
from controller_runtime.values import replace
from support.nodes.controller_world import World, uuid
from support.nodes.lone_controller import LoneController, own_config

pytestmark = pytest.mark.unit

LEVELS = range(MINIMUM_LEVEL, LATEST_PRODUCTION_LEVEL + 1)
VERSIONS = {
    "RegisterBrokerRecord": ((30, 4), (17, 3), (8, 2), (7, 1)),
    "PartitionRecord": ((23, 2), (17, 1), (7, 0)),
    "PartitionChangeRecord": ((23, 2), (17, 1), (7, 0)),
}
SINCE = {"UserScramCredentialRecord": 11, "RegisterControllerRecord": 15, "BeginTransactionRecord": 13}


def raise_to(level: int) -> UpdateFeaturesRequest:
    key = FeatureUpdateKey(feature="metadata.version", max_version_level=level, upgrade_type=1)
    return UpdateFeaturesRequest(feature_updates=(key,))


def read_again(records: list[VersionedRecord]) -> MetadataImage:
    builder = MetadataImage.empty().builder()
    for record, version in records:
        replay(builder, decode_record(encode_record(record, version))[0])
    return builder.freeze()


def live(world: World, level: int) -> None:
    """What happens in a cluster: brokers come and go, topics, configurations, credentials, controllers."""
    world.start_broker(level)
    assert world.create(f"of-{level}", partitions=2).error_code == 0
    assert world.heartbeat(level, want_fence=True).is_fenced
    assert not world.heartbeat(level).is_fenced
    value = AlterableConfig(name="retention.ms", value=str(level))
    topic = AlterConfigsResource(resource_type=2, resource_name=f"of-{level}", configs=(value,))
    world.decide(IncrementalAlterConfigsRequest(resources=(topic,)))
    user = ScramCredentialUpsertion(
        name=f"user-{level}", mechanism=1, iterations=4096, salt=b"salt", salted_password=b"p" * 32
    )
    said = world.ask(AlterUserScramCredentialsRequest(upsertions=(user,)), AlterUserScramCredentialsResponse)
    assert (said.results[0].error_code == 0) is (level >= SINCE["UserScramCredentialRecord"])
    supported = tuple(
        Feature(name=name, min_supported_version=levels.minimum, max_supported_version=levels.maximum)
        for name, levels in SUPPORTED.items()
    )
    registration = ControllerRegistrationRequest(
        controller_id=2, incarnation_id=uuid("start", level), features=supported
    )
    registered = world.ask(registration, ControllerRegistrationResponse)
    assert (registered.error_code == ErrorCode.UNSUPPORTED_VERSION) is (level < SINCE["RegisterControllerRecord"])


def test_at_every_level_only_what_it_knows_is_written_and_a_snapshot_says_all_of_it() -> None:
    """IMG-01, IMG-03: and nothing is lost at a level that the cluster came to by upgrades."""
    world = World(level=MINIMUM_LEVEL)
    kinds: set[str] = set()
    for level in LEVELS:
        if level > MINIMUM_LEVEL:
            assert world.ask(raise_to(level), UpdateFeaturesResponse).error_code == 0
        assert world.image.features.metadata_version == level
        start = len(world.log)
        live(world, level)
        for record, version in world.log[start:]:
            name = type(record).__name__
            kinds.add(name)
            assert level >= SINCE.get(name, 0), f"{name} at {METADATA_VERSIONS[level - 1].name}"
            wanted = next((number for since, number in VERSIONS.get(name, ()) if level >= since), 0)
            assert version == wanted, f"{name} at {METADATA_VERSIONS[level - 1].name}"
        losses: list[str] = []
        assert read_again(list(snapshot_records(world.image, losses.append))) == world.image
        assert losses == []
    assert {*VERSIONS, "UserScramCredentialRecord", "RegisterControllerRecord", "ConfigRecord"} <= kinds


def ask(controller: LoneController, level: int) -> UpdateFeaturesResponse:
    controller.outgoing.clear()
    connection = ConnectionInfo(ConnectionId(1), "CONTROLLER")
    controller.feed(RequestReceived(RequestId(1), connection, ApiKey.UPDATE_FEATURES, 1, "client", raise_to(level)))
    controller.run(0.2)
    (answer,) = (each.body for each in controller.outgoing if isinstance(each, Respond))
    assert isinstance(answer, UpdateFeaturesResponse)
    return answer


def test_a_disk_of_an_old_release_is_started_and_raised_level_by_level() -> None:
    """At each level the node is started anew, from its snapshot and its log."""
    keeping = SnapshotConfig(max_interval_ms=500)
    old = own_config(NodeId(1), uuid("start", 1), keeping, dynamic=True)
    assert old.controller is not None
    first = replace(old.controller.decisions, bootstrap_records=tuple(bootstrap_records("3.3-IV3")))
    config = replace(old, controller=replace(old.controller, decisions=first))
    controller = LoneController(config=config)
    controller.run(0.8)
    for level in LEVELS:
        if level > MINIMUM_LEVEL:
            assert ask(controller, level).error_code == 0
        controller.run(0.8)
        before = controller.node.image
        assert before.features.metadata_version == level
        assert (NodeId(1) in before.cluster.controllers) is (level >= SINCE["RegisterControllerRecord"])
        assert controller.node.meta.replica.log.latest_snapshot is not None
        controller = LoneController(controller.disk, keeping, started_at=controller.now + 1)
        controller.run(0.8)
        assert controller.node.image.features == before.features
