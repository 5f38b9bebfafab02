"""The recorded probes, put to a quorum of our own production nodes: the same answers, but for what is listed here by
name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from support.apache_kafka.probes import Probe, Translation, probes, quorum_like_the_recorded

pytestmark = pytest.mark.conformance

SHELL = "never reaches a node: answered by the network shell, see test_probes_wire"
SKIPPED: Final = {
    "describe scram on controller": "Kafka never answers; SCRAM is a later issue, the connection is closed",
    "describe tokens on controller": "delegation tokens are a later issue, the connection is closed",
    "describe acls without authorizer": "ACLs are a later issue, the connection is closed",
    "api versions v9": SHELL,
    "api versions v0 header garbage body": SHELL,
    "metadata on a controller": SHELL,
    "unknown api key": SHELL,
    "vote v9": SHELL,
}  # fmt: skip

FETCH_SNAPSHOT_CODES: Final = {
    "at end": 99, "past end": 99, "negative position": 99, "missing": 98, "bootstrap": 98, "stale epoch": 74,
    "future epoch": 75,
    "follower": 6, "wrong topic": 3, "wrong partition": 3, "negative snapshot id": 98,
}  # fmt: skip
"""Kafka 4.3.1 answers every error of a partition with -1 and no topics, by a fault of its own; we send the codes of
KIP-630 (docs/deviations.md)."""

ASKED_LATER: Final = {"add voter: v0"}
"""Kafka was asked within the back-off of the connection that had just failed, and said so; our quorum has
tried again.
"""

PROBES: Final = probes()
ASKED: Final = [probe for probe in PROBES if probe.name not in SKIPPED]


@pytest.fixture(scope="module")
def answers() -> dict[str, tuple[Any, Any]]:
    """(ours, Kafka's) by name, asked in the order of the recording: a registration must come before its repetition."""
    translation = quorum_like_the_recorded()
    return dict(ask_all(translation, ASKED))


def ask_all(translation: Translation, asked: list[Probe]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for probe in asked:
        answer = translation.quorum.probe(probe.node, probe.api_key, probe.version, translation.request(probe))
        assert probe.response is not None, probe.name
        yield probe.name, (translation.ours(answer, probe.version), translation.recorded(probe.response))


def test_every_probe_is_asked_or_skipped_for_a_reason() -> None:
    names = [probe.name for probe in PROBES]
    assert len(names) == len(set(names)) == 123
    assert set(SKIPPED) <= set(names)
    assert len(ASKED) == 115
    assert {f"fetch snapshot: {case}" for case in FETCH_SNAPSHOT_CODES} <= set(names)


@pytest.mark.parametrize("name", [probe.name for probe in ASKED])
def test_the_answer_is_kafkas(name: str, answers: dict[str, tuple[Any, Any]]) -> None:
    ours, kafkas = answers[name]
    case = name.removeprefix("fetch snapshot: ")
    if name.startswith("fetch snapshot: ") and case in FETCH_SNAPSHOT_CODES:
        assert kafkas["errorCode"] == -1
        assert ours["topics"][0]["partitions"][0]["errorCode"] == FETCH_SNAPSHOT_CODES[case]
    elif name.startswith("api versions"):
        assert comparable(ours) == comparable(kafkas)
        assert set(map(repr, ours["apiKeys"])) <= set(map(repr, kafkas["apiKeys"])), (
            "an API or a range that Kafka does not serve"
        )
    elif name.startswith("describe quorum"):
        assert in_order(ours) == in_order(kafkas)
    elif name.startswith(("add voter", "remove voter")):
        if name in ASKED_LATER:
            assert (ours["errorCode"], kafkas["errorCode"]) == (7, 7)
            return
        assert (ours["errorCode"], voters_in_order(ours)) == (kafkas["errorCode"], voters_in_order(kafkas))
    else:
        assert ours == kafkas


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """Without the list of APIs, which is compared on its own, and in the order of names: Kafka's is that of
    a hash map.
    """
    shown = {key: value for key, value in answer.items() if key != "apiKeys"}
    for key in ("supportedFeatures", "finalizedFeatures"):
        if key in shown:
            shown[key] = sorted(shown[key], key=lambda feature: str(feature["name"]))
    if "finalizedFeaturesEpoch" in shown:
        shown["finalizedFeaturesEpoch"] = shown["finalizedFeaturesEpoch"] >= 0
    return shown


def voters_in_order(answer: dict[str, Any]) -> str:
    """The message with its voters in the order of their ids: Kafka's is that of a hash map."""
    message = str(answer["errorMessage"])
    return " ".join([re.sub(r"\[.*\]", "[]", message), *sorted(re.findall(r"ReplicaKey\([^)]*\)", message))])


def in_order(answer: dict[str, Any]) -> dict[str, Any]:
    for topic in answer["topics"]:
        for partition in topic["partitions"]:
            partition["observers"] = sorted(partition["observers"], key=lambda replica: int(replica["replicaId"]))
    return answer
