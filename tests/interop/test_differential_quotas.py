"""AlterClientQuotas and DescribeClientQuotas, as Apache Kafka answers them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.framing import decode_response, encode_request
from controller_runtime.protocol.json_form import to_json
from controller_runtime.protocol.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from controller_runtime.protocol.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.describe_client_quotas_request import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from controller_runtime.protocol.schema import Message
from support.apache_kafka.differential import Case, Pair, Side, Table, Unlike, judge
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop]

BOTH = (ListenerType.BROKER, ListenerType.CONTROLLER)
Entity = tuple[tuple[str, str | None], ...]
Change = tuple[str, float | None]
ANN: Entity = (("user", "ann"),)
RATE = "controller_mutation_rate"
LONGEST = float(2**63 - 1)
PLENTY = 1e12
"""Kafka holds everybody to the defaults, the other tests of the pair, too."""


def _entry(entity: Entity, *changes: Change) -> EntryData:
    ops = tuple(OpData(key=key, value=value or 0.0, remove=value is None) for key, value in changes)
    return EntryData(entity=tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in entity), ops=ops)


def _alter(*entries: EntryData, only: bool = False) -> AlterClientQuotasRequest:
    return AlterClientQuotasRequest(entries=entries, validate_only=only)


def _one(entity: Entity, *changes: Change) -> AlterClientQuotasRequest:
    return _alter(_entry(entity, *changes), only=True)


def _values(key: str, *values: float, entity: Entity = ANN) -> tuple[Case, ...]:
    return tuple(Case(f"{key} {value!r}", _one(entity, (key, value))) for value in values)


ALTER = Table(
    ApiKey.ALTER_CLIENT_QUOTAS,
    BOTH,
    (
        Case("of a user", _alter(_entry(ANN, ("producer_byte_rate", 1024.0), ("request_percentage", 12.5)))),
        Case("of the default user", _alter(_entry((("user", None),), ("consumer_byte_rate", PLENTY)))),
        Case("of a client id", _alter(_entry((("client-id", "shop"),), ("consumer_byte_rate", 2048.0)))),
        Case("of the default client id", _alter(_entry((("client-id", None),), ("producer_byte_rate", PLENTY)))),
        Case("of both", _alter(_entry((*ANN, ("client-id", "shop")), (RATE, 10.5)))),
        Case("of both, the other way round", _alter(_entry((("client-id", None), ("user", "bob")), (RATE, 3.0)))),
        Case("of both defaults", _alter(_entry((("user", None), ("client-id", None)), (RATE, PLENTY)))),
        Case("of an address", _alter(_entry((("ip", "10.0.0.1"),), ("connection_creation_rate", 5.0)))),
        Case("of a newer address", _alter(_entry((("ip", "fe80::1"),), ("connection_creation_rate", 6.0)))),
        Case("of the default address", _alter(_entry((("ip", None),), ("connection_creation_rate", 2e9)))),
        Case("no entries", _alter()),
        Case("no changes", _alter(_entry(ANN))),
        Case("no entity", _one((), ("producer_byte_rate", 1.0))),
        Case("no entity and no changes", _one(())),
        Case("an entity of a kind nobody knows", _one((("group", "g"),), ("producer_byte_rate", 1.0))),
        Case("a kind in capitals", _one((("User", "ann"),), ("producer_byte_rate", 1.0))),
        Case("a kind without a name", _one((("", "ann"),), ("producer_byte_rate", 1.0))),
        Case("an empty user", _one((("user", ""),), ("producer_byte_rate", 1.0))),
        Case("an empty client id", _one((("client-id", ""),), ("producer_byte_rate", 1.0))),
        Case("an empty address", _one((("ip", ""),), ("connection_creation_rate", 1.0))),
        Case("an address and a user", _one((("ip", "10.0.0.1"), ("user", "ann")), ("connection_creation_rate", 1.0))),
        Case("an address and a client", _one((("ip", None), ("client-id", "a")), ("connection_creation_rate", 1.0))),
        Case("no address", _one((("ip", "300.0.0.1"),), ("connection_creation_rate", 1.0))),
        Case("an address that cannot be", _one((("ip", "not an address"),), ("connection_creation_rate", 1.0))),
        Case("the user twice", _one((*ANN, ("user", "bob")), ("producer_byte_rate", 1.0))),
        Case("a strange name", _alter(_entry((("user", "CN=Größe, O=a/b%2F"),), ("producer_byte_rate", 8.0)))),
        Case("a key twice", _one(ANN, ("producer_byte_rate", 1.0), ("producer_byte_rate", 2.0))),
        Case("an entity twice", _alter(_entry(ANN, (RATE, 5.0)), _entry(ANN, (RATE, 6.0)))),
        Case("both, twice", _alter(*2 * (_entry((*ANN, ("client-id", None)), (RATE, 6.0)),), only=True)),
        Case("a default twice", _alter(*2 * (_entry((("user", None),), (RATE, 6.0)),), only=True)),
        Case("three times", _alter(*3 * (_entry(ANN, (RATE, 5.0)),), only=True)),
        Case("a bad one and a good one", _alter(_entry((), (RATE, 1.0)), _entry((("user", "eve"),), (RATE, 2.0)))),
        Case("a key that nobody knows", _one(ANN, ("bytes", 1.0))),
        Case("a key without a name", _one(ANN, ("", 1.0))),
        Case("a key of addresses", _one(ANN, ("connection_creation_rate", 1.0))),
        Case("an address' key of users", _one((("ip", "10.0.0.1"),), ("producer_byte_rate", 1.0))),
        Case("a good and a bad key", _one(ANN, ("producer_byte_rate", 1.0), ("bytes", 1.0))),
        *_values("producer_byte_rate", 0.0, -1.0, 0.5, 1.5, 1.0000001, 1.000002, 5e-324, LONGEST, 1e19, math.inf),
        *_values("request_percentage", 0.0, 0.001, 100.0, 1e300, math.inf, -math.inf),
        *_values(RATE, -0.0, 1e-300, 1e300),
        *_values("connection_creation_rate", 2147483647.0, 2147483648.0, 1.5, 0.0, entity=(("ip", "10.0.0.1"),)),
        Case("not a number", _one(ANN, (RATE, math.nan))),
        Case(
            "the address of this machine by its name", _one((("ip", "localhost"),), ("connection_creation_rate", 1.0))
        ),
        Case("a short address", _one((("ip", "127.1"),), ("connection_creation_rate", 1.0))),
        Case("removed what is not there", _alter(_entry(ANN, ("consumer_byte_rate", None)))),
        Case("removed what cannot be there", _alter(_entry(ANN, ("connection_creation_rate", None), ("x", None)))),
        Case("removed, to see", _one(ANN, ("producer_byte_rate", None))),
        Case("removed of an entity that cannot be", _one((("group", "g"),), ("producer_byte_rate", None))),
        Case("removed and set", _alter(_entry(ANN, ("request_percentage", None), ("consumer_byte_rate", 77.0)))),
        Case("the same again", _alter(_entry((("client-id", "shop"),), ("consumer_byte_rate", 2048.0)))),
    ),
    unlike=(
        Unlike("*: not a number", "NaN is no quota"),
        Unlike("*: the address of this machine by its name", "names of hosts are not resolved"),
        Unlike("*: a short address", "names of hosts are not resolved"),
    ),
)

EXACT, DEFAULT, SPECIFIED = 0, 1, 2
Component = tuple[str, int, str | None]


def _describe(*components: Component, strict: bool = False) -> DescribeClientQuotasRequest:
    parts = tuple(ComponentData(entity_type=kind, match_type=how, match=match) for kind, how, match in components)
    return DescribeClientQuotasRequest(components=parts, strict=strict)


def _both_ways(name: str, *components: Component) -> tuple[Case, Case]:
    return (
        Case(name, _describe(*components)),
        Case(f"{name}, strictly", _describe(*components, strict=True)),
    )


DESCRIBE = Table(
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    (ListenerType.BROKER,),
    (
        *_both_ways("everything"),
        *_both_ways("a user", ("user", EXACT, "ann")),
        *_both_ways("a user of a strange name", ("user", EXACT, "CN=Größe, O=a/b%2F")),
        *_both_ways("nobody", ("user", EXACT, "nobody")),
        *_both_ways("the default user", ("user", DEFAULT, None)),
        *_both_ways("all users", ("user", SPECIFIED, None)),
        *_both_ways("a client id", ("client-id", EXACT, "shop")),
        *_both_ways("all client ids", ("client-id", SPECIFIED, None)),
        *_both_ways("a user and client ids", ("user", EXACT, "ann"), ("client-id", SPECIFIED, None)),
        *_both_ways("both", ("client-id", EXACT, "shop"), ("user", EXACT, "ann")),
        *_both_ways("both defaults", ("client-id", DEFAULT, None), ("user", DEFAULT, None)),
        *_both_ways("all of both", ("client-id", SPECIFIED, None), ("user", SPECIFIED, None)),
        *_both_ways("an address", ("ip", EXACT, "10.0.0.1")),
        *_both_ways("the default address", ("ip", DEFAULT, None)),
        *_both_ways("all addresses", ("ip", SPECIFIED, None)),
        *_both_ways("an address and a user", ("ip", SPECIFIED, None), ("user", EXACT, "ann")),
        *_both_ways("a user and an address", ("user", DEFAULT, None), ("ip", EXACT, "10.0.0.1")),
        Case("a kind nobody knows", _describe(("group", EXACT, "g"))),
        Case("a kind in capitals", _describe(("USER", EXACT, "ann"))),
        Case("no kind", _describe(("", EXACT, "ann"))),
        Case("a kind twice", _describe(("user", EXACT, "ann"), ("user", DEFAULT, None))),
        Case("a kind nobody knows twice", _describe(("group", EXACT, "a"), ("group", EXACT, "a"))),
        Case("no kind, twice", _describe(("", EXACT, "a"), ("", EXACT, "a"))),
        Case("exactly nothing", _describe(("user", EXACT, None))),
        Case("exactly an empty name", _describe(("user", EXACT, ""))),
        Case("a default with a name", _describe(("user", DEFAULT, "ann"))),
        Case("all with a name", _describe(("user", SPECIFIED, "ann"))),
        Case("a match nobody knows", _describe(("user", 3, "ann"))),
        Case("a match below all", _describe(("user", -1, None))),
        Case("a match nobody knows, of a kind nobody knows", _describe(("group", 9, "ann"))),
        Case("two faults", _describe(("user", EXACT, None), ("group", EXACT, "ann"))),
        Case("an address, a user, and a fault", _describe(("ip", SPECIFIED, None), ("user", 7, None))),
    ),
)


@pytest.mark.parametrize("table", [ALTER, DESCRIBE], ids=lambda table: table.key.name)
def test_client_quotas_are_changed_and_told_as_kafka_does(pair: Pair, table: Table) -> None:
    """CFG-05: what is described was set here before."""
    assert judge(pair, table) >= 20


def test_all_that_was_set_can_be_removed(pair: Pair) -> None:
    """CFG-05: nothing is left, here and there, and no other test of the pair is held to it."""
    for side in pair.sides:

        def told(side: Side = side) -> Any:
            return side.call(ListenerType.BROKER, DescribeClientQuotasRequest(), 1).entries

        gone = (
            _entry(
                tuple((part.entity_type, part.entity_name) for part in each.entity),
                *((value.key, None) for value in each.values),
            )
            for each in told()
        )
        answer = side.call(ListenerType.BROKER, _alter(*gone), 1)
        assert {each.error_code for each in answer.entries} == {0}

        def is_none(told: Callable[[], Any] = told) -> bool:
            return not told()

        eventually(f"{side.name}: none", is_none)


MUTATOR, CANARY = "mutator", "canary"
RATE_OF_HIM = 0.001
"""So slow that what passes between two requests is no part of the time to wait."""


class Mutating:
    """One side, asked by clients whose quotas are spent: each on a connection of its own, which Kafka then mutes."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.said: list[tuple[str, object, float]] = []

    def ask(self, role: ListenerType, message: Message, version: int, client_id: str = MUTATOR) -> Any:
        assert message.KEY is not None
        self.side.close()
        answer = self.side.ask(role, encode_request(message, version, 7, client_id, with_length=False))
        assert isinstance(answer, bytes), answer
        return decode_response(answer, message.KEY, version).body

    def tell(self, role: ListenerType, message: Message, version: int) -> None:
        answer = self.ask(role, message, version)
        shown = to_json(answer, version)
        assert isinstance(shown, dict)
        throttle_ms = shown.pop("throttleTimeMs")
        codes = [
            (each.get("name"), each["errorCode"], each.get("errorMessage"))
            for key in ("topics", "responses", "results")
            for each in shown.get(key, ())
        ]
        self.said.append((f"{type(message).__name__} v{version} to the {role}", sorted(codes, key=str), throttle_ms))


