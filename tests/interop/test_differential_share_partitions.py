"""Members of share groups at the leader of their partitions, right, wrong and hostile: beside Apache Kafka. The same
requests in the same order; what is acquired, how often it was delivered, which codes are answered; and what both have
then written to `__share_group_state` (CGP-21).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

import pytest

from controller_runtime.coordinator.coordinator import partition_for
from controller_runtime.coordinator.share_state.records import ShareRecord, read
from controller_runtime.coordinator.share_state.values import ShareKey, ShareState
from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import initialize_share_group_state_request as initializes
from controller_runtime.protocol.messages import read_share_group_state_request as reads
from controller_runtime.protocol.messages import share_acknowledge_request as acknowledges
from controller_runtime.protocol.messages import share_fetch_request as fetches
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from controller_runtime.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from controller_runtime.protocol.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from controller_runtime.protocol.record_batch import Record, decode_batches, encode_batch
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace
from support.apache_kafka.differential import DEVIATIONS, Asked, Case, Pair, Side, Table, ask_both, judge
from support.nodes.processes import eventually

pytestmark = [pytest.mark.interop]

BROKER = (ListenerType.BROKER,)
STATES, STATE_PARTITIONS = "__share_group_state", 50
ONE, OTHER = "shared.one", "shared.other"
NOBODYS = Uuid.of(0x1234_0000_0000_4000, 0x8000_0000_0000_0002)
TIME: Final = time.time_ns() // 1_000_000
"""Of all records: old ones are deleted after a while."""
LARGEST: Final = (1 << 63) - 1
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
WAIT: Final[dict[str, Any]] = {"max_wait_ms": 20_000, "min_bytes": 1}
ENDLESS: Final = "sessions"
"""Groups whose members leave records locked: locks end after the stories."""
Batches = tuple[tuple[int, int, tuple[int, ...]], ...]


@pytest.fixture(scope="module", autouse=True)
def _topics(pair: Pair) -> Iterator[None]:
    """The topic of states as both make it where they can: one broker cannot keep three replicas."""
    for side in pair.sides:
        side.learn_topics()
        wanted = (
            CreatableTopic(name=STATES, num_partitions=STATE_PARTITIONS, replication_factor=1),
            CreatableTopic(name=ONE, num_partitions=3, replication_factor=1),
            CreatableTopic(name=OTHER, num_partitions=2, replication_factor=1),
        )
        made = side.call(ListenerType.BROKER, CreateTopicsRequest(topics=wanted, timeout_ms=30_000), 7)
        assert [each.error_code for each in made.topics] == [0] * 3, side.name
        eventually("the topics", lambda side=side: {STATES, ONE, OTHER} <= side.learn_topics())  # type: ignore[misc]
        for index in range(3):
            eventually("a leader", lambda side=side, index=index: _write(side, 10, index=index) == 0)  # type: ignore[misc]
    yield
    for side in pair.sides:
        topics = tuple(DeleteTopicState(name=name) for name in (STATES, ONE, OTHER))
        side.call(ListenerType.BROKER, DeleteTopicsRequest(topics=topics, timeout_ms=30_000), 6)
        eventually("no topics", lambda side=side: not {STATES, ONE, OTHER} & side.learn_topics())  # type: ignore[misc]


def _write(side: Side, count: int, *, name: str = ONE, index: int = 0) -> int:
    """One batch of so many records."""
    records = [Record(offset=n, timestamp=TIME, key=None, value=b"v") for n in range(count)]
    data = PartitionProduceData(index=index, records=encode_batch(records, base_offset=0, partition_leader_epoch=-1))
    topic = TopicProduceData(name=name, partition_data=(data,))
    asked = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=(topic,))
    answer = side.call(ListenerType.BROKER, asked, 9)
    return int(answer.responses[0].partition_responses[0].error_code)


class Story:
    """What one group does, asked of both; every answer must be the same."""

    FETCH: Final = Table(ApiKey.SHARE_FETCH, BROKER, (), in_order=("acquiredRecords",))
    ACKNOWLEDGE: Final = Table(ApiKey.SHARE_ACKNOWLEDGE, BROKER, ())

    def __init__(self, pair: Pair, group: str) -> None:
        self.pair, self.group, self.step = pair, group, 0
        self.version = 2
        self.held: dict[tuple[str, str, int], dict[int, int]] = {}
        """By member and partition: offsets, and how often they were delivered."""

    def begin(self, *places: tuple[str, int], start: int = 0) -> None:
        """As the group coordinator does before anybody fetches."""
        for side in self.pair.sides:
            for name, index in places:
                data = initializes.PartitionData(partition=index, state_epoch=1, start_offset=start)
                topic = initializes.InitializeStateData(topic_id=side.topic_ids[name], partitions=(data,))
                asked = initializes.InitializeShareGroupStateRequest(group_id=self.group, topics=(topic,))

                def is_begun(side: Side = side, asked: Message = asked) -> bool:
                    answer = side.call(ListenerType.BROKER, asked, 0)
                    return bool(answer.results[0].partitions[0].error_code == 0)

                eventually(f"{side.name}: state of {name}-{index}", is_begun)
        for name, index in places if start >= 0 else ():
            # Both read the state now: later on nobody has to wait for that.
            self.fetch(0, {name: {index: ()}}, member="first", max_wait_ms=20_000, max_records=-1)
            self.fetch(-1, member="first")

    def _same(self, table: Table, body: Callable[[Side], Message]) -> Any:
        self.step += 1
        name = f"{self.group}: step {self.step}"
        java, ours = ask_both(self.pair, table, Asked(Case(name, body), ListenerType.BROKER, self.version))
        assert java == ours, f"{name}: {body(self.pair.java)}\n java {java}\n ours {ours}"
        return ours

    def fetch(
        self,
        epoch: int,
        topics: dict[str, dict[int, Batches]] | None = None,
        *,
        member: str | None = "m",
        forget: dict[str, tuple[int, ...]] | None = None,
        **more: Any,
    ) -> Any:
        asked = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, "max_records": 500, "batch_size": 500} | more

        def body(side: Side) -> Message:
            wanted = tuple(
                fetches.FetchTopic(
                    topic_id=side.topic_ids.get(name, NOBODYS),
                    partitions=tuple(
                        fetches.FetchPartition(
                            partition_index=index,
                            acknowledgement_batches=tuple(
                                fetches.AcknowledgementBatch(first_offset=a, last_offset=b, acknowledge_types=types)
                                for a, b, types in batches
                            ),
                        )
                        for index, batches in parts.items()
                    ),
                )
                for name, parts in (topics or {}).items()
            )
            forgotten = tuple(
                fetches.ForgottenTopic(topic_id=side.topic_ids.get(name, NOBODYS), partitions=indexes)
                for name, indexes in (forget or {}).items()
            )
            given: dict[str, Any] = {"group_id": self.group} | asked
            return fetches.ShareFetchRequest(
                member_id=member, share_session_epoch=epoch, topics=wanted, forgotten_topics_data=forgotten, **given
            )

        answer = self._same(self.FETCH, body)
        self._take(member or "", answer)
        return answer

    def end(self, member: str) -> None:
        """The member's session; and until what it held is written down as released, which follows the answer."""
        self.fetch(-1, member=member)
        for (_, name, index), held in [each for each in self.held.items() if each[0][0] == member]:
            del self.held[member, name, index]
            for side in self.pair.sides:
                data = reads.PartitionData(partition=index, leader_epoch=-1)
                topic = reads.ReadStateData(topic_id=side.topic_ids[name], partitions=(data,))
                asked = reads.ReadShareGroupStateRequest(group_id=self.group, topics=(topic,))

                def is_released(side: Side = side, asked: Message = asked, held: Any = held) -> bool:
                    state = side.call(ListenerType.BROKER, asked, 0).results[0].partitions[0]
                    return all(_is_known(state, offset, count) for offset, count in held.items())

                eventually(f"{side.name}: {member} has let go", is_released)

    def close(self) -> None:
        """Nobody holds anything."""
        for member in sorted({each[0] for each in self.held}):
            self.end(member)

    def _take(self, member: str, answer: Any) -> None:
        for topic in answer["responses"]:
            name = topic["topicId"].removeprefix("<id of ").removesuffix(">")
            for one in topic["partitions"]:
                for each in one["acquiredRecords"]:
                    held = self.held.setdefault((member, name, one["partitionIndex"]), {})
                    offsets = range(each["firstOffset"], each["lastOffset"] + 1)
                    held.update(dict.fromkeys(offsets, each["deliveryCount"]))

    def say(
        self, epoch: int, topics: dict[str, dict[int, Batches]], *, member: str | None = "m", **more: Any
    ) -> list[int]:
        """The codes of the answer."""

        def body(side: Side) -> Message:
            said = tuple(
                acknowledges.AcknowledgeTopic(
                    topic_id=side.topic_ids.get(name, NOBODYS),
                    partitions=tuple(
                        acknowledges.AcknowledgePartition(
                            partition_index=index,
                            acknowledgement_batches=tuple(
                                acknowledges.AcknowledgementBatch(
                                    first_offset=a, last_offset=b, acknowledge_types=types
                                )
                                for a, b, types in batches
                            ),
                        )
                        for index, batches in parts.items()
                    ),
                )
                for name, parts in topics.items()
            )
            given: dict[str, Any] = {"group_id": self.group} | more
            return acknowledges.ShareAcknowledgeRequest(
                member_id=member, share_session_epoch=epoch, topics=said, **given
            )

        found = self._same(self.ACKNOWLEDGE, body)
        return [found["errorCode"], *(one["errorCode"] for topic in found["responses"] for one in topic["partitions"])]


