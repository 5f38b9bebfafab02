"""Every API that the table serves, on both listeners, under sets of ACLs made of every right that it names, asked of
Apache Kafka and of ours: who is refused, where in the answer, and what he still learns, is the same (ACL-16..29,
ACL-31).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.errors import ProtocolError
from controller_runtime.protocol.messages.create_acls_request import CreateAclsRequest
from controller_runtime.protocol.messages.delete_acls_request import DeleteAclsRequest
from controller_runtime.protocol.messages.describe_acls_request import DescribeAclsRequest
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.init_producer_id_request import InitProducerIdRequest
from controller_runtime.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from support.apache_kafka.authorization_matrix import (
    CLIENT,
    NODES_MAY,
    Acls,
    Question,
    questions,
    removed,
    sets_of_acls,
)
from support.apache_kafka.authorization_of_groups import FILTERED, GROUPS, TRANSACTIONS
from support.apache_kafka.differential import Asked, Case, Pair, Side, Table, ask_both, places_that_differ
from support.apache_kafka.matrix_bodies import GROUP, THERE
from support.apache_kafka.node_pairs import ENFORCING, pair_of_nodes
from support.nodes.processes import eventually
from support.sampling import run_seed

pytestmark = pytest.mark.interop

SAMPLE = 6
"""Of the sets of ACLs; all in a soak."""
CODES = {29, 30, 31, 53, 65}
IN_ANY_ORDER = {*FILTERED, ApiKey.DESCRIBE_TRANSACTIONS}
"""Java answers in the order of a hash set."""


@pytest.fixture(scope="module")
def enforcing_pair(java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with pair_of_nodes(tmp_path_factory.mktemp("enforcing"), ENFORCING, ENFORCING) as made:
        for side in made.sides:
            _create(side, Acls("the nodes", NODES_MAY))
            eventually(f"{side.name} coordinates", lambda side=side: _coordinates(side))  # type: ignore[misc]
        yield made


def _coordinates(side: Side) -> bool:
    """Groups and transactions: what is asked later makes no topics, and finds what it is about."""
    wanted = [FindCoordinatorRequest(key_type=kind, coordinator_keys=(THERE, GROUP, "tx")) for kind in (0, 1)]
    answers = [side.call(ListenerType.BROKER, each, 6) for each in wanted]
    if any(one.error_code for answer in answers for one in answer.coordinators):
        return False
    begun = (InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000) for name in TRANSACTIONS)
    return _has_groups(side) and not any(side.call(ListenerType.BROKER, each, 4).error_code for each in begun)


def _has_groups(side: Side) -> bool:
    """With offsets, whoever deleted them before."""
    topics = (OffsetCommitRequestTopic(name=THERE, partitions=(OffsetCommitRequestPartition(committed_offset=1),)),)
    asked = (OffsetCommitRequest(group_id=group, topics=topics) for group in GROUPS)
    made = [side.call(ListenerType.BROKER, each, 9) for each in asked]
    return not any(each.topics[0].partitions[0].error_code for each in made)


def chosen() -> list[Acls]:
    every = [*sets_of_acls()]
    if os.environ.get("QUORATE_SOAK"):
        return every
    return [*every[:2], *Random(run_seed()).sample(every[2:], SAMPLE - 2)]


@pytest.mark.timeout(1200)
def test_whoever_is_refused_is_refused_as_by_kafka(enforcing_pair: Pair) -> None:
    asked = [*questions()]
    clients = Pair(*(_client_of(side) for side in enforcing_pair.sides))
    found: dict[str, list[str]] = {}
    refused = 0
    for acls in chosen():
        for side in enforcing_pair.sides:
            assert _has_groups(side), side.name
            _create(side, acls)
        for question in (each for each in asked if _can_be_said(clients.ours, each)):
            java, ours = _ask(clients, question)
            refused += bool(CODES & {*_codes(java)})
            said = CODES & {*_codes(java), *_codes(ours)} or question.key in FILTERED
            if said and java != ours:
                for place in places_that_differ(java, ours, ""):
                    found.setdefault(f"{question}: {place}", []).append(acls.name)
        for side in enforcing_pair.sides:
            _delete(side, acls)
    for side in clients.sides:
        side.close()
    assert not found, "\n".join(f"{place} [{', '.join(names)}]" for place, names in found.items())
    assert refused > len(asked), "who may nothing is refused almost everywhere"


def _client_of(side: Side) -> Side:
    return Side(side.name, side.ports, side.cluster_id, side.topic_ids, named=side.named, source=CLIENT)


def _ask(pair: Pair, question: Question) -> tuple[Any, Any]:
    table = Table(question.key, (question.role,), (), texts=False)
    case = Case(question.name, question.body)
    java, ours = ask_both(pair, table, Asked(case, question.role, question.version))
    return (_sorted(java), _sorted(ours)) if question.key in IN_ANY_ORDER else (java, ours)


def _sorted(answer: Any) -> Any:
    """Ids and epochs of producers are each node's own."""
    if isinstance(answer, dict):
        return {name: _sorted(value) for name, value in answer.items() if not name.startswith("producer")}
    if isinstance(answer, list):
        return sorted(map(_sorted, answer), key=json.dumps)
    return answer


def _can_be_said(side: Side, question: Question) -> bool:
    try:
        encode(question.body(side), question.version)
    except ProtocolError:
        return False
    return True


def _codes(answer: Any) -> Iterator[int]:
    """Every error code of an answer."""
    if isinstance(answer, dict):
        for name, value in answer.items():
            if name.endswith("rrorCode") and isinstance(value, int):
                yield value
            yield from _codes(value)
    elif isinstance(answer, list):
        for value in answer:
            yield from _codes(value)


def _create(side: Side, wanted: Acls) -> None:
    if wanted.acls:
        made = side.call(ListenerType.BROKER, CreateAclsRequest(creations=wanted.acls), 3)
        assert not any(each.error_code for each in made.results), f"{side.name}: {wanted.name}: {made}"
    _wait_until_known(side, wanted, there=True)


def _delete(side: Side, gone: Acls) -> None:
    if gone.acls:
        made = side.call(ListenerType.BROKER, DeleteAclsRequest(filters=removed(gone.acls)), 3)
        assert not any(each.error_code for each in made.filter_results), f"{side.name}: {gone.name}: {made}"
    _wait_until_known(side, gone, there=False)


def _wait_until_known(side: Side, acls: Acls, *, there: bool) -> None:
    """By the broker and by the controller, each of which judges by what it has replayed."""

    def known() -> bool:
        return all(
            _shown(side, role).issuperset(wanted) if there else not _shown(side, role) & wanted for role in ListenerType
        )

    wanted = {
        (of.resource_type, of.resource_name, of.resource_pattern_type, of.host, of.operation, of.permission_type)
        for of in acls.acls
    }
    eventually(f"{side.name} knows: {acls.name}", known)


def _shown(side: Side, role: ListenerType) -> set[tuple[int, str, int, str, int, int]]:
    everything = DescribeAclsRequest(
        resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1,
        resource_name_filter=None, principal_filter=None, host_filter=None,
    )  # fmt: skip
    answer = side.call(role, everything, 3)
    assert answer.error_code == 0, f"{side.name}: {json.dumps(str(answer))}"
    return {
        (of.resource_type, of.resource_name, of.pattern_type, each.host, each.operation, each.permission_type)
        for of in answer.resources
        for each in of.acls
    }
