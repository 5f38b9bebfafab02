"""Whatever a client asks, at any version that we serve, the broker answers it and goes on; the answer can be told at
that version.

Requests are made from each API's layout with values that mean something to a broker (names that exist, ids that do not,
the ends of every integer), so they get past the first check. Requests that only a controller decides go through the
real controller, in an envelope.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from controller_runtime.broker.leader import Leader
from controller_runtime.identifiers import ZERO_UUID, Uuid
from controller_runtime.parts.api_table import served
from controller_runtime.protocol.api_keys import ApiKey, ListenerType, request_class
from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.messages.produce_request import ProduceRequest
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.protocol.schema import FieldSpec, Message, Struct
from support.nodes.broker_world import BrokerWorld

pytestmark = pytest.mark.properties

PER_VERSION = 12
SOON_S = 60.0
"""What the broker itself gives up on."""
LONGEST_S = float(1 << 31) / 1000
"""A client may ask to wait so long. Going through it takes minutes."""
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
NAMES = (
    "orders",
    "orders",
    "orders",
    "orders",
    "empty",
    "nowhere",
    "",
    ".",
    "a b",
    "__cluster_metadata",
    "x" * 300,
    "\N{SNOWMAN}",
)


class Maker:
    """Random requests from a seed."""

    def __init__(self, dice: random.Random, topic_ids: list[Uuid]) -> None:
        self._dice = dice
        self._ids = [*topic_ids, ZERO_UUID, Uuid.of(9, 9)]

    def message(self, cls: type[Struct], version: int) -> Any:
        return cls(**{spec.name: self._value(spec, version) for spec in cls.FIELDS if version in spec.versions})

    def _value(self, spec: FieldSpec, version: int) -> Any:
        if version in spec.nullable and self._dice.random() < 0.15:
            return None
        if spec.array:
            return tuple(self._one(spec, version) for _ in range(self._dice.choice((0, 1, 1, 2, 3))))
        return self._one(spec, version)

    def _one(self, spec: FieldSpec, version: int) -> Any:
        dice = self._dice
        if spec.struct is not None:
            return self.message(spec.struct, version)
        match spec.kind:
            case "bool":
                return dice.random() < 0.5
            case "string":
                return dice.choice(NAMES)
            case "uuid":
                return dice.choice(self._ids)
            case "bytes":
                return dice.randbytes(dice.choice((0, 3, 16)))
            case "records":
                return self._records()
            case "float64":
                return dice.choice((0.0, -1.0, 1e300))
            case "uint16" | "uint32":
                return dice.choice((0, 1, 65535))
            case _:
                half = 1 << (BITS[spec.kind] - 1)
                return dice.choice((0, 0, 1, 2, 3, -1, -2, -3, 7, 100, half - 1, -half))

    def _records(self) -> bytes:
        dice = self._dice
        valid = encode_batch(
            [Record(n, 1000 + n, None, b"v") for n in range(dice.choice((1, 3)))],
            producer_id=dice.choice((-1, -1, 5)),
            producer_epoch=dice.choice((-1, 0, 1)),
            base_sequence=dice.choice((-1, 0, 1, 3)),
            is_transactional=dice.random() < 0.1,
        )
        broken = bytearray(valid)
        broken[dice.randrange(len(broken))] ^= 1 << dice.randrange(8)
        return dice.choice((valid, valid, bytes(broken), valid[: dice.randrange(len(valid))], b"", b"junk" * 30))


def prepared() -> BrokerWorld:
    world = BrokerWorld()
    world.start()
    for name in ("orders", "empty"):
        world.controller.create(name, partitions=2)
    world.settle()
    return world


@pytest.mark.parametrize("key", sorted(served(ListenerType.BROKER)), ids=lambda key: ApiKey(key).name)
def test_every_request_is_answered_and_the_broker_goes_on(
    key: ApiKey, run_seed: int, sampled: Callable[[str], None]
) -> None:
    sampled(f"requests for {key.name}: seed {run_seed}")
    dice = random.Random(run_seed * 1000 + key)
    world = prepared()
    maker = Maker(dice, list(world.controller.image.topics.ids.values()))
    for version in served(ListenerType.BROKER)[key]:
        for _ in range(PER_VERSION):
            request = maker.message(request_class(key), version)
            on_the_wire: Message = decode(request_class(key), encode(request, version), version)
            world.closed.clear()
            request_id = world.send(on_the_wire, version)
            for seconds in (0.01, SOON_S, LONGEST_S):
                world.wait(seconds)
                if request_id in world.answers or world.closed:
                    break
            assert world.stopped is None, f"{key.name} v{version} stopped the broker: {request}"
            answer = world.answers.get(request_id)
            if answer is None:
                assert isinstance(on_the_wire, ProduceRequest), f"{key.name} v{version} has no answer: {request}"
                assert on_the_wire.acks == 0
                assert request_id in world.answers or world.closed
            else:
                encode(answer, version)
    assert world.service.epoch >= 0


def test_the_maker_reaches_the_log(run_seed: int) -> None:
    """The requests are good enough to be worth something: some are stored, some are read back."""
    world = prepared()
    maker = Maker(random.Random(run_seed), list(world.controller.image.topics.ids.values()))
    for _ in range(500):
        world.send(maker.message(request_class(ApiKey.PRODUCE), 9), 9)
        world.settle()
    leds = [world.service.partitions.find("orders", ZERO_UUID, index) for index in (0, 1)]
    assert any(isinstance(led, Leader) and led.log.high_watermark > 0 for led in leds)