def _is_known(state: Any, offset: int, count: int) -> bool:
    return offset < state.start_offset or any(
        each.first_offset <= offset <= each.last_offset and each.delivery_count >= count for each in state.state_batches
    )


def acquired(answer: Any) -> list[tuple[int, int, int]]:
    return [
        (each["firstOffset"], each["lastOffset"], each["deliveryCount"])
        for topic in answer["responses"]
        for one in topic["partitions"]
        for each in one["acquiredRecords"]
    ]


def every(name: str, *indexes: int) -> dict[str, dict[int, Batches]]:
    return {name: dict.fromkeys(indexes, ())}


def of(batches: Batches, index: int = 0, name: str = ONE) -> dict[str, dict[int, Batches]]:
    return {name: {index: batches}}


def _fetch_body(**given: Any) -> Callable[[Side], Message]:
    def body(side: Side) -> Message:
        asked: dict[str, Any] = {
            "group_id": "table",
            "member_id": "m",
            "max_bytes": 1 << 20,
            "max_records": 10,
            "batch_size": 10,
        }
        part = fetches.FetchPartition(partition_index=0)
        topics = (fetches.FetchTopic(topic_id=side.topic_ids[ONE], partitions=(part,)),)
        return fetches.ShareFetchRequest(**(asked | {"topics": topics} | given))

    return body


