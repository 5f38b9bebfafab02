"""How fast partitions may be made (REP-04): what `tests/interop/test_differential_quotas.py` cannot see in a moment."""

from __future__ import annotations

import pytest

from controller_runtime.controller.mutation_quota import MANY_BUCKETS
from controller_runtime.identifiers import Instant
from controller_runtime.metadata.client_quotas import quota_of
from controller_runtime.metadata.security import QuotaEntity
from controller_runtime.protocol.messages.client_quota_record import ClientQuotaRecord, EntityData
from controller_runtime.protocol.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from controller_runtime.protocol.messages.create_partitions_response import CreatePartitionsResponse
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.delete_topics_response import DeleteTopicsResponse
from support.nodes.controller_world import World

pytestmark = pytest.mark.unit

RATE = "controller_mutation_rate"
EXCEEDED = 89
ANN: QuotaEntity = (("user", "ann"),)


def world_with(rate: float = 1.0, entity: QuotaEntity = ANN, window_s: float = 11.0) -> World:
    world = World(mutation_window_s=window_s)
    world.start_broker(1)
    set_rate(world, entity, rate)
    return world


def set_rate(world: World, entity: QuotaEntity, rate: float) -> None:
    parts = tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in entity)
    world.append([(ClientQuotaRecord(entity=parts, key=RATE, value=rate), 0)])


def create(world: World, *counts: int, version: int = 7, user: str = "ann", client: str = "c") -> tuple[list[int], int]:
    world.made = getattr(world, "made", 0) + 1  # type: ignore[attr-defined]
    topics = tuple(
        CreatableTopic(name=f"t{world.made}.{place}", num_partitions=count, replication_factor=1)  # type: ignore[attr-defined]
        for place, count in enumerate(counts)
    )
    request = CreateTopicsRequest(topics=topics)
    answer = world.ask(request, CreateTopicsResponse, version, principal=f"User:{user}", client_id=client)
    return [each.error_code for each in answer.topics], answer.throttle_time_ms


def test_a_bucket_is_overdrawn_once_and_fills_at_its_rate() -> None:
    """REP-04, QUO-04: and what is refused is not done."""
    world = world_with(rate=2.0)
    assert create(world, 22) == ([0], 0)
    assert create(world, 5) == ([0], 0)
    assert create(world, 1) == ([EXCEEDED], 2500)
    assert len(world.image.topics) == 2
    world.now = Instant(world.now + 2.0)
    assert create(world, 1) == ([EXCEEDED], 500)
    world.now = Instant(world.now + 0.5)
    assert create(world, 1) == ([0], 0)
    assert create(world, 1) == ([EXCEEDED], 500)


def test_it_never_saves_more_than_its_window_gives() -> None:
    world = world_with(rate=2.0)
    create(world, 1)
    world.now = Instant(world.now + 100_000.0)
    assert create(world, 22) == ([0], 0)
    assert create(world, 1) == ([0], 0)
    assert create(world, 1) == ([EXCEEDED], 500)
    narrow = world_with(rate=2.0, window_s=1.0)
    assert create(narrow, 3) == ([0], 0)
    assert create(narrow, 1) == ([EXCEEDED], 500)


def test_the_topics_of_one_request_are_judged_one_by_one() -> None:
    world = world_with()
    assert create(world, 12, 1, 1) == ([0, EXCEEDED, EXCEEDED], 1000)
    assert len(world.image.topics) == 1


def test_clients_that_do_not_know_the_refusal_are_served_and_told_to_wait() -> None:
    """QUO-04."""
    world = world_with()
    assert create(world, 12, version=5) == ([0], 1000)
    assert create(world, 3, 1, version=5) == ([0, 0], 5000)
    assert len(world.image.topics) == 3


