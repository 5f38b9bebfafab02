"""Client quotas as records (CFG-05): what `tests/interop/test_differential_quotas.py` cannot see on the wire."""

from __future__ import annotations

import pytest

from controller_runtime.controller import client_quotas
from controller_runtime.controller.decision import RequestContext
from controller_runtime.identifiers import Offset, WallClock
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.replay import replay
from controller_runtime.metadata.snapshot import snapshot_records
from controller_runtime.protocol.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from controller_runtime.protocol.messages.alter_client_quotas_response import AlterClientQuotasResponse
from support.nodes.controller_world import World

pytestmark = pytest.mark.unit

ANN = (("user", "ann"),)
BOTH = (("client-id", None), ("user", "ann"))


def entry(entity: tuple[tuple[str, str | None], ...], **values: float | None) -> EntryData:
    parts = tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in entity)
    ops = tuple(OpData(key=key, value=value or 0.0, remove=value is None) for key, value in values.items())
    return EntryData(entity=parts, ops=ops)


def alter(world: World, *entries: EntryData, only: bool = False) -> list[tuple[int, str | None]]:
    answer = world.ask(AlterClientQuotasRequest(entries=entries, validate_only=only), AlterClientQuotasResponse)
    return [(each.error_code, each.error_message) for each in answer.entries]


def test_an_entity_lives_as_long_as_it_has_a_value() -> None:
    """CFG-05: and a snapshot makes it again."""
    world = World()
    alter(world, entry(ANN, producer_byte_rate=5.0, request_percentage=1.5), entry(BOTH[::-1], consumer_byte_rate=9.0))
    assert world.image.client_quotas == {
        ANN: {"producer_byte_rate": 5.0, "request_percentage": 1.5},
        BOTH: {"consumer_byte_rate": 9.0},
    }
    builder = MetadataImage.empty().builder()
    for record, _ in snapshot_records(world.image):
        replay(builder, record)
    assert builder.freeze().client_quotas == world.image.client_quotas
    alter(world, entry(ANN, producer_byte_rate=None))
    assert world.image.client_quotas[ANN] == {"request_percentage": 1.5}
    alter(world, entry(ANN, request_percentage=None))
    assert set(world.image.client_quotas) == {BOTH}


def test_nothing_is_written_for_what_is_so_already_or_only_looked_at() -> None:
    world = World()
    alter(world, entry(ANN, producer_byte_rate=5.0))
    before = world.offset
    assert alter(world, entry(ANN, producer_byte_rate=5.0, consumer_byte_rate=None)) == [(0, None)]
    assert alter(world, entry(ANN, producer_byte_rate=6.0), only=True) == [(0, None)]
    assert world.offset == before


def test_one_bad_value_keeps_its_entity_as_it_was_and_no_other() -> None:
    world = World()
    answers = alter(
        world, entry(ANN, producer_byte_rate=5.0, consumer_byte_rate=0.5), entry(BOTH, request_percentage=1.0)
    )
    assert [code for code, _ in answers] == [42, 0]
    assert set(world.image.client_quotas) == {BOTH}


def test_an_entity_named_again_keeps_its_first_change() -> None:
    """As in Kafka: the answer says 42, and the change is there."""
    world = World()
    assert alter(world, entry(ANN, producer_byte_rate=5.0), entry(ANN, producer_byte_rate=6.0)) == [
        (42, "Ignoring duplicate entity ClientQuotaEntity(entries={user=ann})")
    ]
    assert world.image.client_quotas == {ANN: {"producer_byte_rate": 5.0}}


def test_more_records_than_kafka_makes_for_one_request_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """QC-07."""
    assert client_quotas.MAX_RECORDS == 10_000
    monkeypatch.setattr(client_quotas, "MAX_RECORDS", 100)
    world = World()
    entries = tuple(entry((("user", f"u{number}"),), producer_byte_rate=1.0) for number in range(101))
    assert set(alter(world, *entries)) == {(44, "Unable to perform excessively large batch operation.")}
    assert world.image.client_quotas == {}
    assert set(alter(world, *entries[:-1])) == {(0, None)}
    assert len(world.image.client_quotas) == 100


def test_many_entities_are_judged_in_pieces() -> None:
    world = World()
    entries = tuple(entry((("user", f"u{number}"),), producer_byte_rate=1.0) for number in range(1000))
    request = AlterClientQuotasRequest(entries=entries)
    context = RequestContext(1, Offset(world.offset), WallClock(0))
    assert world.service.comes_in_pieces(request)
    assert sum(1 for _ in world.service.plan(world.image, request, context, world.now)) == 4


@pytest.mark.parametrize("name", ["127.1", "localhost", "[::1]", "1.2.3.4/32"])
def test_an_address_is_an_address_in_full(name: str) -> None:
    found = alter(World(), entry((("ip", name),), connection_creation_rate=1.0))
    assert found == [(42, f"{name} is not a valid IP or resolvable host.")]


def test_not_a_number_is_no_quota() -> None:
    assert alter(World(), entry(ANN, controller_mutation_rate=float("nan"))) == [
        (42, "Quota controller_mutation_rate must be greater than 0")
    ]