def _topics(*counts: int, name: str = "new") -> CreateTopicsRequest:
    topics = tuple(
        CreatableTopic(name=f"{name}{place}", num_partitions=count, replication_factor=1)
        for place, count in enumerate(counts)
    )
    return CreateTopicsRequest(topics=topics, timeout_ms=30_000, validate_only=True)


def _grown(name: str, count: int) -> CreatePartitionsRequest:
    topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
    return CreatePartitionsRequest(topics=(topic,), timeout_ms=30_000, validate_only=True)


def _deleted(name: str) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topics=(DeleteTopicState(name=name),), timeout_ms=30_000)


def _story(one: Mutating) -> list[tuple[str, object, float]]:
    """Nothing but looking: what is only validated draws from the quota, too."""
    broker, controller = BOTH
    limited = tuple(
        _entry((("user", "ANONYMOUS"), ("client-id", who)), (RATE, RATE_OF_HIM)) for who in (MUTATOR, CANARY)
    )
    one.side.call(broker, _alter(*limited), 1)
    eventually("the quota holds", lambda: one.ask(broker, _topics(9), 7, CANARY).topics[0].error_code == 89)
    one.tell(controller, _topics(20), 7)
    one.tell(controller, _topics(1), 7)
    one.tell(broker, _topics(1, 2), 6)
    one.tell(broker, _topics(5), 5)
    one.tell(controller, _topics(1, 1), 4)
    one.tell(controller, _topics(1, name="a/b"), 7)
    one.tell(controller, _topics(), 7)
    one.tell(broker, _deleted("orders"), 6)
    one.tell(controller, _deleted("orders"), 6)
    one.tell(controller, DeleteTopicsRequest(topic_names=("orders",), timeout_ms=30_000), 5)
    one.tell(broker, DeleteTopicsRequest(topic_names=("nowhere",), timeout_ms=30_000), 4)
    one.tell(controller, _grown("orders", 5), 3)
    one.tell(broker, _grown("orders", 5), 2)
    one.tell(controller, _grown("orders", 3), 3)
    one.tell(controller, _grown("nowhere", 3), 3)
    gone = tuple(_entry((("user", "ANONYMOUS"), ("client-id", who)), (RATE, None)) for who in (MUTATOR, CANARY))
    one.side.call(broker, _alter(*gone), 1)
    eventually("the quota is gone", lambda: one.ask(broker, _topics(1), 7).topics[0].error_code == 0)
    one.side.close()
    return one.said


def test_who_has_spent_his_quota_is_refused_or_told_to_wait_as_by_kafka(pair: Pair) -> None:
    """REP-04: 89 where the version knows it, and nothing is done; else a time to wait."""
    java, ours = (_story(Mutating(side)) for side in pair.sides)
    assert [each[:2] for each in ours] == [each[:2] for each in java]
    for mine, his in zip(ours, java, strict=True):
        assert mine[2] == pytest.approx(his[2], rel=0.01), (mine, his)
