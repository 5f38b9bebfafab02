"""Images over their whole domain: snapshots are lossless, freezing anywhere changes nothing, packing loses nothing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller_runtime.identifiers import BrokerEpoch, DirectoryId, NodeId, Uuid
from controller_runtime.metadata.cluster import (
    BrokerRegistration,
    ControllerRegistration,
    Listener,
    VersionRange,
    directory_order,
)
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataBuilder, MetadataImage
from controller_runtime.metadata.partitions import (
    DirectoryTable,
    Partition,
    pack_row,
    row_is_reassigning,
    row_leader,
    unpack_row,
)
from controller_runtime.metadata.records import decode_record, encode_record
from controller_runtime.metadata.replay import ReplayError, replay
from controller_runtime.metadata.security import AccessControlEntry, DelegationToken, ScramCredential
from controller_runtime.metadata.sharded import ShardedMap
from controller_runtime.metadata.snapshot import snapshot_records
from controller_runtime.protocol.messages.client_quota_record import ClientQuotaRecord
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.producer_ids_record import ProducerIdsRecord
from controller_runtime.protocol.messages.remove_topic_record import RemoveTopicRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.schema import Message

pytestmark = pytest.mark.properties

MODEST = settings(max_examples=60, deadline=None)
names = st.text(alphabet="abcdefgh.-_1", min_size=1, max_size=12)
uuids = st.binary(min_size=16, max_size=16).map(Uuid)
directories = st.integers(100, 2**128 - 1).map(lambda n: DirectoryId(Uuid(n.to_bytes(16, "big"))))
brokers = st.integers(0, 2**31 - 1)
int32 = st.integers(-(2**31), 2**31 - 1)
epochs = st.integers(0, 2**31 - 1)
broker_lists = st.lists(brokers, max_size=5, unique=True).map(tuple)
texts = st.text(max_size=20)


@st.composite
def partitions(draw: st.DrawFn, sizes: st.SearchStrategy[int] = st.integers(0, 5)) -> Partition:
    count = draw(sizes)
    return Partition(
        replicas=tuple(draw(st.lists(brokers, min_size=count, max_size=count, unique=True))),
        directories=tuple(draw(st.lists(directories, min_size=count, max_size=count))),
        isr=draw(broker_lists),
        leader=draw(int32),
        leader_epoch=draw(epochs),
        partition_epoch=draw(epochs),
        leader_recovery_state=draw(st.sampled_from([0, 1])),
        removing_replicas=draw(broker_lists),
        adding_replicas=draw(broker_lists),
        elr=draw(broker_lists),
        last_known_elr=draw(broker_lists),
    )


@MODEST
@given(st.lists(partitions(), max_size=5))
def test_a_packed_partition_is_the_same_partition(given_partitions: list[Partition]) -> None:
    table = DirectoryTable()
    for partition in given_partitions:
        row = pack_row(partition, table)
        assert unpack_row(row, table) == partition
        assert row_leader(row) == partition.leader
        assert row_is_reassigning(row) == bool(partition.adding_replicas or partition.removing_replicas)


@settings(max_examples=5, deadline=None)
@given(partitions(st.sampled_from([255, 256, 400])))
def test_a_partition_may_have_hundreds_of_replicas(partition: Partition) -> None:
    table = DirectoryTable()
    row = pack_row(partition, table)
    assert unpack_row(row, table) == partition
    assert row_is_reassigning(row) == bool(partition.adding_replicas or partition.removing_replicas)


listeners = st.dictionaries(names, st.builds(Listener, texts, st.integers(0, 65535), st.integers(0, 3)), max_size=3)
features = st.dictionaries(names, st.builds(VersionRange, st.integers(0, 9), st.integers(0, 30)), max_size=3)
homes = st.lists(directories, max_size=3, unique=True).map(lambda found: tuple(sorted(found, key=directory_order)))


@st.composite
def images(draw: st.DrawFn) -> MetadataImage:
    """Any image at metadata.version 30, filled behind the back of `replay`."""
    builder = MetadataImage.empty().builder()
    builder.features.update({"metadata.version": 30, "group.version": 1, "eligible.leader.replicas.version": 1})
    for broker_id in draw(st.lists(brokers, max_size=3, unique=True)):
        builder.brokers[NodeId(broker_id)] = BrokerRegistration(
            NodeId(broker_id), BrokerEpoch(draw(epochs)), draw(uuids), draw(listeners), draw(features),
            draw(st.none() | texts),
            draw(st.booleans()), draw(st.booleans()), False, draw(homes), draw(st.none() | homes),
        )  # fmt: skip
    for node in draw(st.lists(brokers, max_size=2, unique=True)):
        builder.controllers[NodeId(node)] = ControllerRegistration(
            NodeId(node), draw(uuids), draw(listeners), draw(features)
        )
    for name, topic_id in zip(
        draw(st.lists(names, max_size=4, unique=True)),
        draw(st.lists(uuids, min_size=4, max_size=4, unique=True)),
        strict=False,
    ):
        builder.topics.create(name, topic_id)
        for index in draw(st.lists(st.integers(0, 200), max_size=5, unique=True)):
            builder.topics.put(topic_id, index, draw(partitions()))
    for kind, name, key, value in draw(
        st.lists(st.tuples(st.sampled_from([2, 4, 16, 32]), names, names, texts), max_size=6)
    ):
        builder.configs.set(kind, name, key, value)
    builder.next_producer_id = draw(st.integers(-1, 2**40))
    _fill_security(draw, builder)
    return builder.freeze()


def _fill_security(draw: st.DrawFn, builder: MetadataBuilder) -> None:
    int8 = st.integers(-128, 127)
    for acl in draw(
        st.lists(st.builds(AccessControlEntry, uuids, int8, texts, int8, texts, texts, int8, int8), max_size=2)
    ):
        builder.acls[acl.id] = acl
    credentials = st.builds(
        ScramCredential, st.binary(max_size=8), st.binary(max_size=8), st.binary(max_size=8), epochs
    )
    builder.scram.update(draw(st.dictionaries(st.tuples(st.sampled_from([1, 2]), names), credentials, max_size=2)))
    for token in draw(
        st.lists(
            st.builds(
                DelegationToken, names, texts, texts, st.lists(texts, max_size=2).map(tuple), epochs, epochs, epochs
            ),
            max_size=2,
        )
    ):
        builder.delegation_tokens[token.token_id] = token
    entities = st.dictionaries(st.sampled_from(["user", "client-id"]), st.none() | names, min_size=1).map(
        lambda e: tuple(sorted(e.items()))
    )
    rates = st.dictionaries(names, st.floats(0, 1e9), min_size=1, max_size=2)
    builder.client_quotas.update(draw(st.dictionaries(entities, rates, max_size=2)))


@MODEST
@given(images())
def test_an_image_survives_its_snapshot(image: MetadataImage) -> None:
    builder = MetadataImage.empty().builder()
    losses: list[str] = []
    for record, version in snapshot_records(image, losses.append):
        replay(builder, decode_record(encode_record(record, version))[0])
    assert builder.freeze() == image
    assert losses == []


TOPICS = [Uuid(bytes([n]) * 16) for n in range(1, 4)]


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Records of a few topics, in an order that may well contradict itself."""
    topic = st.sampled_from(TOPICS)
    index = st.integers(0, 130)
    record = st.one_of(
        topic.map(lambda t: TopicRecord(name=f"topic-{t[0]}", topic_id=t)),
        st.builds(
            lambda t, i, r: PartitionRecord(
                topic_id=t, partition_id=i, replicas=r, isr=r, leader=0, leader_epoch=0, partition_epoch=0
            ), topic, index, broker_lists),
        st.builds(lambda t, i, r: PartitionChangeRecord(topic_id=t, partition_id=i, isr=r), topic, index, broker_lists),
        st.builds(
            lambda t, i, leader: PartitionChangeRecord(topic_id=t, partition_id=i, leader=leader),
            topic, index, brokers),
        topic.map(lambda t: RemoveTopicRecord(topic_id=t)),
        st.builds(
            lambda t, v: ConfigRecord(resource_type=2, resource_name=f"topic-{t[0]}", name="retention.ms", value=v),
            topic, st.none() | names),
        st.integers(1, 9).map(lambda n: ProducerIdsRecord(next_producer_id=n)),
        st.integers(0, 2).map(lambda n: FeatureLevelRecord(name="transaction.version", feature_level=n)),
        st.booleans().map(lambda remove: ClientQuotaRecord(key="k", value=1.0, remove=remove)),
    )  # fmt: skip
    return draw(st.lists(record, max_size=40))


