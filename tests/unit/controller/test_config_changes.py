"""Who may be given which configurations: this node, all brokers, others; asked directly, or through a broker."""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.configuration.settings import RULES
from controller_runtime.controller.configs import MAX_RECORDS
from controller_runtime.metadata.broker_configs import NodeRules, OwnConfigs, check_change, without_effect
from controller_runtime.metadata.configs import ConfigsBuilder, ConfigsImage
from controller_runtime.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from controller_runtime.protocol.messages.register_broker_record import RegisterBrokerRecord
from support.configs.questions import BROKER, GROUP, THERE, TOPIC, alter, answer_of, describe, one, several
from support.configs.world import ConfigWorld

pytestmark = pytest.mark.unit

KEY_STORE = "listener.name.external.ssl.keystore.location"


def codes(answer: Any) -> list[int]:
    return [row[2] for row in answer]


def test_any_node_is_given_its_key_store_and_this_node_no_other_security_of_a_listener() -> None:
    config_world = ConfigWorld()
    config_world.world.append([(RegisterBrokerRecord(broker_id=2, broker_epoch=99), 4)])
    client_auth = KEY_STORE.replace("keystore.location", "client.auth")
    for node, name, value, code in (
        ("2", KEY_STORE, "/x.jks", 0),
        ("2", client_auth, "none", 0),
        ("1", KEY_STORE, "/x.jks", 0),
        ("1", client_auth, "none", 40),
        ("+1", client_auth, "none", 40),
    ):
        answer = answer_of(config_world.ask(alter("c", one(BROKER, node, name, value))))
        assert codes(answer) == [code], (node, name)
    assert config_world.world.image.configs.of(BROKER, "1") == {KEY_STORE: "/x.jks"}
    assert codes(answer_of(config_world.ask(alter("c", one(BROKER, "", "log.flush.interval.ms", "1"))))) == [40]


def test_what_a_broker_refuses_and_what_it_forwards_become_one_answer_in_the_order_of_the_request() -> None:
    config_world = ConfigWorld()
    asked = alter(
        "b",
        one(BROKER, "1", "num.io.threads", "abc"),
        one(TOPIC, THERE, "retention.ms", "7"),
        one(BROKER, "", "log.dirs", "/x"),
        one(TOPIC, "nowhere", "retention.ms", "7"),
    )
    answer: Any = config_world.ask(asked)
    found = [(r.resource_type, r.resource_name, r.error_code) for r in answer.responses]
    assert found == [(BROKER, "1", 42), (TOPIC, THERE, 0), (BROKER, "", 42), (TOPIC, "nowhere", 3)]
    assert config_world.world.image.configs.of(TOPIC, THERE) == {"retention.ms": "7"}


def test_a_group_stays_within_what_the_file_allows_and_has_its_values_by_default() -> None:
    file = {"group.consumer.max.session.timeout.ms": "50000", "group.consumer.heartbeat.interval.ms": "7000"}
    config_world = ConfigWorld(file)
    for value, code in (("50000", 0), ("50001", 40)):
        answer = answer_of(config_world.ask(alter("c", one(GROUP, "g", "consumer.session.timeout.ms", value))))
        assert codes(answer) == [code]
    described: Any = answer_of(config_world.ask(describe("b", (GROUP, "g"), keys=("consumer.heartbeat.interval.ms",))))
    name = "group.consumer.heartbeat.interval.ms"
    assert described[0][4][0][1:6] == ["7000", False, 4, False, [[name, "7000", 4], [name, "5000", 5]]]


def test_too_many_changes_are_refused_together_and_a_name_beyond_kafka_s_reach_alone() -> None:
    config_world = ConfigWorld()
    many = several(BROKER, "1", *((f"name-{number}", "1", 0) for number in range(MAX_RECORDS + 1)))
    assert codes(answer_of(config_world.ask(alter("c", many, one(TOPIC, THERE, "retention.ms", "7"))))) == [44, 44]
    assert config_world.world.image.configs.of(TOPIC, THERE) == {}
    long = answer_of(
        config_world.ask(alter("c", one(BROKER, "1", "x" * 32_768, "1"), one(TOPIC, THERE, "retention.ms", "7")))
    )
    assert codes(long) == [0, 40]
    assert all(len(row[3] or "") < 400 for row in long or ())


def test_a_node_tells_what_came_another_way_and_is_without_effect_and_never_a_value() -> None:
    own = OwnConfigs(1, {}, RULES)
    builder = ConfigsBuilder(ConfigsImage())
    for resource, name in (
        ("1", "no.such"),
        ("", "log.flush.interval.ms"),
        ("2", "no.such"),
        ("", "log.cleaner.threads"),
    ):
        builder.set(BROKER, resource, name, "12345")
    after = builder.freeze()
    assert list(without_effect(ConfigsImage(), after, own)) == [
        "no.such is not a known configuration, it is ignored",
        (
            "log.flush.interval.ms is without effect on this node: acknowledged records would "
            "reach the disk later than it promises"
        ),
    ]
    assert list(without_effect(after, after, own)) == []


@pytest.mark.parametrize(
    ("rules", "unknown"),
    [(NodeRules(), ["node.id", "no.such"]), (NodeRules(RULES.names), ["no.such"])],
    ids=["rules that know nothing", "rules that know Kafka's names"],
)
def test_a_name_is_known_to_kafka_by_itself_or_after_a_listener_s(rules: NodeRules, unknown: list[str]) -> None:
    own, builder = OwnConfigs(1, {}, rules), ConfigsBuilder(ConfigsImage())
    for name in ("node.id", "no.such", "num.io.threads", "listener.name.external.num.network.threads"):
        builder.set(BROKER, "1", name, "8")
    told = [f"{name} is not a known configuration, it is ignored" for name in unknown]
    assert list(without_effect(ConfigsImage(), builder.freeze(), own)) == told


def test_rules_that_know_nothing_refuse_nothing() -> None:
    check_change(ConfigsImage(), "1", {"node.id": "2"}, {"node.id": "2"}, OwnConfigs(1, {}))


def test_only_what_is_set_is_judged_not_what_is_removed() -> None:
    config_world = ConfigWorld()
    request = alter("b", several(BROKER, "1", ("node.id", None, 1), ("listeners", None, 1)))
    assert isinstance(request.body, IncrementalAlterConfigsRequest)
    assert codes(answer_of(config_world.ask(request))) == [0]
