"""A decision that fits into no batch is an error of its request; the controller goes on as if it had not been asked."""

from __future__ import annotations

import pytest

from controller_runtime.identifiers import NodeId
from controller_runtime.node.active import log_writer
from controller_runtime.parts.events import ConnectionId, ConnectionInfo, RequestId, RequestReceived
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.schema import Message
from support.nodes.controller_world import World
from support.nodes.lone_controller import CLUSTER_ID, LoneController

pytestmark = pytest.mark.unit


def ask(controller: LoneController, body: Message, key: ApiKey, version: int) -> Message:
    controller.outgoing.clear()
    connection = ConnectionInfo(ConnectionId(1), "CONTROLLER")
    controller.feed(RequestReceived(RequestId(1), connection, key, version, "client", body))
    controller.run(2)
    (answer,) = controller.outgoing
    return answer.body  # type: ignore[union-attr]


def settings(count: int, value: str) -> Message:
    configs = tuple(AlterableConfig(name=f"some.{n}", config_operation=0, value=value) for n in range(count))
    resource = AlterConfigsResource(resource_type=4, resource_name="", configs=configs)
    return IncrementalAlterConfigsRequest(resources=(resource,))


def test_configurations_beyond_kafkas_limit_of_a_batch_are_refused_and_none_is_set() -> None:
    """QC-06: what is atomic has to fit one batch."""
    controller = LoneController()
    controller.run(1)
    before, end = controller.node.image, controller.log.end_offset
    (refused,) = ask(controller, settings(270, "v" * 32_000), ApiKey.INCREMENTAL_ALTER_CONFIGS, 1).responses  # type: ignore[attr-defined]
    assert refused.error_code == ErrorCode.RECORD_LIST_TOO_LARGE
    assert "exceeds the maximum allowed batch size of 8388608" in refused.error_message
    assert controller.node.image.configs == before.configs
    assert controller.log.end_offset - end < 10, "nothing but records that say that it is alive"
    (done,) = ask(controller, settings(2, "v"), ApiKey.INCREMENTAL_ALTER_CONFIGS, 1).responses  # type: ignore[attr-defined]
    assert done.error_code == 0


def test_a_long_decision_that_fits_no_batch_is_refused_and_the_next_one_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    controller = LoneController()
    controller.run(1)
    registration = World().registration(101, cluster_id=CLUSTER_ID)
    ask(controller, registration, ApiKey.BROKER_REGISTRATION, 4)
    monkeypatch.setattr(log_writer, "MAX_ATOMIC_BYTES", 20_000)
    unfence(controller)
    for partitions, wanted in ((3000, ErrorCode.RECORD_LIST_TOO_LARGE), (3, 0)):
        topic = CreatableTopic(name=f"of-{partitions}", num_partitions=partitions, replication_factor=1)
        (made,) = ask(controller, CreateTopicsRequest(topics=(topic,)), ApiKey.CREATE_TOPICS, 7).topics  # type: ignore[attr-defined]
        assert made.error_code == wanted
        assert (controller.node.image.topics.named(topic.name) is None) == bool(wanted)


def unfence(controller: LoneController) -> None:
    broker = controller.node.image.cluster.brokers[NodeId(101)]
    beat = BrokerHeartbeatRequest(broker_id=101, broker_epoch=broker.epoch, current_metadata_offset=1 << 40)
    ask(controller, beat, ApiKey.BROKER_HEARTBEAT, 1)
