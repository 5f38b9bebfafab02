"""A story that two controllers hear: brokers that are nobody's processes come and go, propose ISRs, lose directories,
and people elect, reassign and configure.

What is asked is drawn from the dice, right and wrong; both have to answer the same at every step, to show the same
partitions, and to have written the same of them (`same_in_both_logs`).

Java keeps a replica eligible that is removed (docs/deviations.md): a topic of which it shows that is looked at no more,
and another one takes its place, since the two would not decide the same of it once that replica is added again. The
directories of brokers are a story's own: Java's index of them keeps the partitions of topics that were deleted, and its
controller resigns when such a directory fails.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, Final, Literal
from zlib import crc32

from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.api_keys import ListenerType
from controller_runtime.protocol.errors import ErrorCode, ProtocolError
from controller_runtime.protocol.json_form import to_json
from controller_runtime.protocol.messages import alter_partition_reassignments_request as reassign_q
from controller_runtime.protocol.messages import alter_partition_request as isr_q
from controller_runtime.protocol.messages import assign_replicas_to_dirs_request as assign_q
from controller_runtime.protocol.messages import broker_registration_request as broker_q
from controller_runtime.protocol.messages import create_partitions_request as grow_q
from controller_runtime.protocol.messages import create_topics_request as topics_q
from controller_runtime.protocol.messages import describe_topic_partitions_request as describe_q
from controller_runtime.protocol.messages import describe_topic_partitions_response as describe_a
from controller_runtime.protocol.messages import elect_leaders_request as elect_q
from controller_runtime.protocol.messages import incremental_alter_configs_request as configs_q
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.delete_topics_request import DeleteTopicsRequest
from controller_runtime.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from controller_runtime.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from controller_runtime.protocol.schema import Message
from support.apache_kafka.differential import Pair, Side, places_that_differ
from support.disks.metadata_disk import image_of_log, metadata_directory
from support.nodes.processes import CLUSTER_ID

BROKERS: Final = (81, 82, 83, 84, 85)
STRANGER: Final = 99
FEATURES: Final = (
    ("metadata.version", 7, 30), ("kraft.version", 0, 1), ("transaction.version", 0, 2), ("group.version", 0, 1),
    ("eligible.leader.replicas.version", 0, 1), ("share.version", 0, 1), ("streams.version", 0, 1),
)  # fmt: skip
TOPICS: Final = 4
SEEN_WITHIN_S: Final = 20.0
SETTINGS: Final = {
    "broker.session.timeout.ms": "3600000",
    "broker.heartbeat.interval.ms": "1000",
    "auto.leader.rebalance.enable": "false",
}
"""Of both nodes. Brokers without a process are not fenced for their silence; the node's own says soon what it has read,
which a broker that leaves waits for.
"""
FAR: Final = 1 << 40
"""An offset that nobody's log reaches."""


def uuid(number: int) -> Uuid:
    return Uuid.of(0x1000_0000_0000_4000, 0x8000_0000_0000_2000 + number)


@dataclass(slots=True)
class Seen:
    """A partition as Java describes it."""

    topic: str
    index: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(slots=True)
