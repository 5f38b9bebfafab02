"""A broker and a controller of ours in one process's place, node 1, which are asked what Apache Kafka was asked."""

from __future__ import annotations

import re
from typing import Any, Final

from controller_runtime.answers.describe_configs import describe_configs
from controller_runtime.broker.forwarded_configs import judge
from controller_runtime.configuration.settings import RULES, refusal_at_run_time
from controller_runtime.controller.decision import RequestContext
from controller_runtime.identifiers import Offset, WallClock
from controller_runtime.metadata.broker_configs import NodeRules, OwnConfigs
from controller_runtime.metadata.config_values import MAX_SHOWN
from controller_runtime.parts.pieces import whole
from controller_runtime.protocol.codec import decode, encode
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.describe_configs_request import DescribeConfigsRequest
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from controller_runtime.protocol.schema import Message
from support.configs.questions import BROKER, NODE_ID, THERE, TOPIC, Question
from support.nodes.controller_world import World

_WRAPPED: Final = re.compile(
    r"Invalid value org\.apache\.kafka\.common\.config\.ConfigException: (.*) "
    r"for configuration Invalid dynamic configuration"
)
_OF_JAVA: Final = re.compile(
    r"/ by zero|Error parsing configuration property '[a-z.]+': begin |For input string|DynamicMetricsReporters|"
    "principal.builder.class|ssl.engine.factory.class|'listeners' must not be empty|This most likely occurs because"
)
"""Where a broker of Kafka's says how its Java failed, or has looked for a class."""
_OF_OURS: Final = "cannot be set on this node"
"""What is without effect here is refused for that, before its value is looked at."""
FILE: Final = {"log.dirs": "/data", "node.id": str(NODE_ID)}


class ConfigWorld:
    def __init__(self, file: dict[str, str] = FILE, rules: NodeRules = RULES) -> None:
        self.file = file
        self.rules = rules
        self.world = World(rules=rules, node_configs=file)
        self.world.append([(FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1), 0)])
        self.world.start_broker(NODE_ID)
        self.world.create(THERE)

    def ask(self, question: Question) -> Message:
        """The answer as it arrives: older versions carry less."""
        answer = self._answer(question)
        return decode(type(answer), encode(answer, question.version), question.version)

    def _answer(self, question: Question) -> Message:
        body, image = question.body, self.world.image
        if isinstance(body, DescribeConfigsRequest):
            return whole(describe_configs(image, body, OwnConfigs(NODE_ID, self.file, self.rules)))
        assert isinstance(body, IncrementalAlterConfigsRequest)
        if question.listener == "c":
            return self._decide(body, question.version, forwarded=False)
        judged = judge(image, body, OwnConfigs(NODE_ID, self.file, self.rules))
        if (rest := judged.rest) is None:
            return judged.answer()
        return judged.answer(self._decide(rest, question.version, forwarded=True))

    def _decide(self, body: Message, version: int, *, forwarded: bool) -> Message:
        world = self.world
        context = RequestContext(version, Offset(world.offset), WallClock(0), forwarded=forwarded)
        decision = world.service.handle(world.image, body, context, world.now)
        world.append(decision.records)
        return decision.response


def is_deviation(question: Question, java: Any, ours: Any) -> bool:
    """What Kafka takes and we refuse: of this node and of all brokers, what would be without effect (docs/deviations.md
    has the table).
    """
    if not isinstance(question.body, IncrementalAlterConfigsRequest) or len(question.body.resources) != 1:
        return False
    (resource,) = question.body.resources
    config = resource.configs[0]
    refused = (ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST)
    if java[0][2] not in (ErrorCode.NONE, ErrorCode.INVALID_CONFIG) or ours[0][2] not in refused:
        return False
    if resource.resource_type == TOPIC:
        return bool(config.name == "internal.segment.bytes")
    return resource.resource_type == BROKER and refusal_at_run_time(config.name, config.value or "") is not None


def agree(java: Any, ours: Any) -> bool:
    """Whether a client is told the same: in the same words, where they are not Java's own and none are cut here."""
    if len(java) != len(ours):
        return False
    return all(
        mine[:3] + mine[4:] == its[:3] + its[4:] and _same_words(its[3], mine[3])
        for its, mine in zip(java, ours, strict=True)
    )


def _same_words(java: str | int | None, ours: str | int | None) -> bool:
    if not isinstance(java, str) or not isinstance(ours, str):
        return isinstance(java, int) or java == ours
    if len(java) > MAX_SHOWN or _OF_JAVA.search(java) or _OF_OURS in ours:
        return True
    wrapped = _WRAPPED.fullmatch(java)
    return ours == (wrapped.group(1) if wrapped else java)
