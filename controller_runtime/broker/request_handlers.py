"""Who answers which request at a broker's listeners: its partitions, other parts of it, or the image alone.

Requests that nobody here reads are forwarded before they come here; the keys are those of the broker's table (a test
compares them).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from controller_runtime.answers.api_versions import api_versions
from controller_runtime.answers.config_changes import Request as AlterConfigs
from controller_runtime.answers.describe_acls import describe_acls
from controller_runtime.answers.describe_client_quotas import describe_client_quotas
from controller_runtime.answers.describe_configs import describe_configs
from controller_runtime.answers.describe_scram import describe_scram_credentials
from controller_runtime.answers.sasl_requests import SASL_REQUESTS, out_of_turn
from controller_runtime.answers.security_rules import SecurityRules
from controller_runtime.broker import tokens
from controller_runtime.broker.alter_log_directories import alter_log_directories
from controller_runtime.broker.cluster_view import View, describe_cluster, metadata
from controller_runtime.broker.config_resources import list_config_resources
from controller_runtime.broker.delete_records import RecordDeletions
from controller_runtime.broker.directory_moves import DirectoryMoves
from controller_runtime.broker.effects import BrokerEffect
from controller_runtime.broker.fetch import FetchHandler
from controller_runtime.broker.forwarded_configs import judge
from controller_runtime.broker.forwarding import Forwarder
from controller_runtime.broker.late_coordinator import Coordinator
from controller_runtime.broker.lifecycle import BrokerIdentity
from controller_runtime.broker.local_partitions import LocalPartitions
from controller_runtime.broker.log_directories import LogDirectories
from controller_runtime.broker.long_answers import (
    Answering,
    Effects,
    Handler,
    LongAnswers,
    answering,
    answering_at_once,
)
from controller_runtime.broker.offsets import OffsetsHandler
from controller_runtime.broker.topic_partitions import describe_topic_partitions
from controller_runtime.identifiers import Instant, Offset, WallClock
from controller_runtime.metadata.broker_configs import OwnConfigs
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.effects import Respond, SetLogLevels
from controller_runtime.parts.events import RequestReceived, unread
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest
from controller_runtime.protocol.messages.metadata_request import MetadataRequest
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class Answerers:
    """The parts of a broker that answer requests."""

    partitions: LocalPartitions
    long: LongAnswers
    fetch: FetchHandler
    offsets: OffsetsHandler
    deletions: RecordDeletions
    forwarder: Forwarder
    log_directories: LogDirectories
    moves: DirectoryMoves
    coordinators: Coordinator
    """They answer Produce and InitProducerId, too: both may be of a transaction."""


class RequestHandlers:
    def __init__(
        self,
        parts: Answerers,
        identity: BrokerIdentity,
        own: OwnConfigs,
        security: SecurityRules,
        *,
        auto_create_topics: bool,
    ) -> None:
        self._parts = parts
        self._identity = identity
        self._own = own
        self._security = security
        self._auto_create_topics = auto_create_topics
        self._image = MetadataImage.empty()
        self._image_end = Offset(0)
        self._kraft_version = 0
        self.by_key: Final[Mapping[int, Handler]] = self._by_key()

    def see(self, image: MetadataImage, end_offset: Offset, kraft_version: int) -> None:
        """What is answered of from now on."""
        self._image, self._image_end, self._kraft_version = image, end_offset, kraft_version

    def _by_key(self) -> dict[int, Handler]:
        """What reads or changes partitions or other parts of the broker, what the image answers."""
        parts = self._parts
        answers: dict[int, Callable[[RequestReceived, Any], Message]] = {
            ApiKey.API_VERSIONS: self._api_versions,
            ApiKey.DESCRIBE_CLUSTER: lambda event, request: describe_cluster(self._view(event), request),
            **dict.fromkeys(SASL_REQUESTS, lambda _, request: out_of_turn(request)),
            ApiKey.DESCRIBE_ACLS: lambda _, request: describe_acls(self._image, request, self._security),
            ApiKey.DESCRIBE_CLIENT_QUOTAS: lambda _, request: describe_client_quotas(self._image, request),
            ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: lambda _, request: describe_scram_credentials(self._image, request),
            ApiKey.LIST_CONFIG_RESOURCES: lambda event, request: list_config_resources(
                self._view(event), request, event.api_version
            ),
        }
        long, view = parts.long, self._view
        long_answers: dict[int, Callable[[RequestReceived, Any], InPieces[BrokerEffect, Message]]] = {
            ApiKey.DESCRIBE_CONFIGS: lambda _, request: describe_configs(self._image, request, self._own),
            ApiKey.DESCRIBE_TOPIC_PARTITIONS: lambda event, request: describe_topic_partitions(view(event), request),
            ApiKey.OFFSET_FOR_LEADER_EPOCH: lambda _, request: parts.offsets.epoch_ends(request),
            ApiKey.DESCRIBE_DELEGATION_TOKEN: lambda event, request: tokens.described(
                self._image, event, request, self._security
            ),
        }
        return {
            ApiKey.FETCH: lambda event, request, now, _: parts.fetch.on_request(event, request, now),
            ApiKey.LIST_OFFSETS: long.handler(lambda event, request, *_: parts.offsets.on_request(event, request)),
            ApiKey.METADATA: long.handler(self._on_metadata),
            ApiKey.ALTER_CONFIGS: self._on_alter_configs,
            ApiKey.DELETE_RECORDS: long.handler(
                lambda event, request, now, _: parts.deletions.on_request(event, request, now)
            ),
            ApiKey.ALTER_REPLICA_LOG_DIRS: long.handler(
                lambda event, request, *_: alter_log_directories(
                    parts.partitions, parts.moves, parts.log_directories.find, event, request
                )
            ),
            ApiKey.DESCRIBE_LOG_DIRS: lambda event, request, now, _: parts.log_directories.on_request(
                event, request, self._image.cluster.brokers.get(self._identity.node_id), now
            ),
            ApiKey.INCREMENTAL_ALTER_CONFIGS: self._on_alter_configs,
            **parts.coordinators.handlers(view),
            **dict.fromkeys(tokens.DECIDED_BY_CONTROLLER, partial(tokens.changed, parts.forwarder)),
            **{key: answering_at_once(answer) for key, answer in answers.items()},
            **{key: long.handler(answering(answer)) for key, answer in long_answers.items()},
        }

    def _api_versions(self, event: RequestReceived, request: ApiVersionsRequest) -> Message:
        return api_versions(
            request,
            event.api_version,
            ListenerType.BROKER,
            image=self._image,
            kraft_version=self._kraft_version,
            end_offset=self._image_end,
            supported=self._identity.features,
        )

    def _on_metadata(self, event: RequestReceived, asked: MetadataRequest, now: Instant, _: WallClock) -> Answering:
        answer, missing = yield from metadata(self._view(event), asked, event.api_version)
        if missing and self._auto_create_topics:
            self._parts.forwarder.create_topics(missing, event.connection, now)
        return [Respond(event.request_id, answer)]

    def _on_alter_configs(self, event: RequestReceived, request: AlterConfigs, now: Instant, _: WallClock) -> Effects:
        forwarder, judged = self._parts.forwarder, judge(self._image, request, self._own)
        if not judged.answered and event.frame is not None:
            return forwarder.forward(unread(event), now)
        out: Effects = [SetLogLevels(tuple(judged.levels.items()))] if judged.levels else []
        if (rest := judged.rest) is None:
            return [*out, Respond(event.request_id, judged.answer())]
        return out + forwarder.forward_rest(event, rest, judged.answer, now)

    def _view(self, event: RequestReceived) -> View:
        identity = self._identity
        return View(self._image, identity.cluster_id, event.connection.listener, identity.node_id)