class Story:
    """What both controllers are told, and what was seen of it."""

    pair: Pair
    random: Random
    name: str
    epochs: dict[int, dict[str, int]] = field(default_factory=dict)
    """Of brokers, by the side that gave them."""
    partition_epochs: dict[tuple[str, int], int] = field(default_factory=dict)
    """The last ones known; they only grow."""
    offline: dict[int, tuple[Uuid, ...]] = field(default_factory=dict)
    """The log directories that each broker lost in this run of it."""
    told: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    """Those that are looked at."""
    forgotten: set[str] = field(default_factory=set)
    """Those that are not any more."""

    # Telling both.

    def both(self, body: Message | dict[str, Message], role: ListenerType, version: int) -> Any:
        """Java's answer; ours has to be the same."""
        bodies = body if isinstance(body, dict) else dict.fromkeys(("java", "ours"), body)
        answers = {side.name: side.call(role, bodies[side.name], version) for side in self.pair.sides}
        read = {side.name: self._comparable(side, answers[side.name], version) for side in self.pair.sides}
        self.told.append(f"{bodies['java']}\n    -> {read['java']}")
        self._agree(read)
        return answers["java"]

    def _agree(self, read: Mapping[Literal["java", "ours"], Any]) -> None:
        places = list(places_that_differ(read["java"], read["ours"], "answer"))
        assert not places, "\n".join((*self.told[-15:], *places))

    def _comparable(self, side: Side, answer: Message, version: int) -> Any:
        text = json.dumps(_ordered(to_json(answer, version)))
        for value, name in side.named.items():
            text = text.replace(f'"{value}"', f'"{name}"') if isinstance(value, str) else text
        return _ordered(self._without_forgotten(json.loads(text)))

    def _without_forgotten(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._without_forgotten(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self._without_forgotten(each) for each in value if not self._is_forgotten(each)]
        return value

    def _is_forgotten(self, item: Any) -> bool:
        return isinstance(item, dict) and (item.get("name") in self.forgotten or item.get("topic") in self.forgotten)

    def start_broker(self, broker: int, *, clean: bool = True) -> None:
        """A new process of it, in both worlds or in none."""
        former = self.epochs.get(broker, {})

        def register(side: Side) -> Any:
            return side.call(
                ListenerType.CONTROLLER,
                broker_q.BrokerRegistrationRequest(
                    broker_id=broker,
                    cluster_id=CLUSTER_ID,
                    incarnation_id=uuid(1000 * broker + len(self.told)),
                    listeners=(broker_q.Listener(name="PLAINTEXT", host="127.0.0.1", port=9, security_protocol=0),),
                    features=tuple(
                        broker_q.Feature(name=name, min_supported_version=low, max_supported_version=high)
                        for name, low, high in FEATURES
                    ),
                    log_dirs=self.directories_of(broker),
                    previous_broker_epoch=former.get(side.name, -1) if clean else -1,
                ),
                4,
            )

        answers = {side.name: register(side) for side in self.pair.sides}
        if answers["java"].error_code == ErrorCode.UNKNOWN_SERVER_ERROR:
            # Its index of ISRs names a topic that is gone, and it resigned: the next epoch has a new index.
            self.wait_for_java()
            answers["java"] = register(self.pair.java)
        self.told.append(f"broker {broker} registers, clean={clean}")
        self._agree({name: ErrorCode(answer.error_code).name for name, answer in answers.items()})
        if not answers["java"].error_code:
            self.epochs[broker] = {name: answer.broker_epoch for name, answer in answers.items()}
            self.offline.pop(broker, None)
            self.beat(broker)

    def beat(self, broker: int, **changes: Any) -> Any:
        """A heartbeat of the broker's last registration; what it lost it says every time, as Kafka's brokers do."""
        said = {"current_metadata_offset": FAR, "offline_log_dirs": self.offline.get(broker, ()), **changes}
        return self.both(
            {
                name: BrokerHeartbeatRequest(broker_id=broker, broker_epoch=epoch, **said)
                for name, epoch in self.epochs[broker].items()
            },
            ListenerType.CONTROLLER,
            2,
        )

    def create(self, name: str, *assignments: tuple[int, ...], **configs: str) -> None:
        topic = topics_q.CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=tuple(
                topics_q.CreatableReplicaAssignment(partition_index=index, broker_ids=replicas)
                for index, replicas in enumerate(assignments)
            ),
            configs=tuple(
                topics_q.CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()
            ),
        )
        made = {
            side.name: side.call(
                ListenerType.CONTROLLER, topics_q.CreateTopicsRequest(topics=(topic,), timeout_ms=9000), 7
            )
            for side in self.pair.sides
        }
        codes = {side: (each.topics[0].error_code, each.topics[0].error_message) for side, each in made.items()}
        assert codes["ours"] == codes["java"]
        for side in self.pair.sides:
            side.topic_ids[name] = made[side.name].topics[0].topic_id
            side.named[str(side.topic_ids[name])] = f"<id of {name}>"

    def begin_topic(self) -> None:
        """Two partitions with one to four replicas."""
        dice = self.random
        assignments = [tuple(dice.sample(BROKERS, factor)) for factor in [dice.randrange(1, 5)] * 2]
        extra = {"unclean_leader_election_enable": "true"} if dice.random() < 0.3 else {}
        name = f"{self.name}-{len(self.told)}-{len(self.topics)}"
        self.create(name, *assignments, min_insync_replicas=str(dice.randrange(1, 4)), **extra)
        self.topics.append(name)

    def forget_topic(self, name: str, *, deleted: bool) -> None:
        self.told.append(f"{name} is forgotten: Java keeps a replica that was removed")
        if deleted:
            deletion = DeleteTopicsRequest(topic_names=(name,), timeout_ms=9000)
            for side in self.pair.sides:
                side.call(ListenerType.CONTROLLER, deletion, 5)
        self.topics.remove(name)
        self.forgotten.add(name)
        self.begin_topic()

    def directories_of(self, broker: int) -> tuple[Uuid, ...]:
        """One, two or three; brokers with one are common."""
        salt = crc32(self.name.encode()) << 10
        return tuple(uuid(salt + 10 * broker + number) for number in range(1 + broker % 3))

    # What both show.

    def partitions(self) -> list[Seen]:
        """Of this story's topics; both brokers have to come to show the same."""
        shown = self._shown()
        while former := [topic for topic in shown.topics if any(map(_keeps_removed, topic.partitions))]:
            for topic in sorted(former, key=lambda each: each.name or ""):
                # Looking for a leader among such, Java resigns; deleted, the others stay in its index of ELRs.
                self.forget_topic(topic.name or "", deleted=any(map(_may_follow_removed, topic.partitions)))
            shown = self._shown()
        return [
            Seen(
                topic.name or "",
                it.partition_index,
                it.leader_id,
                it.leader_epoch,
                tuple(it.replica_nodes),
                tuple(it.isr_nodes),
            )
            for topic in shown.topics
            for it in topic.partitions
        ]

    def _shown(self) -> describe_a.DescribeTopicPartitionsResponse:
        """By Java, and by ours but for eligible replicas that were removed."""
        deadline = time.monotonic() + SEEN_WITHIN_S
        request = describe_q.DescribeTopicPartitionsRequest(
            topics=tuple(describe_q.TopicRequest(name=name) for name in self.topics)
        )
        while True:
            shown = {side.name: side.call(ListenerType.BROKER, request, 0) for side in self.pair.sides}
            asked_of_java = shown["java"]
            assert isinstance(asked_of_java, describe_a.DescribeTopicPartitionsResponse)
            shown["java"] = _without_removed(asked_of_java)
            read = {side.name: self._comparable(side, shown[side.name], 0) for side in self.pair.sides}
            if read["java"] == read["ours"]:
                return asked_of_java
            if time.monotonic() > deadline:
                self._agree(read)
            time.sleep(0.05)

    # Steps.

    def step(self) -> None:
        choices = (
            *(self.propose,) * 3,
            self.propose_nonsense,
            self.elect,
            *(self.reassign,) * 2,
            self.cancel,
            self.fence,
            self.unfence,
            self.grow,
            self.list_reassignments,
            *(self.assign,) * 2,
            self.lose_directory,
            self.cordon,
            *(self.restart,) * 2,
            self.leave,
            self.unregister,
            self.configure,
        )
        self.random.choice(choices)()

    def propose(self) -> None:
        """What a leader would."""
        seen = self.random.choice([each for each in self.partitions() if each.leader >= 0] or [None])
        if seen is None:
            return
        others = [replica for replica in seen.replicas if replica != seen.leader]
        joins = others if self.random.random() < 0.4 else [it for it in others if self.random.random() < 0.5]
        self._propose(seen, seen.leader, (seen.leader, *joins), self._learn_epoch(seen))

    def propose_nonsense(self) -> None:
        seen, dice = self.random.choice(self.partitions()), self.random
        sender = dice.choice((seen.leader, *seen.replicas, *BROKERS))
        if sender not in self.epochs:
            return
        isr = tuple(dice.choices((*seen.replicas, *BROKERS, STRANGER), k=dice.randrange(5)))
        epoch = self.partition_epochs.get((seen.topic, seen.index), 0) + dice.choice((-1, 0, 0, 1))
        shift, state = dice.choice((-1, 0, 0, 0, 1)), dice.choice((0, 0, 0, 1))
        self._propose(seen, sender, isr, epoch, leader_epoch=seen.leader_epoch + shift, state=state)

    def _propose(
        self,
        seen: Seen,
        sender: int,
        isr: tuple[int, ...],
        epoch: int,
        *,
        leader_epoch: int | None = None,
        state: int = 0,
    ) -> int:
        """The error of the answer."""
        version = self.random.choice((2, 3, 3))
        bodies: dict[str, Message] = {}
        for side in self.pair.sides:
            with_epochs = tuple(
                isr_q.BrokerState(broker_id=it, broker_epoch=self.epochs.get(it, {}).get(side.name, -1)) for it in isr
            )
            proposal = isr_q.PartitionData(
                partition_index=seen.index,
                leader_epoch=seen.leader_epoch if leader_epoch is None else leader_epoch,
                new_isr=isr if version < 3 else (),
                new_isr_with_epochs=with_epochs if version >= 3 else (),
                leader_recovery_state=state,
                partition_epoch=epoch,
            )
            topic = isr_q.TopicData(topic_id=side.topic_ids[seen.topic], partitions=(proposal,))
            sent = self.epochs[sender][side.name]
            bodies[side.name] = isr_q.AlterPartitionRequest(broker_id=sender, broker_epoch=sent, topics=(topic,))
        answer = self.both(bodies, ListenerType.CONTROLLER, version)
        if not answer.topics:
            return int(answer.error_code)
        found = answer.topics[0].partitions[0]
        if not found.error_code:
            self.partition_epochs[seen.topic, seen.index] = found.partition_epoch
        return int(found.error_code)

    def _learn_epoch(self, seen: Seen) -> int:
        """Proposals of what is so already change nothing; the partition's epoch is the first that is not too old."""
        key = (seen.topic, seen.index)
        while self._propose(seen, seen.leader, seen.isr, epoch := self.partition_epochs.get(key, 0)) == (
            ErrorCode.INVALID_UPDATE_VERSION
        ):
            self.partition_epochs[key] = epoch + 1
        return self.partition_epochs.get(key, 0)

    def elect(self) -> None:
        dice = self.random
        some = dice.sample(self.partitions(), 2)
        asked = tuple(
            elect_q.TopicPartitions(topic=each.topic, partitions=(each.index, *dice.choice(((), (77,)))))
            for each in some
        )
        request = elect_q.ElectLeadersRequest(
            election_type=dice.choice((0, 0, 0, 1, 1, 5)), topic_partitions=dice.choice((asked, asked, asked, None, ()))
        )
        self.both(request, dice.choice((ListenerType.CONTROLLER, ListenerType.BROKER)), dice.choice((1, 2)))

    def reassign(self) -> None:
        dice = self.random
        wanted = tuple(
            reassign_q.ReassignableTopic(
                name=each.topic,
                partitions=(
                    reassign_q.ReassignablePartition(
                        partition_index=each.index,
                        replicas=tuple(dice.sample((*BROKERS, STRANGER) if dice.random() < 0.1 else BROKERS, k=n))
                        if (n := dice.randrange(4 if dice.random() < 0.1 else 1, 5))
                        else (),
                    ),
                ),
            )
            for each in dice.sample(self.partitions(), 2)
        )
        self._reassign(wanted)

    def cancel(self) -> None:
        nothing = reassign_q.ReassignablePartition
        some = self.random.sample(self.partitions(), 3)
        self._reassign(
            tuple(
                reassign_q.ReassignableTopic(
                    name=each.topic, partitions=(nothing(partition_index=each.index, replicas=None),)
                )
                for each in some
            )
        )

    def _reassign(self, topics: tuple[reassign_q.ReassignableTopic, ...]) -> None:
        version = self.random.choice((0, 1))
        request = reassign_q.AlterPartitionReassignmentsRequest(
            topics=topics, allow_replication_factor_change=version == 0 or self.random.random() < 0.7
        )
        self.both(request, self.random.choice((ListenerType.CONTROLLER, ListenerType.BROKER)), version)

    def list_reassignments(self) -> None:
        self.both(ListPartitionReassignmentsRequest(topics=None), ListenerType.CONTROLLER, 0)

    def fence(self) -> None:
        self.beat(self.random.choice(BROKERS), want_fence=True)

    def unfence(self) -> None:
        for broker in BROKERS:
            self.beat(broker)

    def assign(self) -> None:
        """A broker says where replicas live; some are none of its, and some directories neither."""
        dice, broker = self.random, self.random.choice(BROKERS)
        seen = self.partitions()
        of_own = [each for each in seen if broker in each.replicas]
        homes = (*self.directories_of(broker) * 3, self.directories_of(BROKERS[0])[0], uuid(1), Uuid.of(0, 1))
        wanted = [(dice.choice(homes), dice.choice(of_own or seen)) for _ in range(3)] + [
            (dice.choice(homes), dice.choice(seen))
        ]
        self.both(
            {
                side.name: assign_q.AssignReplicasToDirsRequest(
                    broker_id=broker,
                    broker_epoch=self.epochs[broker][side.name],
                    directories=tuple(
                        assign_q.DirectoryData(
                            id=home,
                            topics=(
                                assign_q.TopicData(
                                    topic_id=side.topic_ids[each.topic],
                                    partitions=(assign_q.PartitionData(partition_index=each.index),),
                                ),
                            ),
                        )
                        for home, each in wanted
                    ),
                )
                for side in self.pair.sides
            },
            ListenerType.CONTROLLER,
            0,
        )

    def lose_directory(self) -> None:
        """All but the last: a broker that has none left ends itself."""
        broker = self.random.choice(BROKERS)
        lost = self.random.sample(
            self.directories_of(broker), k=self.random.randrange(len(self.directories_of(broker)))
        )
        self.offline[broker] = tuple(dict.fromkeys((*self.offline.get(broker, ()), *lost)))[
            : len(self.directories_of(broker)) - 1
        ]
        self.beat(broker)

    def cordon(self) -> None:
        broker = self.random.choice(BROKERS)
        some = tuple(each for each in self.directories_of(broker) if self.random.random() < 0.4)
        self.beat(broker, cordoned_log_dirs=some)

    def restart(self) -> None:
        """Without a word, its session stands in the way; after its end under control it comes back, as one that ended
        well or not.
        """
        broker = self.random.choice(BROKERS)
        if self.random.random() < 0.3:
            self.unfence()
            self.start_broker(broker)
            return
        self.beat(broker, want_fence=True)
        self.beat(broker, want_shut_down=True)
        self.forget_session_of(broker)
        self.start_broker(broker, clean=self.random.random() < 0.5)

    def leave(self) -> None:
        """Under control: others lead first, and everybody who is there has to know it; how soon, is not compared.
        Who leads where nobody else may stays until it is unregistered.

        Java forgets what a broker has read with the heartbeat that unfences it, so everybody says it once more.
        """
        broker = self.random.choice(BROKERS)
        self.unfence()
        self.unfence()
        deadline = time.monotonic() + SEEN_WITHIN_S
        while True:
            answers = {
                side.name: side.call(
                    ListenerType.CONTROLLER,
                    BrokerHeartbeatRequest(
                        broker_id=broker,
                        broker_epoch=self.epochs[broker][side.name],
                        current_metadata_offset=FAR,
                        want_shut_down=True,
                        offline_log_dirs=self.offline.get(broker, ()),
                    ),
                    2,
                )
                for side in self.pair.sides
            }
            self._agree({name: ErrorCode(answer.error_code).name for name, answer in answers.items()})
            done = {answers[name].should_shut_down for name in answers}
            if done == {True} or (done == {False} and any(each.leader == broker for each in self.partitions())):
                break
            if time.monotonic() > deadline:
                self._agree({name: _ordered(to_json(answer, 2)) for name, answer in answers.items()})
                break
            time.sleep(0.05)
        self.told.append(f"broker {broker} leaves: {done}")
        self.partitions()
        if done == {True}:
            self.forget_session_of(broker)
        else:
            self.both(UnregisterBrokerRequest(broker_id=broker), ListenerType.CONTROLLER, 0)
        self.start_broker(broker, clean=self.random.random() < 0.7)

    def forget_session_of(self, gone: int) -> None:
        """A new leadership knows no session of fenced brokers. Java's refuses the successor of a broker that ended
        under control for the rest of the session (docs/deviations.md), and here sessions are long. The broker that is
        `gone` says nothing any more. Where nobody leads, Java cannot be made to resign.
        """
        if not self._make_java_resign():
            self.both(UnregisterBrokerRequest(broker_id=gone), ListenerType.CONTROLLER, 0)
            return
        others = [broker for broker in BROKERS if broker != gone]
        for broker in others:
            self.beat(broker, want_fence=True)
        for broker in others:
            self.beat(broker)

    def _make_java_resign(self) -> bool:
        """False: it could not be done."""
        for leading in [each for each in self.partitions() if each.leader >= 0]:
            if self.nonsense_state(self.pair.java, leading).error_code == ErrorCode.UNKNOWN_SERVER_ERROR:
                self.wait_for_java()
                return True  # Else finding out the partition's epoch has ended a reassignment: its leader changed.
        return False

    def wait_for_java(self) -> None:
        """Until its controller leads again."""
        deadline = time.monotonic() + SEEN_WITHIN_S
        nobody = BrokerHeartbeatRequest(broker_id=STRANGER)
        while self.pair.java.call(ListenerType.CONTROLLER, nobody, 1).error_code == ErrorCode.NOT_CONTROLLER:
            assert time.monotonic() < deadline, "Java's controller does not come back"
            time.sleep(0.05)

    def nonsense_state(self, side: Side, seen: Seen) -> Any:
        """The answer to a proposal that is right but for its recovery state."""
        epoch = self._learn_epoch(seen)
        proposal = isr_q.PartitionData(
            partition_index=seen.index,
            leader_epoch=seen.leader_epoch,
            new_isr_with_epochs=(isr_q.BrokerState(broker_id=seen.leader, broker_epoch=-1),),
            leader_recovery_state=7,
            partition_epoch=epoch,
        )
        topic = isr_q.TopicData(topic_id=side.topic_ids[seen.topic], partitions=(proposal,))
        sent = self.epochs[seen.leader][side.name]
        body = isr_q.AlterPartitionRequest(broker_id=seen.leader, broker_epoch=sent, topics=(topic,))
        return side.call(ListenerType.CONTROLLER, body, 3)

    def unregister(self) -> None:
        broker = self.random.choice((*BROKERS, STRANGER))
        role = self.random.choice((ListenerType.CONTROLLER, ListenerType.BROKER))
        self.both(UnregisterBrokerRequest(broker_id=broker), role, 0)
        if broker != STRANGER and self.random.random() < 0.7:
            self.start_broker(broker)

    def configure(self) -> None:
        """Whether anybody may lead. Not min.insync.replicas: Java's index of ELRs keeps what its ClearElrRecord clears,
        so it changes such partitions with every broker that comes or goes, and resigns once their topic is deleted.
        """
        dice = self.random
        change = configs_q.AlterableConfig(
            name="unclean.leader.election.enable",
            config_operation=dice.choice((0, 0, 1)),
            value=dice.choice(("true", "false")),
        )
        resource = configs_q.AlterConfigsResource(
            resource_type=2, resource_name=dice.choice(self.topics), configs=(change,)
        )
        self.both(
            configs_q.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False),
            dice.choice((ListenerType.CONTROLLER, ListenerType.BROKER)),
            1,
        )

    def grow(self) -> None:
        dice = self.random
        each = dice.choice(self.partitions())
        count = sum(other.topic == each.topic for other in self.partitions()) + dice.choice((-1, 0, 1, 1, 2))
        sizes = (len(each.replicas), len(each.replicas), 1)
        new = tuple(
            grow_q.CreatePartitionsAssignment(broker_ids=tuple(dice.sample(BROKERS, dice.choice(sizes))))
            for _ in range(dice.choice((1, 1, 2)))
        )
        topic = grow_q.CreatePartitionsTopic(
            name=dice.choice((each.topic, "no-such-topic")), count=count, assignments=new
        )
        topics = dice.choice(((topic,), (topic,), (topic, topic), ()))
        request = grow_q.CreatePartitionsRequest(topics=topics, timeout_ms=9000, validate_only=dice.random() < 0.2)
        self.both(request, dice.choice((ListenerType.CONTROLLER, ListenerType.BROKER)), dice.choice((2, 3)))