@settings(max_examples=120, deadline=None)
@given(histories(), st.lists(st.integers(0, 40), max_size=6))
def test_freezing_anywhere_changes_nothing(records: list[Message], cuts: list[int]) -> None:
    """IMG-01, and that a builder made from an image continues exactly where the last one ended."""
    whole = MetadataImage.empty().builder()
    pieces = MetadataImage.empty().builder()
    seen: list[tuple[MetadataImage, list[VersionedRecord]]] = []
    for at, record in enumerate(records):
        if at in cuts:
            image = pieces.freeze()
            seen.append((image, list(snapshot_records(image))))
            pieces = image.builder()
        try:
            replay(whole, record)
        except ReplayError:
            continue  # the contradiction is found before anything is touched
        replay(pieces, record)
    image = pieces.freeze()
    assert whole.freeze() == image
    assert (
        image.topics.partition_count
        == sum(t.partition_count for t in image.topics)
        == sum(len(list(t.partitions())) for t in image.topics)
    )
    for earlier, records_then in seen:
        assert list(snapshot_records(earlier)) == records_then, "an image changed after it was frozen"


@settings(max_examples=60, deadline=None)
@given(histories())
def test_peeking_shows_what_freezing_would_give(records: list[Message]) -> None:
    """A builder that is looked into after each record gives the images of one that freezes each time, and keeps no
    frozen one from staying.
    """
    peeked = MetadataImage.empty().builder()
    frozen = MetadataImage.empty()
    for record in records:
        builder = frozen.builder()
        try:
            replay(builder, record)
        except ReplayError:
            continue
        before, said = frozen, list(snapshot_records(frozen))
        frozen = builder.freeze()
        replay(peeked, record)
        image = peeked.peek()
        assert list(snapshot_records(image)) == list(snapshot_records(frozen))
        assert image.configs.of(2, "topic-1") == frozen.configs.of(2, "topic-1")
        assert len(image.configs.by_type.get(2, ())) == len(frozen.configs.by_type.get(2, ()))
        assert list(snapshot_records(before)) == said
    assert peeked.freeze() == frozen


