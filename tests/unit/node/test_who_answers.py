"""Only the active controller decides; whoever is not says who is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controller_runtime.controller.service import SERVED_BY_ACTIVE
from controller_runtime.identifiers import NodeId
from controller_runtime.parts.api_table import CONTROLLER, served
from controller_runtime.protocol.api_keys import ApiKey, ListenerType, api, request_class, response_class
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.framing import encode_request
from controller_runtime.protocol.json_form import to_json
from controller_runtime.protocol.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.default_principal_data import DefaultPrincipalData
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.envelope_response import EnvelopeResponse
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.schema import Message
from support.apache_kafka.probes import Quorum
from support.simulation.fleet import Fleet

pytestmark = pytest.mark.unit

THREE = (NodeId(1), NodeId(2), NodeId(3))
ASKED: dict[int, Message] = {
    ApiKey.CREATE_TOPICS: CreateTopicsRequest(
        topics=(CreatableTopic(name="x", num_partitions=1, replication_factor=1),)
    ),
    ApiKey.DELETE_TOPICS: DeleteTopicsRequest(topics=(DeleteTopicState(name="x"),)),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: IncrementalAlterConfigsRequest(
        resources=(
            AlterConfigsResource(resource_type=4, configs=(AlterableConfig(name="message.max.bytes", value="2000"),)),
        )
    ),
    ApiKey.ALLOCATE_PRODUCER_IDS: AllocateProducerIdsRequest(broker_id=1),
}
"""Requests with something in them; of the other kinds an empty one does."""


@pytest.fixture(scope="module")
def quorum() -> Quorum:
    made = Quorum(1, Fleet(voters=THREE, observers=(), dynamic=True))
    for node in THREE:
        made.boot(node)
    assert made.run(20.0, lambda: any(m.node is not None and m.node.is_active for m in made.machines.values()))
    made.run(made.time + 3.0)
    return made


def active(quorum: Quorum) -> NodeId:
    return next(m.id for m in quorum.machines.values() if m.node is not None and m.node.is_active)


def codes(shown: object) -> Iterator[int]:
    """Every error code in an answer."""
    if isinstance(shown, dict):
        for name, value in shown.items():
            if name == "errorCode":
                yield value
            yield from codes(value)
    elif isinstance(shown, list):
        for each in shown:
            yield from codes(each)


@pytest.mark.parametrize("key", sorted(CONTROLLER), ids=lambda key: ApiKey(key).name)
def test_every_row_of_the_table_is_answered_by_a_controller(quorum: Quorum, key: ApiKey) -> None:
    """By the active one; a request with nothing in it does. None but that is closed or fails inside."""
    machine = quorum.machines[active(quorum)]
    assert machine.node is not None
    failures = dict(machine.node.meta.faults.counts)
    answer = quorum.probe(machine.id, key, served(ListenerType.CONTROLLER)[key].highest, request_class(key)())
    assert isinstance(answer, response_class(key))
    assert machine.node.meta.faults.counts == failures


@pytest.mark.parametrize("key", [ApiKey.METADATA, ApiKey.DESCRIBE_CLIENT_QUOTAS])
def test_what_has_no_row_ends_the_connection(quorum: Quorum, key: ApiKey) -> None:
    assert quorum.probe(active(quorum), key, api(key).versions.highest, request_class(key)()) is None


@pytest.mark.parametrize("key", sorted(SERVED_BY_ACTIVE))
def test_a_standby_refuses_what_only_the_active_controller_may_decide_and_names_it(quorum: Quorum, key: int) -> None:
    """QC-01: 41 with a leader hint; nothing is written and nothing decided."""
    leader = active(quorum)
    standby = next(node for node in THREE if node != leader)
    machine = quorum.machines[standby]
    assert machine.node is not None
    assert machine.node.controller is not None
    before, operations = machine.node.image, machine.node.controller.counters.operations
    body = ASKED.get(key, request_class(ApiKey(key))())
    version = api(ApiKey(key)).versions.highest
    answer = quorum.probe(standby, key, version, body)
    assert answer is not None
    shown = to_json(answer, version)
    found = set(codes(shown))
    assert found <= {41, 0}, shown
    assert 41 in found or key not in ASKED
    if "The active" in str(shown):
        assert f"The active controller appears to be node {leader}." in str(shown)
    assert machine.node.controller.counters.operations == operations
    assert machine.node.image.topics == before.topics
    assert machine.node.image.configs == before.configs


def test_a_standby_answers_for_its_own_loggers(quorum: Quorum) -> None:
    """KIP-919: they are no matter of the cluster."""
    standby = next(node for node in THREE if node != active(quorum))
    config = AlterableConfig(name="no.such", value="DEBUG")
    resource = AlterConfigsResource(resource_type=8, resource_name=str(standby), configs=(config,))
    answer = quorum.probe(
        standby, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, IncrementalAlterConfigsRequest(resources=(resource,))
    )
    assert "Logger no.such does not exist!" in str(answer)


def test_the_hint_is_in_the_answer_of_those_that_have_a_place_for_words(quorum: Quorum) -> None:
    """QC-01."""
    leader = active(quorum)
    standby = next(node for node in THREE if node != leader)
    for key in (ApiKey.CREATE_TOPICS, ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.DELETE_TOPICS):
        version = api(key).versions.highest
        answer = quorum.probe(standby, key, version, ASKED[key])
        assert answer is not None
        assert f"The active controller appears to be node {leader}." in str(to_json(answer, version)), key


def test_what_a_broker_forwards_to_a_standby_makes_it_look_for_the_controller(quorum: Quorum) -> None:
    """QC-01, API-03: the envelope itself says 41."""
    standby = next(node for node in THREE if node != active(quorum))
    principal = DefaultPrincipalData(type="User", name="ANONYMOUS")
    for key, body in ASKED.items():
        if key == ApiKey.ALLOCATE_PRODUCER_IDS:
            continue
        inner = encode_request(body, api(ApiKey(key)).versions.highest, 7, "client", with_length=False)
        envelope = EnvelopeRequest(
            request_data=inner, request_principal=b"\0\0" + encode(principal, 0), client_host_address=bytes(4)
        )
        answer = quorum.probe(standby, ApiKey.ENVELOPE, 0, envelope)
        assert isinstance(answer, EnvelopeResponse)
        assert (answer.error_code, answer.response_data) == (41, None), key