def _acknowledge_body(**given: Any) -> Callable[[Side], Message]:
    def body(side: Side) -> Message:
        batch = acknowledges.AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=(1,))
        part = acknowledges.AcknowledgePartition(partition_index=0, acknowledgement_batches=(batch,))
        topics = (acknowledges.AcknowledgeTopic(topic_id=side.topic_ids[ONE], partitions=(part,)),)
        asked: dict[str, Any] = {"group_id": "table", "member_id": "m", "share_session_epoch": 1, "topics": topics}
        return acknowledges.ShareAcknowledgeRequest(**(asked | given))

    return body


FETCH = Table(
    ApiKey.SHARE_FETCH,
    BROKER,
    (
        Case("nothing, in a new session", _fetch_body(topics=())),
        Case("of no group", _fetch_body(group_id=None)),
        Case("of no member", _fetch_body(member_id=None)),
        Case("in the session", _fetch_body(share_session_epoch=1, topics=()), (1,)),
        Case("in a session of another epoch", _fetch_body(share_session_epoch=9)),
        Case("in nobody's session", _fetch_body(share_session_epoch=1, member_id="nobody")),
        Case("a group without a state", _fetch_body(group_id="stateless", max_wait_ms=20_000, min_bytes=1)),
        Case("at the end of nobody's session", _fetch_body(share_session_epoch=-1, member_id="nobody")),
    ),
)
ACKNOWLEDGE = Table(
    ApiKey.SHARE_ACKNOWLEDGE,
    BROKER,
    (
        Case("in nobody's session", _acknowledge_body(member_id="nobody")),
        Case("of no group", _acknowledge_body(group_id=None)),
        Case("of no member", _acknowledge_body(member_id="")),
        Case("before a session", _acknowledge_body(share_session_epoch=0)),
        Case("at the end of nobody's session", _acknowledge_body(share_session_epoch=-1, member_id="nobody")),
        Case("nothing in nobody's session", _acknowledge_body(member_id="nobody", topics=())),
    ),
)