@settings(max_examples=60, deadline=None)
@given(histories(), st.integers(0, 40))
def test_what_changed_between_two_images_is_found(records: list[Message], cut: int) -> None:
    """IMG-02: the older image with what has changed is the newer one, and nothing else is said to have changed."""
    builder = MetadataImage.empty().builder()
    middle = MetadataImage.empty()
    for at, record in enumerate(records):
        if at == cut:
            middle = builder.freeze()
        try:
            replay(builder, record)
        except ReplayError:
            continue
    end = builder.freeze()
    rebuilt = {topic.id: dict(topic.partitions()) for topic in middle.topics}
    for old, new in end.topics.changes_since(middle.topics):
        if new is None:
            assert old is not None
            del rebuilt[old.id]
        else:
            rebuilt.setdefault(new.id, {})
            if old is not None and old.partition_count > new.partition_count:
                rebuilt[new.id] = {}
            changed = dict(new.changes_since(old))
            assert all(old is None or old.partition(index) != changed[index] for index in changed)
            rebuilt[new.id].update(changed)
    assert rebuilt.keys() == {topic.id for topic in end.topics}
    for topic in end.topics:
        assert dict(topic.partitions()).items() <= rebuilt[topic.id].items()
    configs = {(kind, name): values for kind, name, values in middle.configs.items()}
    configs |= {(kind, name): values for kind, name, values in end.configs.changes_since(middle.configs)}
    assert {key: values for key, values in configs.items() if values} == {(k, n): v for k, n, v in end.configs.items()}


few_names = st.sampled_from(["a", "b", "c", "stock", "trace"])
"""Few, so that one name is changed again after a freeze."""


@MODEST
@given(
    st.lists(st.tuples(few_names, st.none() | st.integers(0, 9)), max_size=60), st.lists(st.integers(0, 60), max_size=4)
)
def test_a_sharded_map_is_a_map(changes: list[tuple[str, int | None]], cuts: list[int]) -> None:
    model: dict[str, int] = {}
    frozen: list[tuple[ShardedMap[str, int], dict[str, int]]] = []
    builder = ShardedMap[str, int]().builder()
    for at, (key, value) in enumerate(changes):
        if at in cuts:
            frozen.append((builder.freeze(), dict(model)))
        if value is None:
            assert builder.pop(key) == model.pop(key, None)
        else:
            builder[key] = model[key] = value
        assert (key in builder, builder.get(key)) == (key in model, model.get(key))
    frozen.append((builder.freeze(), dict(model)))
    for found, expected in frozen:
        assert found == expected
        assert len(found) == len(expected)
    last, before = frozen[-1][0], frozen[0][0]
    patched = dict(before)
    for key, _, now in last.changes_since(before):
        if now is None:
            del patched[key]
        else:
            patched[key] = now
    assert patched == last
