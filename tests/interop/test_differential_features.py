"""UpdateFeatures and Envelope, as Apache Kafka answers them."""

from __future__ import annotations

import struct

import pytest

from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.codec import encode
from controller_runtime.protocol.framing import encode_request
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.default_principal_data import DefaultPrincipalData
from controller_runtime.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from controller_runtime.protocol.messages.envelope_request import EnvelopeRequest
from controller_runtime.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from controller_runtime.protocol.messages.metadata_request import MetadataRequest
from controller_runtime.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from controller_runtime.protocol.messages.vote_request import VoteRequest
from controller_runtime.protocol.schema import Message
from support.apache_kafka.differential import Case, Pair, Table, judge

pytestmark = [pytest.mark.interop]

BOTH = (ListenerType.BROKER, ListenerType.CONTROLLER)
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
LATEST = 30


def _features(
    *updates: tuple[str, int] | tuple[str, int, int], only: bool = True, timeout_ms: int = 30_000
) -> UpdateFeaturesRequest:
    keys = tuple(
        FeatureUpdateKey(feature=each[0], max_version_level=each[1], upgrade_type=each[2] if len(each) > 2 else UPGRADE)
        for each in updates
    )
    return UpdateFeaturesRequest(feature_updates=keys, validate_only=only, timeout_ms=timeout_ms)


def _old(*updates: tuple[str, int, bool]) -> UpdateFeaturesRequest:
    """Version 0, which cannot only look: what is refused, or already so."""
    keys = tuple(
        FeatureUpdateKey(feature=name, max_version_level=level, allow_downgrade=down) for name, level, down in updates
    )
    return UpdateFeaturesRequest(feature_updates=keys, timeout_ms=30_000)


