"""Loggers of a controller and of a broker: who is asked changes its own, at once, whether it leads or not (KIP-412,
KIP-919). `tests/interop/test_differential_config_apis.py` compares the answers with Apache Kafka's.
"""

from __future__ import annotations

import pytest

from controller_runtime.answers.loggers import answer_about_loggers, levels_asked
from controller_runtime.broker.forwarded_configs import judge
from controller_runtime.metadata.broker_configs import NodeRules, OwnConfigs
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

pytestmark = pytest.mark.unit

SET, DELETE = 0, 1
LOGGER, TOPIC = 8, 2
OWN = OwnConfigs(1, {}, NodeRules(loggers=lambda: {"root": "INFO", "net": "WARN"}))


def loggers(*changes: tuple[str, str | None], node: str = "1") -> AlterConfigsResource:
    configs = tuple(
        AlterableConfig(name=name, value=level, config_operation=DELETE if level is None else SET)
        for name, level in changes
    )
    return AlterConfigsResource(resource_type=LOGGER, resource_name=node, configs=configs)


def asked(*resources: AlterConfigsResource, only: bool = False) -> IncrementalAlterConfigsRequest:
    return IncrementalAlterConfigsRequest(resources=resources, validate_only=only)


def test_levels_change_together_or_not_at_all() -> None:
    assert levels_asked(asked(loggers(("root", "WARN"), ("net", None))), OWN) == {"root": "WARN", "net": None}
    for refused in (("nope", "INFO"), ("net", "debug"), ("net", "OFF"), ("root", None)):
        assert levels_asked(asked(loggers(("net", "DEBUG"), refused)), OWN) == {}
    assert levels_asked(asked(loggers(("root", "WARN")), only=True), OWN) == {}
    assert levels_asked(asked(loggers(("root", "WARN"), node="2"), loggers(("net", "INFO"))), OWN) == {"net": "INFO"}


def test_a_controller_decides_what_is_about_anything_else() -> None:
    topic = AlterConfigsResource(resource_type=TOPIC, resource_name="t")
    assert answer_about_loggers(asked(), OWN) is None
    assert answer_about_loggers(asked(loggers(("root", "WARN")), topic), OWN) is None
    answer = answer_about_loggers(asked(loggers(("root", "WARN")), loggers(("nope", "WARN"))), OWN)
    assert answer is not None
    assert [each.error_code for each in answer.responses] == [0, 40]


def test_a_broker_answers_for_its_loggers_itself_and_forwards_the_rest() -> None:
    topic = AlterConfigsResource(resource_type=TOPIC, resource_name="t")
    judged = judge(MetadataImage.empty(), asked(loggers(("net", "TRACE")), topic), OWN)
    assert judged.levels == {"net": "TRACE"}
    assert judged.rest == asked(topic)
    assert judge(MetadataImage.empty(), asked(loggers(("net", "TRACE")), only=True), OWN).levels == {}
