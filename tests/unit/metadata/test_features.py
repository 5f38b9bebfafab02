from __future__ import annotations

import json

import pytest

from controller_runtime.metadata.features import (
    FEATURES,
    METADATA_VERSIONS,
    FeatureError,
    bootstrap_records,
    finalized_levels,
    metadata_version,
    parse_release,
    record_version,
    supported_metadata_versions,
)
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.register_broker_record import RegisterBrokerRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from support.disks.metadata_logs import records_of
from support.golden import GOLDEN, json_lines

pytestmark = pytest.mark.unit


def test_every_level_has_its_name() -> None:
    assert [version.level for version in METADATA_VERSIONS] == list(range(1, 32))
    names = {version.level: version.name for version in METADATA_VERSIONS}
    assert (names[7], names[13], names[17], names[23], names[30]) == (
        "3.3-IV3",
        "3.6-IV1",
        "3.7-IV2",
        "4.0-IV1",
        "4.3-IV0",
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("4.0", "4.0-IV3"),
        ("4.0.1", "4.0-IV3"),
        ("4.0-IV1", "4.0-IV1"),
        ("3.3", "3.3-IV3"),
        ("4.3", "4.3-IV0"),
        ("3.9", "3.9-IV0"),
    ],
)
def test_a_release_is_its_newest_level(text: str, name: str) -> None:
    assert parse_release(text).name == name


def test_an_unknown_release_is_refused_in_kafkas_words() -> None:
    golden = next(
        row
        for row in json_lines("format/commands.jsonl.gz")
        if row["mode"] == "refused/unknown-release" and row["args"][0] == "format"
    )
    with pytest.raises(FeatureError) as refused:
        parse_release("9.9")
    assert str(refused.value) == golden["stderr"]
    with pytest.raises(FeatureError, match=r"Unknown metadata.version '3.2'"):
        parse_release("3.2")


def test_an_unstable_level_must_be_asked_for() -> None:
    assert parse_release("4.4-IV0", unstable=True).level == 31
    with pytest.raises(FeatureError):
        parse_release("4.4-IV0")
    assert supported_metadata_versions()[-1].level == 30


def test_an_unknown_feature_is_refused_in_kafkas_words() -> None:
    golden = next(
        row
        for row in json_lines("format/commands.jsonl.gz")
        if row["mode"] == "refused/unknown-feature" and row["args"][0] == "format"
    )
    with pytest.raises(FeatureError) as refused:
        bootstrap_records(features={"no.such.feature": 1})
    assert str(refused.value) == golden["stderr"]


def test_a_dependency_is_checked_on_the_whole_set() -> None:
    with pytest.raises(
        FeatureError,
        match=r"eligible.leader.replicas.version could not be set to 1 because it depends on metadata.version level 23",
    ):
        bootstrap_records("3.9", {"eligible.leader.replicas.version": 1})


def test_a_dependency_is_met_from_the_level_on_that_it_names() -> None:
    assert finalized_levels(23, {"eligible.leader.replicas.version": 1})["eligible.leader.replicas.version"] == 1
    with pytest.raises(FeatureError, match=r"depends on metadata.version level 23"):
        finalized_levels(22, {"eligible.leader.replicas.version": 1})


def test_the_first_and_the_last_level_have_names_and_none_beyond() -> None:
    assert [metadata_version(level).name for level in (1, 31)] == ["3.0-IV1", "4.4-IV0"]
    for level in (0, 32):
        with pytest.raises(
            FeatureError,
            match=rf"No MetadataVersion with feature level {level}\. Valid feature levels are from 1 to 31\.",
        ):
            metadata_version(level)


def test_a_level_above_the_latest_is_refused() -> None:
    with pytest.raises(FeatureError):
        finalized_levels(30, {"transaction.version": 3})
    with pytest.raises(FeatureError):
        metadata_version(99)
    with pytest.raises(FeatureError):
        bootstrap_records(features={"metadata.version": 3})
    with pytest.raises(FeatureError):
        bootstrap_records("4.3", {"metadata.version": 30})


FORMATS = {
    "standalone": (None, {}),
    "release-version-3.3-IV3": ("3.3-IV3", {}),
    "release-version-3.9": ("3.9", {}),
    "release-version-4.0": ("4.0", {}),
    "release-version-4.1": ("4.1", {}),
    "features": (
        None,
        {"metadata.version": 25, "transaction.version": 1, "group.version": 0, "eligible.leader.replicas.version": 1},
    ),
    "release-and-feature": ("4.2", {"transaction.version": 0, "share.version": 0}),
}


@pytest.mark.parametrize("mode", FORMATS)
def test_bootstrap_records_are_those_of_kafka_storage(mode: str) -> None:
    release, features = FORMATS[mode]
    checkpoint = next((GOLDEN / "format" / mode).glob("**/bootstrap.checkpoint"))
    assert list(bootstrap_records(release, features)) == records_of(checkpoint)


def test_every_golden_format_of_a_release_is_covered() -> None:
    for directory in (GOLDEN / "format").glob("release-version-*"):
        release = directory.name.removeprefix("release-version-")
        checkpoint = next(directory.glob("**/bootstrap.checkpoint"))
        assert list(bootstrap_records(release)) == records_of(checkpoint), json.dumps(release)


def test_kraft_version_is_never_a_feature_record() -> None:
    records = bootstrap_records(features={"kraft.version": 1})
    assert "kraft.version" in FEATURES
    assert "kraft.version" not in {record.name for record, _ in records if isinstance(record, FeatureLevelRecord)}


def test_record_versions_follow_the_metadata_version() -> None:
    assert [record_version(RegisterBrokerRecord, level) for level in (7, 8, 16, 17, 29, 30)] == [1, 2, 2, 3, 3, 4]
    assert [record_version(PartitionRecord, level) for level in (7, 16, 17, 22, 23, 30)] == [0, 0, 1, 1, 2, 2]
    assert record_version(TopicRecord, 30) == 0
