"""DescribeConfigs of nodes with what Kafka says of each name, ListConfigResources, AlterConfigs and
IncrementalAlterConfigs as Apache Kafka answers them.

Values and sources that come from other files and dynamic values, and 16,000 changes, are compared in
`tests/conformance`. Loggers differ by their names: what may be done with `root`, which both have, is compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from controller_runtime.configuration.names import CONFIG_NAMES
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.messages.alter_configs_request import AlterableConfig as LegacyConfig
from controller_runtime.protocol.messages.alter_configs_request import AlterConfigsRequest
from controller_runtime.protocol.messages.alter_configs_request import AlterConfigsResource as LegacyResource
from controller_runtime.protocol.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.list_config_resources_request import ListConfigResourcesRequest
from controller_runtime.protocol.schema import Message
from support.apache_kafka.differential import Case, Pair, Side, Table, judge

pytestmark = [pytest.mark.interop]

BOTH = (ListenerType.BROKER, ListenerType.CONTROLLER)
TOPIC, BROKER, LOGGER, CLIENT, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
LEARNT_AFTER_S = 0.3
_OF_THE_PLACE = {"listeners", "log.dirs", "controller.quorum.bootstrap.servers"}
NAMES = tuple(row.name for row in CONFIG_NAMES if row.name not in _OF_THE_PLACE)


def _describe(
    *asked: tuple[int, str], keys: tuple[str, ...] | None = None, synonyms: bool = False, texts: bool = False
) -> DescribeConfigsRequest:
    resources = tuple(
        DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys) for kind, name in asked
    )
    return DescribeConfigsRequest(resources=resources, include_synonyms=synonyms, include_documentation=texts)


DESCRIBE_CONFIGS = Table(
    ApiKey.DESCRIBE_CONFIGS,
    BOTH,
    (
        Case("a name of a node", _describe((BROKER, "1"), keys=("broker.rack",))),
        Case("all of a node, with all words", _describe((BROKER, "1"), keys=NAMES, synonyms=True, texts=True), (3, 4)),
        Case("all of a node", _describe((BROKER, "1"), keys=NAMES), (1, 4)),
        Case("all nodes", _describe((BROKER, ""), synonyms=True, texts=True)),
        Case("a topic, with all words", _describe((TOPIC, "orders"), synonyms=True, texts=True)),
        Case("a group, with all words", _describe((GROUP, "nobody"), synonyms=True, texts=True)),
        Case("a subscription, with all words", _describe((CLIENT, "nothing"), synonyms=True, texts=True)),
        Case("nothing of a node", _describe((BROKER, "1"), keys=("no.such.name",))),
        Case("the same node twice", _describe((BROKER, "1"), (BROKER, "1"), keys=("broker.rack",))),
        Case("other nodes", _describe((BROKER, "2"), (BROKER, "x"), (BROKER, "-1"), (BROKER, " 1"), (BROKER, "1.0"))),
        Case("loggers of others", _describe((LOGGER, "2"), (LOGGER, "x"), (LOGGER, ""))),
        Case("an unknown type among others", _describe((BROKER, "1"), (3, "x"), (TOPIC, "orders"))),
        Case("no resource", _describe()),
    ),
    texts=True,
)

LIST_CONFIG_RESOURCES = Table(
    ApiKey.LIST_CONFIG_RESOURCES,
    (ListenerType.BROKER,),
    (
        Case("all", ListConfigResourcesRequest()),
        *(
            Case(f"of {types}", ListConfigResourcesRequest(resource_types=types))
            for types in ((TOPIC,), (BROKER,), (LOGGER,), (CLIENT,), (GROUP,), (TOPIC, TOPIC), (GROUP, LOGGER),
                (0,), (1,), (64,), (-1,), (TOPIC, 99))
        ),
    ),
)  # fmt: skip


Change = tuple[str, str | None] | tuple[str, str | None, int]


def _at_once(*asked: tuple[int, str, dict[str, str | None]], only: bool = True) -> AlterConfigsRequest:
    resources = tuple(
        LegacyResource(
            resource_type=kind,
            resource_name=name,
            configs=tuple(LegacyConfig(name=key, value=value) for key, value in values.items()),
        )
        for kind, name, values in asked
    )
    return AlterConfigsRequest(resources=resources, validate_only=only)


def _changes(*asked: tuple[int, str, tuple[Change, ...]], only: bool = True) -> IncrementalAlterConfigsRequest:
    resources = tuple(
        AlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=tuple(
                AlterableConfig(name=each[0], value=each[1], config_operation=each[2] if len(each) > 2 else SET)
                for each in changes
            ),
        )
        for kind, name, changes in asked
    )
    return IncrementalAlterConfigsRequest(resources=resources, validate_only=only)


def _told(kind: int, name: str, *keys: str) -> Callable[[Side], Message]:
    """A description, when a broker has had time to learn what was changed before."""

    def after_a_while(side: Side) -> Message:
        time.sleep(LEARNT_AFTER_S)
        return _describe((kind, name), keys=keys, synonyms=True)

    return after_a_while


_TWICE = AlterConfigsRequest(
    resources=(
        LegacyResource(
            resource_type=TOPIC,
            resource_name="orders",
            configs=(LegacyConfig(name="retention.ms", value="5"), LegacyConfig(name="retention.ms", value="6")),
        ),
    ),
    validate_only=True,
)
_ORDERS: tuple[int, str] = (TOPIC, "orders")
_AT_ONCE: tuple[tuple[str, AlterConfigsRequest], ...] = (
    ("nothing", _at_once()),
    ("a topic that is to have nothing", _at_once((*_ORDERS, {}))),
    ("a value", _at_once((*_ORDERS, {"retention.ms": "5"}))),
    ("no value", _at_once((*_ORDERS, {"retention.ms": None, "max.message.bytes": None}))),
    ("a bad value", _at_once((*_ORDERS, {"retention.ms": "x"}))),
    ("an unknown name", _at_once((*_ORDERS, {"no.such": "1"}))),
    ("a name twice", _TWICE),
    ("a good and a bad topic", _at_once((TOPIC, "payments", {}), (TOPIC, "nope", {"retention.ms": "5"}))),
    ("no topic", _at_once((TOPIC, "", {}))),
    ("what no topic is called", _at_once((TOPIC, "a/b", {}))),
    ("a type that is none", _at_once((3, "x", {}), (*_ORDERS, {}))),
    ("type 0", _at_once((0, "x", {}))),
    ("loggers", _at_once((LOGGER, "1", {"root": "INFO"}))),
    ("loggers of another node", _at_once((LOGGER, "2", {}))),
    ("a node that is to have nothing", _at_once((BROKER, "1", {}))),
    ("all nodes are to have nothing", _at_once((BROKER, "", {}))),
    ("other nodes", _at_once((BROKER, "2", {}), (BROKER, "x", {}), (BROKER, "-1", {}))),
    ("a node's value", _at_once((BROKER, "1", {"num.io.threads": "9"}))),
    ("a value that cannot change", _at_once((BROKER, "1", {"node.id": "9"}))),
    ("a name that Kafka does not know", _at_once((BROKER, "1", {"no.such": "9"}))),
    ("no value of a node", _at_once((BROKER, "1", {"num.io.threads": None}))),
    ("min.insync.replicas of a node", _at_once((BROKER, "1", {"min.insync.replicas": "1"}))),
    ("all nodes without min.insync.replicas", _at_once((BROKER, "", {"num.io.threads": "9"}))),
    ("all nodes", _at_once((BROKER, "", {"num.io.threads": "9", "min.insync.replicas": "2"}))),
    ("groups", _at_once((GROUP, "g", {}), (GROUP, "", {}), (GROUP, "h", {"a": "b"}))),
    (
        "subscriptions",
        _at_once((CLIENT, "", {}), (CLIENT, "s", {"interval.ms": "1"}), (CLIENT, "t", {"interval.ms": "1000"})),
    ),
    ("a value that is too long", _at_once((*_ORDERS, {"retention.ms": "5" * 200}))),
)
_DONE: tuple[tuple[str, AlterConfigsRequest], ...] = (
    ("two values", _at_once((TOPIC, "audit.log", {"retention.ms": "5000", "cleanup.policy": "compact"}), only=False)),
    ("one of them", _at_once((TOPIC, "audit.log", {"retention.ms": "5000"}), only=False)),
    (
        "another, and one of another topic that is none",
        _at_once((TOPIC, "audit.log", {"max.message.bytes": "9000"}), (TOPIC, "nope", {}), only=False),
    ),
    ("a node's", _at_once((BROKER, "1", {"log.cleaner.threads": "2"}), only=False)),
    ("a node's other", _at_once((BROKER, "1", {"message.max.bytes": "9000"}), only=False)),
    ("nothing of a node any more", _at_once((BROKER, "1", {}), only=False)),
)
ALTER_CONFIGS = Table(ApiKey.ALTER_CONFIGS, BOTH, tuple(Case(*each) for each in _AT_ONCE))
_TOLD = Table(
    ApiKey.DESCRIBE_CONFIGS,
    BOTH,
    (
        Case("a topic then", _told(TOPIC, "audit.log", "retention.ms", "cleanup.policy", "max.message.bytes"), (4,)),
        Case("a node then", _told(BROKER, "1", "log.cleaner.threads", "message.max.bytes"), (4,)),
    ),
    malformed=False,
)
ALTERED = tuple(
    Table(ApiKey.ALTER_CONFIGS, (BOTH[at % 2],), (Case(name, body, (2,)),), malformed=False)
    for at, (name, body) in enumerate(_DONE)
)

_ROOT = (LOGGER, "1")
INCREMENTAL_ALTER_CONFIGS = Table(
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    BOTH,
    (
        Case("nothing", _changes()),
        Case("a topic", _changes((*_ORDERS, (("retention.ms", "5"),)))),
        Case("several", _changes((*_ORDERS, (("retention.ms", "x"),)), (TOPIC, "payments", ()), (GROUP, "g", ()))),
        Case("the root logger", _changes((*_ROOT, (("root", "WARN"),)))),
        Case("the root logger, done", _changes((*_ROOT, (("root", "INFO"),)), only=False)),
        Case("a level in small letters", _changes((*_ROOT, (("root", "debug"),)), only=False)),
        Case("a level that is none", _changes((*_ROOT, (("root", "OFF"),)), only=False)),
        Case("the root's level removed", _changes((*_ROOT, (("root", None, DELETE),)), only=False)),
        Case("a level added", _changes((*_ROOT, (("root", "INFO", APPEND),)), only=False)),
        Case("a level taken off", _changes((*_ROOT, (("root", "INFO", SUBTRACT),)), only=False)),
        Case("a logger that is none", _changes((*_ROOT, (("no.such", "INFO"),)), only=False)),
        Case("one that is none removed", _changes((*_ROOT, (("no.such", None, DELETE),)), only=False)),
        Case("no logger", _changes((*_ROOT, ()), only=False)),
        Case("loggers of others", _changes((LOGGER, "2", (("root", "INFO"),)), (LOGGER, "", ()), (LOGGER, "x", ()))),
        Case("a logger and a topic", _changes((*_ROOT, (("root", "INFO"),)), (*_ORDERS, (("retention.ms", "5"),)))),
        Case("a logger that is none and a topic", _changes((*_ROOT, (("x", "INFO"),)), (TOPIC, "nope", ()))),
        Case("loggers twice", _changes((*_ROOT, (("root", "INFO"),)), (*_ROOT, (("root", "INFO"),)))),
        Case("a logger twice", _changes((*_ROOT, (("root", "INFO"), ("root", "INFO"))))),
    ),
)  # fmt: skip
LEVEL = Table(
    ApiKey.DESCRIBE_CONFIGS,
    BOTH,
    (Case("the root logger", _describe(_ROOT, keys=("root",), synonyms=True, texts=True)),),
    malformed=False,
)


def test_describe_configs_of_nodes(pair: Pair) -> None:
    judge(pair, DESCRIBE_CONFIGS)


def test_list_config_resources(pair: Pair) -> None:
    """CFG-03: a topic, group or subscription is listed while it has configurations."""
    judge(pair, LIST_CONFIG_RESOURCES)


def test_alter_configs(pair: Pair) -> None:
    """CFG-02, CFG-03: what a resource is to have replaces what it has; what is refused leaves all as it was."""
    judge(pair, ALTER_CONFIGS)
    for altered in ALTERED:
        judge(pair, altered)
        judge(pair, _TOLD)


def test_incremental_alter_configs_and_loggers(pair: Pair) -> None:
    judge(pair, LEVEL)
    judge(pair, INCREMENTAL_ALTER_CONFIGS)
    judge(pair, LEVEL)