@pytest.mark.parametrize("table", [FETCH, ACKNOWLEDGE], ids=lambda each: each.key.name.lower())
def test_requests_of_members(pair: Pair, table: Table) -> None:
    assert judge(pair, table) >= 20


def test_records_are_acquired_acknowledged_released_and_delivered_again(pair: Pair) -> None:
    story = Story(pair, "plain")
    story.begin((ONE, 0))
    first = story.fetch(0, every(ONE, 0), **WAIT)
    assert acquired(first) == [(0, 9, 1)]
    assert acquired(story.fetch(1)) == []
    assert story.say(2, of(((0, 2, (ACCEPT,)), (3, 4, (RELEASE, REJECT))))) == [0, 0]
    assert acquired(story.fetch(3)) == [(3, 3, 2)]
    assert story.say(4, of(((3, 3, (ACCEPT,)),))) == [0, 0]
    assert acquired(story.fetch(5, of(((5, 9, (ACCEPT,)),)))) == []
    story.fetch(0, every(ONE, 0), member="other")
    story.end("m")
    for side in pair.sides:
        assert _write(side, 5) == 0
    story.fetch(1, member="other", **WAIT)
    story.close()


def test_sessions_have_epochs_and_members(pair: Pair) -> None:
    for version in (1, 2):
        story = Story(pair, f"{ENDLESS}.{version}")
        story.begin((ONE, 0), (ONE, 1), (ONE, 2), (OTHER, 0))
        story.version = version
        for member in ("", None, "x" * 37, "é" * 36):
            story.fetch(0, every(ONE, 2), member=member, **(WAIT if member and len(member) == 36 else {}))
            story.say(1, of(((0, 0, (ACCEPT,)),), 2), member=member)
        story.fetch(-1, member="é" * 36)
        story.fetch(0, every(ONE, 0), group_id=None)
        story.fetch(0, every(ONE, 0), group_id="", max_wait_ms=500, min_bytes=1)
        story.fetch(3, every(ONE, 0), member="nobody")
        story.fetch(-1, member="nobody")
        story.fetch(0, of(((0, 0, (ACCEPT,)),)), member="nobody")
        story.say(0, of(((0, 0, (ACCEPT,)),)))
        story.say(-1, of(((0, 0, (ACCEPT,)),)), member="nobody")
        story.say(1, of(((0, 0, (ACCEPT,)),)), member="nobody")
        story.fetch(0, every(ONE, 1, 0), **WAIT)
        story.fetch(5)
        story.say(5, {})
        story.fetch(-5)
        story.fetch(1)
        story.fetch(1)
        story.fetch(2, every(OTHER, 0, 7))
        story.fetch(3)
        story.fetch(4, forget={"nobody's": (0,), OTHER: (7,), ONE: (5,)})
        story.fetch(5, forget={ONE: (0, 1)})
        story.say(6, {})
        story.fetch(-1)
        story.fetch(-1)
        story.fetch(0)
        story.fetch(1)
        story.fetch(2, max_records=0)
        story.say(-1, {})