def _keeps_removed(partition: describe_a.DescribeTopicPartitionsResponsePartition) -> bool:
    kept = not set(partition.eligible_leader_replicas or ()) <= set(partition.replica_nodes)
    return kept or _may_follow_removed(partition)


def _may_follow_removed(partition: describe_a.DescribeTopicPartitionsResponsePartition) -> bool:
    """Its last known leader holds it no more."""
    return not set(partition.last_known_elr or ()) <= set(partition.replica_nodes)


def _without_removed(
    shown: describe_a.DescribeTopicPartitionsResponse,
) -> describe_a.DescribeTopicPartitionsResponse:
    def members(
        partition: describe_a.DescribeTopicPartitionsResponsePartition,
    ) -> describe_a.DescribeTopicPartitionsResponsePartition:
        eligible, last = partition.eligible_leader_replicas or (), partition.last_known_elr or ()
        return replace(
            partition,
            eligible_leader_replicas=tuple(it for it in eligible if it in partition.replica_nodes),
            last_known_elr=tuple(it for it in last if it in partition.replica_nodes),
        )

    topics = tuple(replace(topic, partitions=tuple(map(members, topic.partitions))) for topic in shown.topics)
    return replace(shown, topics=topics)


def _ordered(value: Any) -> Any:
    """Lists of objects in an order of their own: Java's come from hash maps."""
    if isinstance(value, dict):
        return {key: _ordered(each) for key, each in value.items() if key != "throttleTimeMs"}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return sorted(map(_ordered, value), key=repr)
    return value


