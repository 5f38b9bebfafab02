"""Values of topic configurations: what is refused, in the words of Java's validators (taken from a run of
its classes).
"""

from __future__ import annotations

import pytest

from controller_runtime.metadata.config_values import InvalidConfig
from controller_runtime.metadata.configs import ConfigsBuilder, ConfigsImage
from controller_runtime.metadata.topic_configs import (
    TOPIC_CONFIGS,
    ConfigSource,
    check_value,
    check_values,
    effective_configs,
    topic_configs,
)

pytestmark = pytest.mark.unit

REFUSED = [
    ("retention.ms", "x", "Invalid value x for configuration retention.ms: Not a number of type LONG"),
    ("retention.ms", "-2", "Invalid value -2 for configuration retention.ms: Value must be at least -1"),
    ("retention.ms", "1_000", "Invalid value 1_000 for configuration retention.ms: Not a number of type LONG"),
    ("max.message.bytes", "-1", "Invalid value -1 for configuration max.message.bytes: Value must be at least 0"),
    ("segment.bytes", "100", "Invalid value 100 for configuration segment.bytes: Value must be at least 1048576"),
    ("segment.bytes", "99999999999",
        "Invalid value 99999999999 for configuration segment.bytes: Not a number of type INT"),
    ("min.cleanable.dirty.ratio", "2",
        "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"),
    ("min.cleanable.dirty.ratio", "a",
        "Invalid value a for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"),
    ("cleanup.policy", "foo",
        "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete"),
    ("preallocate", "yes",
        "Invalid value yes for configuration preallocate: Expected value to be either true or false"),
    ("compression.type", "z", (
        "Invalid value z for configuration compression.type: String must be one of: "
        "uncompressed, zstd, lz4, snappy, gzip, producer"
    )),
    ("compression.gzip.level", "0",
        "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1"),
    ("compression.zstd.level", "99",
        "Invalid value 99 for configuration compression.zstd.level: Value must be no more than 22"),
    ("message.timestamp.type", "x",
        "Invalid value x for configuration message.timestamp.type: String must be one of: CreateTime, LogAppendTime"),
    ("flush.messages", "", "Invalid value  for configuration flush.messages: Not a number of type LONG"),
    ("foo", "1", "Unknown topic config name: foo"),
    (
        "leader.replication.throttled.replicas", "x",
        (
            "Invalid value [x] for configuration leader.replication.throttled.replicas: "
            "leader.replication.throttled.replicas must be the literal '*' or a list of replicas in the following "
            "format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."),
    ),
]  # fmt: skip

ACCEPTED = [
    ("cleanup.policy", ""), ("cleanup.policy", "compact, delete"), ("retention.ms", " 5 "), ("retention.ms", "-1"),
    ("compression.gzip.level", "-1"),
    ("follower.replication.throttled.replicas", "0:1,2:3"), ("follower.replication.throttled.replicas", "*"),
    ("preallocate", "TRUE"), ("min.cleanable.dirty.ratio", "5e-1"), ("min.cleanable.dirty.ratio", ".5"),
    ("unclean.leader.election.enable", "false"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "words"), REFUSED)
def test_a_value_is_refused_in_javas_words(name: str, text: str, words: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        check_value(name, text)
    assert str(refused.value) == words


@pytest.mark.parametrize(("name", "text"), ACCEPTED)
def test_a_value_is_accepted(name: str, text: str) -> None:
    check_value(name, text)


@pytest.mark.parametrize(
    "text", ["1", "1:", ":1", "1:2,", ",1:2", "1:2,,3:4", "1:2:3", "1:2,3", "1,2:3", "1 2:3", "1:2,:3", "1:,2:3", ":,:",
        ":", "a:1", "1:-2"]
)  # fmt: skip
def test_a_flawed_list_of_throttled_replicas_is_refused(text: str) -> None:
    with pytest.raises(InvalidConfig, match="must be the literal"):
        check_value("leader.replication.throttled.replicas", text)


@pytest.mark.parametrize("text", ["", "*", " * ", "1:2", "10:20,3:4", " 1:2 , 3:4 ", "\u0661:2"])
def test_a_list_of_throttled_replicas_is_accepted_however_it_is_spaced(text: str) -> None:
    check_value("leader.replication.throttled.replicas", text)


def test_values_must_agree_with_each_other() -> None:
    with pytest.raises(InvalidConfig, match="conflict topic config setting"):
        check_values({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"})
    with pytest.raises(InvalidConfig, match="Tiered Storage functionality is disabled"):
        check_values({"remote.storage.enable": "true"})


def test_every_default_is_a_value_that_may_be_set() -> None:
    assert len(TOPIC_CONFIGS) == 33
    for config in TOPIC_CONFIGS.values():
        check_value(config.name, config.default)


@pytest.mark.parametrize(
    ("name", "text", "inherited"),
    [
        ("min.insync.replicas", "abc", "min.insync.replicas"),
        ("log.retention.hours", "x", "retention.ms"),
        ("message.max.bytes", "-5", "max.message.bytes"),
    ],
)
def test_nonsense_that_a_controller_keeps_for_brokers_counts_for_nothing(name: str, text: str, inherited: str) -> None:
    builder = ConfigsBuilder(ConfigsImage())
    builder.set(4, "", name, text)
    builder.set(4, "7", name, text)
    assert topic_configs(builder.freeze(), "any", 7, {})[inherited] == TOPIC_CONFIGS[inherited].default


def test_the_nearest_value_wins_and_hours_become_milliseconds() -> None:
    builder = ConfigsBuilder(ConfigsImage())
    builder.set(4, "", "log.retention.ms", "100")
    builder.set(4, "7", "log.retention.ms", "200")
    configs = builder.freeze()
    node = {"log.retention.hours": "1", "log.roll.hours": "2"}

    def retention(image: ConfigsImage, own: dict[str, str], node_id: int) -> tuple[str, ConfigSource]:
        found = next(e for e in effective_configs(image, own, node_id, node) if e.config.name == "retention.ms")
        return found.value, found.source

    assert retention(configs, {"retention.ms": "5"}, 7) == ("5", ConfigSource.TOPIC)
    assert retention(configs, {}, 7) == ("200", ConfigSource.DYNAMIC_BROKER)
    assert retention(configs, {}, 8) == ("100", ConfigSource.DYNAMIC_DEFAULT_BROKER)
    assert retention(ConfigsImage(), {}, 8) == ("3600000", ConfigSource.STATIC_BROKER)
    assert topic_configs(configs, "any", 1, node)["segment.ms"] == "7200000"
    assert topic_configs(configs, "any", 1, {})["segment.ms"] == "604800000"