def test_deleting_and_growing_draw_from_the_same_bucket() -> None:
    world = world_with()
    create(world, 6)
    create(world, 4)

    def grow(count: int) -> tuple[int, int]:
        topic = CreatePartitionsTopic(name="t1.0", count=count, assignments=None)
        answer = world.ask(
            CreatePartitionsRequest(topics=(topic,), timeout_ms=9000),
            CreatePartitionsResponse,
            principal="User:ann",
            client_id="x",
        )
        return answer.results[0].error_code, answer.throttle_time_ms

    def delete(*names: str) -> tuple[list[int], int]:
        states = tuple(DeleteTopicState(name=name) for name in names)
        request = DeleteTopicsRequest(topics=states, timeout_ms=1000)
        answer = world.ask(request, DeleteTopicsResponse, principal="User:ann", client_id="x")
        return [each.error_code for each in answer.responses], answer.throttle_time_ms

    assert grow(8) == (0, 0)
    assert grow(9) == (EXCEEDED, 1000)
    assert delete("t1.0") == ([EXCEEDED], 1000)
    world.now = Instant(world.now + 1.0)
    assert delete("t1.0", "t2.0") == ([0, EXCEEDED], 8000)
    assert len(world.image.topics) == 1


def test_many_topics_in_pieces_draw_as_one() -> None:
    world = world_with()
    request = CreateTopicsRequest(topics=(CreatableTopic(name="big", num_partitions=3000, replication_factor=1),))
    assert world.service.comes_in_pieces(request)
    assert world.ask(request, CreateTopicsResponse, principal="User:ann").throttle_time_ms == 0
    assert create(world, 1) == ([EXCEEDED], 2_989_000)


LEVELS: tuple[QuotaEntity, ...] = (
    (("client-id", "c"), ("user", "ann")),
    (("client-id", None), ("user", "ann")),
    (("user", "ann"),),
    (("client-id", "c"), ("user", None)),
    (("client-id", None), ("user", None)),
    (("user", None),),
    (("client-id", "c"),),
    (("client-id", None),),
)
"""The most special first, as in Kafka."""
SHARED_BY = (("ann", "c"), ("ann", "c"), ("ann", ""), ("ann", "c"), ("ann", "c"), ("ann", ""), ("", "c"), ("", "c"))


def test_the_most_special_quota_counts_and_says_who_shares_it() -> None:
    """QUO-02."""
    for first in range(len(LEVELS)):
        quotas = {entity: {RATE: float(place + 1)} for place, entity in enumerate(LEVELS) if place >= first}
        assert quota_of(quotas, RATE, "ann", "c") == (SHARED_BY[first], float(first + 1))
    assert quota_of({ANN: {"producer_byte_rate": 1.0}, (("user", None),): {RATE: 3.0}}, RATE, "ann", "c") == (
        ("ann", ""),
        3.0,
    )
    assert quota_of({ANN: {RATE: 1.0}}, RATE, "bob", "c") is None


def test_users_share_what_is_theirs_and_nothing_else() -> None:
    world = world_with()
    create(world, 12, client="one")
    assert create(world, 1, client="two")[0] == [EXCEEDED]
    assert create(world, 12, user="bob") == ([0], 0)
    assert create(world, 1, user="bob") == ([0], 0)


def test_a_new_rate_holds_for_what_is_in_the_bucket() -> None:
    world = world_with()
    create(world, 21)
    set_rate(world, ANN, 100.0)
    assert create(world, 1) == ([EXCEEDED], 100)
    world.now = Instant(world.now + 0.1)
    assert create(world, 1) == ([0], 0)


def test_strangers_leave_no_buckets_behind() -> None:
    """Each client id has its own, and they are chosen by the clients."""
    world = world_with(rate=10.0, entity=(("client-id", None),))
    create(world, 120, client="in debt")
    for number in range(3 * MANY_BUCKETS):
        create(world, client=f"c{number}")
    assert len(world.service._quotas) <= MANY_BUCKETS + 1
    assert create(world, 1, client="in debt")[0] == [EXCEEDED]


@pytest.mark.parametrize("rate", [0.0, 5e-324, 1e-310])
def test_a_rate_next_to_nothing_makes_a_client_wait_as_long_as_an_answer_can_say(rate: float) -> None:
    """Found by the fuzz: the time to wait was more than a number holds, and the request failed inside."""
    world = world_with(rate=rate)
    create(world, 1)
    assert create(world, 1) == ([EXCEEDED], 2**31 - 1)