def image_in_log(directory: Path) -> MetadataImage:
    """Of a node whose log begins at 0."""
    return image_of_log(metadata_directory(directory), FAR)


def written_of(image: MetadataImage, topics: Collection[str]) -> dict[str, Any]:
    """What a log says of these topics, and of BROKERS, without what no two clusters share."""
    partitions = {
        f"{topic.name}-{index}": partition
        for topic in image.topics
        if topic.name in topics
        for index, partition in topic.partitions()
    }
    brokers = {
        f"broker {broker.id}": (
            broker.incarnation_id,
            broker.fenced,
            broker.in_controlled_shutdown,
            broker.directories,
            broker.cordoned_directories,
        )
        for broker in image.cluster.brokers.values()
        if broker.id in BROKERS
    }
    return {**partitions, **brokers}


def same_in_both_logs(java: Path, ours: Path, topics: Collection[str]) -> None:
    """Once all of it is in their files: epochs of partitions, directories and recovery states, too."""

    def differing() -> list[str]:
        theirs, mine = (written_of(image_in_log(each), topics) for each in (java, ours))
        keys = {**theirs, **mine}
        return [f"{key}: {theirs.get(key)}\n / {mine.get(key)}" for key in keys if theirs.get(key) != mine.get(key)]

    deadline = time.monotonic() + SEEN_WITHIN_S
    while True:
        try:
            places = differing()
        except ProtocolError as torn:  # the last batch is being written
            places = [str(torn)]
        if not places:
            return
        assert time.monotonic() < deadline, "\n".join(places[:10])
        time.sleep(0.2)