def test_a_topic_that_nobody_knows_fails_that_topic_and_not_the_request(pair: Pair) -> None:
    """Kafka's answer fails."""
    words = "ShareFetch that adds a topic id that nobody knows to a session"
    assert words in DEVIATIONS.read_text().replace("\n", " ")
    story = Story(pair, "unknown topics")
    topics = (fetches.FetchTopic(topic_id=NOBODYS, partitions=(fetches.FetchPartition(partition_index=0),)),)
    for epoch in (0, 1):
        body = _fetch_body(group_id=story.group, share_session_epoch=epoch, topics=topics)
        java, ours = ask_both(pair, story.FETCH, Asked(Case("unknown", body), ListenerType.BROKER, 2))
        assert java["errorCode"] == ErrorCode.UNKNOWN_SERVER_ERROR
        told = [one["errorCode"] for topic in ours["responses"] for one in topic["partitions"]]
        assert told == [ErrorCode.UNKNOWN_TOPIC_ID]


def test_what_a_member_may_not_say_is_refused_with_kafkas_codes(pair: Pair) -> None:
    story = Story(pair, "wrong")
    story.begin((ONE, 0), (ONE, 1), (OTHER, 0))
    story.fetch(0, every(ONE, 0), **WAIT)
    story.fetch(0, every(ONE, 1), member="other", **WAIT)
    wrong: tuple[Batches, ...] = (
        ((5, 3, (ACCEPT,)),),
        ((0, 3, ()),),
        ((0, 3, (ACCEPT, ACCEPT)),),
        ((0, 3, (9,)),),
        ((0, 3, (-1,)),),
        ((0, 3, (RENEW,)),),
        ((4, 5, (ACCEPT,)), (2, 3, (ACCEPT,))),
        ((2, 4, (ACCEPT,)), (3, 5, (ACCEPT,))),
        ((-5, -1, (ACCEPT,)),),
        ((100, 200, (ACCEPT,)),),
        ((0, LARGEST, (ACCEPT,)),),
        ((5, LARGEST, (ACCEPT,)),),
        ((LARGEST, LARGEST, (ACCEPT,)),),
        ((0, 0, (ACCEPT,)), (0, 0, (ACCEPT,))),
        ((2, 2, (RELEASE,)), (2, 3, (ACCEPT, ACCEPT))),
        (),
    )
    epoch = 1
    for batches in wrong:
        story.say(epoch, of(batches))
        story.fetch(epoch + 1, of(batches))
        epoch += 2
    story.say(epoch, of(((0, 3, (ACCEPT,)),), 1))
    story.say(epoch + 1, of(((0, 3, (ACCEPT,)),), 0, OTHER))
    story.say(epoch + 2, of(((0, 3, (ACCEPT,)),), 9))
    story.say(epoch + 3, of(((0, 3, (ACCEPT,)),), 0, "nobody's"))
    story.say(epoch + 4, of(((0, 3, (ACCEPT,)),)) | {OTHER: {0: (), 1: ((0, 0, (ACCEPT,)),)}})
    story.say(epoch + 5, of(((0, 3, (ACCEPT,)),)))
    story.say(epoch + 6, of(((0, 9, (REJECT,) * 10),)))
    told = of(((4, 9, (RELEASE,)),)) | {OTHER: {0: (), 1: ((0, 0, (ACCEPT,)),)}}
    story.fetch(epoch + 7, told, max_records=0)  # What is fetched is looked for first: it may be there, or not yet.
    story.close()


