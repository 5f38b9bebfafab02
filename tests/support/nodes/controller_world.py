"""A controller with a log that commits at once: what it decides is replayed, as `LogWriter` does it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from controller_runtime.controller.decision import Decision, RequestContext, at_once
from controller_runtime.controller.service import ControllerConfig, ControllerService
from controller_runtime.identifiers import DirectoryId, Instant, NodeId, Offset, Uuid, WallClock
from controller_runtime.metadata.features import (
    LATEST_PRODUCTION_LEVEL,
    VersionedRecord,
    bootstrap_records,
    metadata_version,
)
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.replay import replay
from controller_runtime.parts.chance import Chance
from controller_runtime.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from controller_runtime.protocol.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from controller_runtime.protocol.messages.broker_registration_request import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from controller_runtime.protocol.messages.broker_registration_response import BrokerRegistrationResponse
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from controller_runtime.protocol.schema import Message

CLUSTER_ID = "cluster-of-the-tests-0"
Answer = TypeVar("Answer", bound=Message)

ALL_FEATURES = (
    Feature(name="metadata.version", min_supported_version=7, max_supported_version=30),
    Feature(name="kraft.version", min_supported_version=0, max_supported_version=1),
    Feature(name="eligible.leader.replicas.version", min_supported_version=0, max_supported_version=1),
    Feature(name="group.version", min_supported_version=0, max_supported_version=1),
    Feature(name="share.version", min_supported_version=0, max_supported_version=1),
    Feature(name="streams.version", min_supported_version=0, max_supported_version=1),
    Feature(name="transaction.version", min_supported_version=0, max_supported_version=2),
)


def uuid(kind: str, number: int) -> Uuid:
    """A uuid that is the same in every run: `dir` 3, `topic` 1."""
    return Uuid((kind.encode() + bytes(16))[:8] + number.to_bytes(8, "big"))


def directory_of(broker: int, number: int = 1) -> DirectoryId:
    return DirectoryId(uuid("dir", broker * 100 + number))


class World:
    """The controller under test with its image, its clock and the end of its log."""

    def __init__(self, level: int = LATEST_PRODUCTION_LEVEL, **config: object) -> None:
        self.now = Instant(1000.0)
        self.wall = WallClock(0)
        self.offset = 3  # after LeaderChange, KRaftVersion, Voters
        self.image = MetadataImage.empty()
        self.history: list[MetadataImage] = [self.image]
        self.log: list[VersionedRecord] = []
        self._topics = 0
        bootstrap = bootstrap_records(metadata_version(level).name)
        settings = ControllerConfig(node_id=NodeId(1), cluster_id=CLUSTER_ID, bootstrap_records=bootstrap)
        self.service = ControllerService(replace(settings, **config), Chance(self._new_topic_id, lambda _: 0))  # type: ignore[arg-type]
        self.activate()

    def _new_topic_id(self) -> Uuid:
        self._topics += 1
        return uuid("topic", self._topics)

    def activate(self) -> tuple[VersionedRecord, ...]:
        """A leadership begins (again): soft state is lost, the image is not."""
        self.service.deactivate()
        records = self.service.activate(self.image, self.now)
        self.append(records)
        return records

    def append(self, records: Iterable[VersionedRecord]) -> None:
        builder = self.image.builder()
        for record, version in records:
            assert version in record.VERSIONS
            replay(builder, record)
            self.log.append((record, version))
            self.offset += 1
        self.image = builder.freeze()
        self.history.append(self.image)

    def decide(self, request: Message, api_version: int = 99, **asker: object) -> Decision:
        """Ask, and replay what was decided. `asker`: what the context says of him."""
        version = min(api_version, request.VERSIONS.highest)
        context = RequestContext(version, Offset(self.offset), self.wall, leader_id=NodeId(1), kraft_version=1)
        context = replace(context, **asker)  # type: ignore[arg-type]
        decision = self.service.handle(self.image, request, context, self.now)
        self.append(decision.records)
        return decision

    def ask(self, request: Message, kind: type[Answer], api_version: int = 99, **asker: object) -> Answer:
        response = self.decide(request, api_version, **asker).response
        assert isinstance(response, kind)
        return response

    def periodic(self) -> list[VersionedRecord]:
        """What is due by now, done."""
        records = [*self.service.periodic(self.now)]
        end = Offset(self.offset + len(records))
        work = self.service.own_work(self.image, end, self.now, self.wall)
        if work is not None:
            records += at_once(work, end).records
        self.append(records)
        return records

    def wait(self, seconds: float) -> list[VersionedRecord]:
        """Let time pass, with periodic work done when it is due. Gives the records it wrote, without NoOps."""
        end, written = self.now + seconds, []
        while (due := self.service.next_deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            records = self.periodic()
            written += [record for record in records if type(record[0]).__name__ != "NoOpRecord"]
        self.now = Instant(end)
        return written

    # What brokers do.

    def registration(self, broker: int, incarnation: int = 1, **changes: object) -> BrokerRegistrationRequest:
        request = BrokerRegistrationRequest(
            broker_id=broker,
            cluster_id=CLUSTER_ID,
            incarnation_id=uuid("start", broker * 100 + incarnation),
            listeners=(Listener(name="PLAINTEXT", host=f"broker-{broker}", port=9092),),
            features=ALL_FEATURES,
            rack=None,
            log_dirs=(directory_of(broker),),
        )
        return replace(request, **changes)  # type: ignore[arg-type]

    def register(self, broker: int, incarnation: int = 1, **changes: object) -> BrokerRegistrationResponse:
        return self.ask(self.registration(broker, incarnation, **changes), BrokerRegistrationResponse)

    def epoch(self, broker: int) -> int:
        return self.image.cluster.brokers[NodeId(broker)].epoch

    def heartbeat(self, broker: int, **changes: object) -> BrokerHeartbeatResponse:
        request = BrokerHeartbeatRequest(
            broker_id=broker, broker_epoch=self.epoch(broker), current_metadata_offset=self.offset
        )
        return self.ask(replace(request, **changes), BrokerHeartbeatResponse)  # type: ignore[arg-type]

    def start_broker(self, broker: int, incarnation: int = 1, **changes: object) -> None:
        """Register and unfence."""
        assert self.register(broker, incarnation, **changes).error_code == 0
        assert not self.heartbeat(broker).is_fenced

    # What clients do.

    def create(self, name: str, partitions: int = 1, factor: int = 1, **changes: object) -> CreatableTopicResult:
        topic = replace(CreatableTopic(name=name, num_partitions=partitions, replication_factor=factor), **changes)  # type: ignore[arg-type]
        response = self.ask(CreateTopicsRequest(topics=(topic,)), CreateTopicsResponse)
        return response.topics[0]
