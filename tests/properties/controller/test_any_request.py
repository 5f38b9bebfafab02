"""Whatever a request says, the controller answers: no exception, a response that its version can carry, records that
replay.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller_runtime.controller.service import SERVED
from controller_runtime.identifiers import NodeId, Uuid
from controller_runtime.metadata.records import decode_record, encode_record
from controller_runtime.protocol.api_keys import ApiKey, api, request_class, response_class
from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.schema import FieldSpec, Struct
from support.nodes.controller_world import CLUSTER_ID, World, directory_of, uuid

pytestmark = pytest.mark.properties

# Half of what is drawn makes sense in the world below, so that requests get past the first check.
TEXTS = st.sampled_from(
    ["stock", "mail", "a.b", "a_b", "", "1", "2", "9", CLUSTER_ID, "metadata.version", "share.version", "kraft.version",
        "retention.ms",
     "cleanup.policy", "min.insync.replicas", "compact", "1000", "abc", "PLAINTEXT", "\u0000", "é" * 300]
)  # fmt: skip
UUIDS = st.sampled_from(
    [Uuid(bytes(16)), Uuid.of(0, 1), uuid("topic", 1), uuid("topic", 2), directory_of(1), directory_of(2), uuid("x", 9)]
)
SMALL = st.sampled_from([-(2**7), -2, -1, 0, 1, 2, 3, 4, 16, 32, 127])
NUMBERS = {
    "bool": st.booleans(),
    "int8": SMALL,
    "int16": SMALL | st.sampled_from([-(2**15), 30, 31, 2**15 - 1]),
    "uint16": st.sampled_from([0, 1, 9092, 2**16 - 1]),
    "int32": SMALL | st.sampled_from([-(2**31), 11, 10_001, 2**31 - 1]),
    "int64": SMALL | st.sampled_from([-(2**63), 12, 14, 30, 2**63 - 1]),
    "float64": st.floats(),
    "string": TEXTS,
    "uuid": UUIDS,
    "bytes": st.binary(max_size=4),
}


def values(spec: FieldSpec, version: int) -> st.SearchStrategy[Any]:
    one = instances(spec.struct, version) if spec.struct is not None else NUMBERS[spec.kind]
    found = st.lists(one, max_size=3).map(tuple) if spec.array else one
    return st.none() | found if version in spec.nullable else found


@cache
def instances(cls: type[Struct], version: int) -> st.SearchStrategy[Any]:
    """Anything that can arrive in this version."""
    return st.builds(cls, **{spec.name: values(spec, version) for spec in cls.FIELDS if version in spec.versions})


def busy_world(level: int) -> World:
    world = World(level=level)
    world.start_broker(1, rack="a")
    world.start_broker(2, rack="b", log_dirs=(directory_of(2), directory_of(2, 2)))
    world.register(3)
    world.create("stock", 3)
    world.create("a.b", 2)
    return world


@pytest.mark.parametrize("key", sorted(SERVED), ids=lambda key: ApiKey(key).name.lower())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_every_request_is_answered(key: int, data: st.DataObject) -> None:
    world = busy_world(data.draw(st.sampled_from([30, 25, 16, 12, 7])))
    version = data.draw(st.sampled_from(list(api(key).versions)))
    for request in data.draw(st.lists(instances(request_class(key), version), min_size=1, max_size=3)):
        decision = world.decide(request, version)
        assert isinstance(decision.response, response_class(key))
        decode(type(decision.response), encode(decision.response, version), version)
        for record, written in decision.records:
            assert decode_record(encode_record(record, written)) == (record, written)
    assert NodeId(1) in world.image.cluster.brokers or key == ApiKey.UNREGISTER_BROKER
    world.wait(30.0)
    world.activate()