def test_locks_are_renewed_by_who_says_so(pair: Pair) -> None:
    story = Story(pair, "renewals")
    story.begin((ONE, 0))
    story.fetch(0, every(ONE, 0), **WAIT)
    assert story.say(1, of(((0, 9, (RENEW,)),)), is_renew_ack=True) == [0, 0]
    assert story.say(2, of(((0, 1, (RENEW, ACCEPT)), (3, 3, (RENEW,)))), is_renew_ack=True) == [0, 0]
    story.fetch(3, of(((4, 4, (RENEW,)),)), is_renew_ack=True)
    story.fetch(3, of(((4, 4, (RENEW,)),)), is_renew_ack=True, max_bytes=0, max_records=0)
    story.fetch(4, of(((5, 5, (RENEW,)),)))
    story.fetch(5)
    story.close()


def test_records_come_whole_batches_or_exactly_as_many_as_are_wanted(pair: Pair) -> None:
    story = Story(pair, "sizes")
    story.begin((OTHER, 0), (OTHER, 1))
    for side in pair.sides:
        for count in (4, 6, 1, 9, 10):
            assert _write(side, count, name=OTHER) == 0
            assert _write(side, count, name=OTHER, index=1) == 0
    for member, more in (
        ("a", {"max_records": 5, "batch_size": 3}),
        ("b", {"max_records": 1, "share_acquire_mode": 1}),
        ("c", {"max_records": 3, "share_acquire_mode": 1}),
        ("d", {"max_records": 500, "batch_size": 2}),
        ("e", {"max_records": -1}),
        ("f", {"max_bytes": -1}),
        ("g", {"max_bytes": 1, "max_records": 2}),
    ):
        story.fetch(0, every(OTHER, 0), member=member, **(WAIT | more if member in "abc" else more))
    story.fetch(0, every(OTHER, 1), member="x", **WAIT, max_records=2, share_acquire_mode=1)
    story.say(1, of(((0, 1, (RELEASE,)),), 1, OTHER), member="x")
    story.fetch(2, member="x", max_records=3, share_acquire_mode=1)
    story.fetch(3, member="x", max_records=30)
    story.end("x")
    story.fetch(0, every(OTHER, 1), member="y", **WAIT)
    story.fetch(1, member="y")
    story.close()


def test_a_record_is_delivered_so_often_and_alone_in_the_end(pair: Pair) -> None:
    story = Story(pair, "often")
    story.begin((ONE, 2))
    epoch, found = 0, acquired(story.fetch(0, every(ONE, 2), **WAIT))
    for _ in range(14):
        epoch += 1
        said: Batches = tuple((a, b, (RELEASE,)) for a, b, _ in found)
        story.say(epoch, of(said, 2))
        epoch += 1
        found = acquired(story.fetch(epoch))
        if not found:
            break
    story.close()


def test_the_log_begins_later(pair: Pair) -> None:
    story = Story(pair, "begins later")
    story.begin((ONE, 1))
    story.fetch(0, every(ONE, 1), **WAIT)
    story.say(1, of(((3, 8, (RELEASE,)),), 1))
    for side in pair.sides:
        part = DeleteRecordsPartition(partition_index=1, offset=7)
        topic = DeleteRecordsTopic(name=ONE, partitions=(part,))
        side.call(ListenerType.BROKER, DeleteRecordsRequest(topics=(topic,), timeout_ms=30_000), 2)
    for epoch in range(2, 5):
        story.fetch(epoch)
    story.say(5, of(((0, 9, (ACCEPT,)),), 1))
    story.say(6, of(((9, 9, (ACCEPT,)),), 1))
    story.fetch(7)
    story.close()