UPDATE_FEATURES = Table(
    ApiKey.UPDATE_FEATURES,
    BOTH,
    (
        Case("nothing", _features(only=False)),
        Case("nothing, to see", _features()),
        Case("what is so already", _features(("metadata.version", LATEST), only=False)),
        Case("what is so already, to see", _features(("metadata.version", LATEST))),
        Case("a level too high", _features(("metadata.version", LATEST + 1), only=False)),
        Case("the highest level", _features(("metadata.version", 32767), only=False)),
        Case("a level that is no more", _features(("metadata.version", 6, UNSAFE_DOWNGRADE))),
        Case("a level below all", _features(("metadata.version", 0, UNSAFE_DOWNGRADE), only=False)),
        Case("level -1", _features(("metadata.version", -1), only=False)),
        Case("level -1, unsafely", _features(("metadata.version", -1, UNSAFE_DOWNGRADE))),
        Case("a lower level by an upgrade", _features(("metadata.version", 27), only=False)),
        Case("a lower level, safely", _features(("metadata.version", 29, SAFE_DOWNGRADE))),
        Case("a much lower level, safely", _features(("metadata.version", 20, SAFE_DOWNGRADE))),
        Case("a much lower level, unsafely", _features(("metadata.version", 20, UNSAFE_DOWNGRADE))),
        Case("the lowest level, unsafely", _features(("metadata.version", 7, UNSAFE_DOWNGRADE))),
        Case("a higher level by a downgrade", _features(("metadata.version", LATEST + 1, SAFE_DOWNGRADE))),
        Case("the same level by a downgrade", _features(("metadata.version", LATEST, SAFE_DOWNGRADE))),
        Case("an unknown way", _features(("metadata.version", LATEST, 4))),
        Case("way 0", _features(("metadata.version", LATEST, 0))),
        Case("way -1", _features(("metadata.version", LATEST, -1))),
        Case("way 127 of an unknown feature", _features(("no.such", 1, 127))),
        Case("an unknown feature", _features(("no.such", 1), only=False)),
        Case("an unknown feature removed", _features(("no.such", 0, SAFE_DOWNGRADE), only=False)),
        Case("a feature without a name", _features(("", 1), only=False)),
        Case("the same feature twice", _features(("no.such", 1), ("no.such", 1), only=False)),
        Case("the same feature twice, differently", _features(("no.such", 1), ("no.such", 2), only=False)),
        Case("a known one twice", _features(("group.version", 1), ("group.version", 0, UNSAFE_DOWNGRADE))),
        Case("a good and an unknown one", _features(("metadata.version", LATEST), ("no.such", 1), only=False)),
        Case("an unknown and a good one", _features(("no.such", 1), ("group.version", 1), only=False)),
        Case("transactions lower by an upgrade", _features(("transaction.version", 1), only=False)),
        Case("transactions lower, safely", _features(("transaction.version", 1, SAFE_DOWNGRADE))),
        Case("transactions lower, unsafely", _features(("transaction.version", 0, UNSAFE_DOWNGRADE))),
        Case("transactions higher than there are", _features(("transaction.version", 9), only=False)),
        Case("groups removed", _features(("group.version", 0, SAFE_DOWNGRADE))),
        Case("groups removed by an upgrade", _features(("group.version", 0), only=False)),
        Case("share groups", _features(("share.version", 1))),
        Case("streams groups", _features(("streams.version", 1))),
        Case("elr removed", _features(("eligible.leader.replicas.version", 0, SAFE_DOWNGRADE))),
        Case("elr removed, unsafely", _features(("eligible.leader.replicas.version", 0, UNSAFE_DOWNGRADE))),
        Case("elr with lower metadata", _features(("metadata.version", 20, UNSAFE_DOWNGRADE), ("group.version", 1))),
        Case("what depends on metadata first", _features(("group.version", 1), ("metadata.version", 9, 3))),
        Case("kraft as it is", _features(("kraft.version", 1), only=False)),
        Case("kraft lower", _features(("kraft.version", 0, SAFE_DOWNGRADE))),
        Case("kraft lower, unsafely", _features(("kraft.version", 0, UNSAFE_DOWNGRADE))),
        Case("kraft lower by an upgrade", _features(("kraft.version", 0), only=False)),
        Case("kraft higher", _features(("kraft.version", 2), only=False)),
        Case("kraft -1", _features(("kraft.version", -1), only=False)),
        Case("kraft and another", _features(("kraft.version", 1), ("group.version", 1))),
        Case("no time", _features(("metadata.version", LATEST), timeout_ms=0)),
        Case("less than no time", _features(("metadata.version", LATEST), timeout_ms=-1)),
        Case("old: as it is", _old(("metadata.version", LATEST, False)), (0,)),
        Case("old: as it is, down allowed", _old(("metadata.version", LATEST, True)), (0,)),
        Case("old: lower", _old(("metadata.version", 27, False)), (0,)),
        Case("old: below all, down allowed", _old(("metadata.version", 0, True)), (0,)),
        Case("old: level -1", _old(("metadata.version", -1, True)), (0,)),
        Case("old: an unknown one", _old(("no.such", 1, False)), (0,)),
        Case("old: a good and an unknown one", _old(("group.version", 1, False), ("no.such", 1, True)), (0,)),
        Case("old: twice", _old(("group.version", 1, False), ("group.version", 1, False)), (0,)),
    ),
)


ANNA = bytes(2) + encode(DefaultPrincipalData(type="User", name="anna"), 0)
LOOPBACK = bytes((127, 0, 0, 1))
LISTING = ListPartitionReassignmentsRequest(topics=None)


def _wrapped(
    inside: Message | bytes = LISTING,
    version: int = 0,
    principal: bytes | None = ANNA,
    address: bytes = LOOPBACK,
) -> EnvelopeRequest:
    frame = inside if isinstance(inside, bytes) else encode_request(inside, version, 11, "inside", with_length=False)
    return EnvelopeRequest(request_data=frame, request_principal=principal, client_host_address=address)


def _seen() -> CreateTopicsRequest:
    topic = CreatableTopic(name="wrapped", num_partitions=1, replication_factor=1)
    return CreateTopicsRequest(topics=(topic,), timeout_ms=30_000, validate_only=True)


def _frame(body: Message, version: int, client_id: str | None = "inside") -> bytes:
    return encode_request(body, version, 11, client_id, with_length=False)


WHOLE = _frame(LISTING, 0)


