"""What is promised of values besides Kafka's answers: how much of a text is repeated, and how odd ones are read."""

from __future__ import annotations

import pytest

from controller_runtime.metadata.config_values import MAX_SHOWN, InvalidConfig, shown
from controller_runtime.metadata.topic_configs import check_broker_value

pytestmark = pytest.mark.unit


def test_as_much_of_a_text_is_repeated_as_a_message_may_show() -> None:
    assert shown("x" * MAX_SHOWN) == "x" * MAX_SHOWN
    assert shown("x" * (MAX_SHOWN + 1)) == "x" * MAX_SHOWN + "..."


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("message.max.bytes", "-5", "Invalid value -5 for configuration message.max.bytes: Value must be at least 0"),
        ("log.retention.hours", "x", "Invalid value x for configuration log.retention.hours: Not a number of type INT"),
        ("log.roll.hours", "0", "Invalid value 0 for configuration log.roll.hours: Value must be at least 1"),
        (
            "log.roll.jitter.hours",
            "-1",
            "Invalid value -1 for configuration log.roll.jitter.hours: Value must be at least 0",
        ),
    ],
)
def test_a_node_s_file_cannot_give_its_topics_what_none_may_have(name: str, text: str, why: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        check_broker_value(name, text)
    assert str(refused.value) == why
    check_broker_value("node.id", text)