@pytest.mark.parametrize("begins", ["earliest", "latest", "by_duration:PT1H"])
def test_a_group_begins_where_its_configuration_says(pair: Pair, begins: str) -> None:
    story = Story(pair, f"begins.{begins[:8]}")
    for side in pair.sides:
        config = AlterableConfig(name="share.auto.offset.reset", config_operation=0, value=begins)
        resource = AlterConfigsResource(resource_type=32, resource_name=story.group, configs=(config,))
        asked = IncrementalAlterConfigsRequest(resources=(resource,))
        assert side.call(ListenerType.BROKER, asked, 1).responses[0].error_code == 0
    story.begin((ONE, 0), start=-1)
    first = {"max_wait_ms": 3_000} if begins == "latest" else WAIT  # as long as it takes to find out where it begins
    story.fetch(0, every(ONE, 0), **first)
    for epoch in (1, 2):
        story.fetch(epoch, max_wait_ms=300)
    for side in pair.sides:
        assert _write(side, 3) == 0
    story.fetch(3, max_wait_ms=5_000, min_bytes=1)
    story.close()


@pytest.mark.parametrize("seed", range(2))
def test_whatever_two_members_do_both_answer_the_same(pair: Pair, seed: int) -> None:
    dice, story = Random(seed), Story(pair, f"dice.{seed}")
    story.begin((ONE, 0))
    epochs = dict.fromkeys("ab", 0)
    held: dict[str, list[tuple[int, int, int]]] = {"a": [], "b": []}
    for step in range(60):
        member = dice.choice("ab")
        if epochs[member] == 0 or dice.random() < 0.45:
            more: dict[str, Any] = {"max_records": dice.randrange(1, 12), "share_acquire_mode": dice.randrange(2)}
            more |= {} if step else WAIT
            topics = every(ONE, 0) if epochs[member] == 0 else None
            found = acquired(story.fetch(epochs[member], topics, member=member, **more))
            held[member] += found
            epochs[member] += 1
        else:
            first, last, _ = dice.choice(held[member] or [(0, 3, 0)])
            first = dice.randrange(first, last + 1)
            types = tuple(dice.choice((0, 1, 1, 2, 3)) for _ in range(last - first + 1))
            story.say(epochs[member], of(((first, last, dice.choice((types, types[:1]))),)), member=member)
            epochs[member] += 1
        if dice.random() < 0.15:
            for side in pair.sides:
                assert _write(side, 1 + step % 7) == 0


def test_states_were_written_as_by_kafka(pair: Pair) -> None:
    """Of all stories above, record by record."""
    said = [_records(side) for side in pair.sides]
    assert said[0] == said[1], "\n".join(
        f"{key}:\n java {his}\n ours {said[1].get(key)}" for key, his in said[0].items() if his != said[1].get(key)
    )
    assert sum(map(len, said[0].values())) > 60


def _records(side: Side) -> dict[Any, list[Any]]:
    """By key, in order, with topics by their names, and without times."""
    names = {each: name for name, each in side.topic_ids.items()}
    found: dict[Any, list[Any]] = {}
    for index in range(STATE_PARTITIONS):
        for batch in decode_batches(_log(side, index)):
            for record in batch.records:
                line = read(record.key, record.value)
                assert isinstance(line, ShareRecord)
                key, value = line.key, line.value
                if key.group_id.startswith(ENDLESS):
                    continue
                assert partition_for(str(ShareKey(key.group_id, key.topic_id, key.partition)), 50) == index
                if isinstance(value, ShareState):
                    value = replace(value, created_ms=value.created_ms - value.written_ms, written_ms=0)
                found.setdefault((key.group_id, names[key.topic_id], key.partition), []).append(value)
    return found


def _log(side: Side, index: int) -> bytes:
    wanted = FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 24)
    topic = FetchTopic(topic=STATES, topic_id=side.topic_ids[STATES], partitions=(wanted,))
    answer = side.call(ListenerType.BROKER, FetchRequest(max_wait_ms=0, min_bytes=0, topics=(topic,)), 13)
    found = answer.responses[0].partitions[0] if answer.responses else None
    return b"" if found is None or not found.records else bytes(found.records)