ENVELOPE = Table(
    ApiKey.ENVELOPE,
    (ListenerType.CONTROLLER,),
    (
        Case("a request", _wrapped()),
        Case("a request of nobody", _wrapped(WHOLE[:9] + b"\xff\xff" + WHOLE[16:])),
        *(Case(f"topics to see, version {each}", _wrapped(_seen(), each)) for each in range(2, 8)),
        Case("a write", _wrapped(UpdateFeaturesRequest(), 2)),
        Case("quorum", _wrapped(DescribeQuorumRequest(), 2)),
        Case("features", _wrapped(_features(("no.such", 1)), 1)),
        Case("bytes behind the request", _wrapped(WHOLE + b"\0\0")),
        Case("half a request", _wrapped(WHOLE[:-3])),
        Case("a header alone", _wrapped(WHOLE[:-6])),
        Case("half a header", _wrapped(WHOLE[:6])),
        Case("a byte", _wrapped(b"\0")),
        Case("nothing", _wrapped(b"")),
        Case("zeroes", _wrapped(bytes(40))),
        Case("ones", _wrapped(b"\xff" * 40)),
        Case("an envelope", _wrapped(_wrapped(), 0)),
        Case("a request that is not forwarded", _wrapped(MetadataRequest(), 12)),
        Case("a request of raft", _wrapped(VoteRequest(), 2)),
        Case("a key that nobody has", _wrapped(struct.pack(">hh", 999, 0) + WHOLE[4:])),
        Case("key -1", _wrapped(struct.pack(">hh", -1, 0) + WHOLE[4:])),
        Case("a key that is no more", _wrapped(struct.pack(">hh", 4, 0) + WHOLE[4:])),
        Case("a version too high", _wrapped(struct.pack(">hh", ApiKey.CREATE_TOPICS, 8) + WHOLE[4:])),
        Case("a version too low", _wrapped(struct.pack(">hh", ApiKey.CREATE_TOPICS, 1) + WHOLE[4:])),
        Case("version -1", _wrapped(struct.pack(">hh", ApiKey.CREATE_TOPICS, -1) + WHOLE[4:])),
        Case("a version of Metadata that is not there", _wrapped(struct.pack(">hh", ApiKey.METADATA, 14) + WHOLE[4:])),
        Case("half of what is not forwarded", _wrapped(_frame(MetadataRequest(), 12)[:-2])),
        Case("bytes behind what is not forwarded", _wrapped(_frame(MetadataRequest(), 12) + b"\0")),
        Case("a version of Produce that is no more", _wrapped(struct.pack(">hh", ApiKey.PRODUCE, 2) + WHOLE[4:])),
        Case("a version of Fetch that is no more", _wrapped(struct.pack(">hh", ApiKey.FETCH, 3) + WHOLE[4:])),
        Case("ApiVersions at an unknown version", _wrapped(struct.pack(">hh", ApiKey.API_VERSIONS, 9) + WHOLE[4:])),
        Case("no principal", _wrapped(principal=None)),
        Case("an empty principal", _wrapped(principal=b"")),
        Case("half a principal", _wrapped(principal=ANNA[:-1])),
        Case("more than a principal", _wrapped(principal=ANNA + b"\0")),
        Case("a principal of a later version", _wrapped(principal=b"\0\1" + ANNA[2:])),
        Case("a principal of version -1", _wrapped(principal=b"\xff\xff" + ANNA[2:])),
        Case("another kind of principal", _wrapped(principal=bytes(2) + encode(DefaultPrincipalData(), 0))),
        Case("no address", _wrapped(address=b"")),
        Case("an address of three bytes", _wrapped(address=b"\1\2\3")),
        Case("an address of five bytes", _wrapped(address=bytes(5))),
        Case("an address of sixteen bytes", _wrapped(address=bytes(15) + b"\1")),
        Case("a bad address and a bad principal", _wrapped(principal=b"", address=b"\1")),
        Case("a bad address and half a request", _wrapped(WHOLE[:-3], address=b"\1")),
        Case("a bad principal and half a request", _wrapped(WHOLE[:-3], principal=b"")),
        Case("a bad principal around what is not forwarded", _wrapped(MetadataRequest(), 12, principal=b"")),
        Case("a bad address around what is not forwarded", _wrapped(MetadataRequest(), 12, address=b"\1")),
    ),
)

TABLES = (UPDATE_FEATURES, ENVELOPE)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.key.name)
def test_features_and_envelopes_are_answered_as_by_kafka(pair: Pair, table: Table) -> None:
    assert judge(pair, table) >= 20
