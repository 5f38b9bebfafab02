"""The effective configurations that Java told when it created a topic are those that we compute from its log and its
file.
"""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.metadata.config_values import InvalidConfig
from controller_runtime.metadata.configs import TOPIC
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.topic_configs import check_values, effective_configs
from controller_runtime.protocol.messages.partition_record import PartitionRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from support.disks.metadata_logs import batches_of, image_of
from support.golden import GOLDEN, json_lines

pytestmark = pytest.mark.conformance

LOG = GOLDEN / "cluster" / "controller-2" / "__cluster_metadata-0" / f"{0:020}.log"


def told_at_creation() -> dict[str, tuple[str, list[tuple[str, str, int]]]]:
    """Topic id -> (node that answered, what it told of every configuration)."""
    found = {}
    for pair in json_lines("wire/cluster.jsonl.gz"):
        if pair["listener"] != "controller":
            continue
        answer = pair["response"].get("inner") or pair["response"]
        for topic in (answer.get("body") or {}).get("topics") or ():
            if isinstance(topic, dict) and topic.get("configs") and topic.get("errorCode") == 0:
                told = [(c["name"], c["value"], c["configSource"]) for c in topic["configs"]]
                found[topic["topicId"]] = (pair["node"], told)
    return found


def image_after_creation() -> dict[str, tuple[str, MetadataImage]]:
    """Topic id -> (name, the image when its records were complete)."""
    image = MetadataImage.empty()
    found: dict[str, tuple[str, MetadataImage]] = {}
    for batch in batches_of(LOG):
        created = {record.topic_id: record.name for _, (record, _) in batch if isinstance(record, TopicRecord)}
        image = image_of((record for _, record in batch), image)
        if any(isinstance(record, PartitionRecord) for _, (record, _) in batch):
            found |= {str(topic_id): (name, image) for topic_id, name in created.items()}
    return found


def properties_of(node: str) -> dict[str, str]:
    lines = (GOLDEN / "cluster" / node / "server.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def test_every_topic_is_told_with_the_configs_that_java_told() -> None:
    images, compared = image_after_creation(), 0
    for topic_id, (node, told) in told_at_creation().items():
        if topic_id not in images:
            continue  # validated only
        name, image = images[topic_id]
        effective = effective_configs(image.configs, image.configs.of(TOPIC, name), int(node[-1]), properties_of(node))
        assert [(e.config.name, e.value, int(e.source)) for e in effective] == told, name
        compared += 1
    assert compared >= 20


def test_java_s_refusals_of_values_are_ours() -> None:
    compared = 0
    for pair in json_lines("wire/cluster.jsonl.gz"):
        asked = pair["request"].get("inner") or pair["request"]
        answer = pair["response"].get("inner") or pair["response"]
        for topic, values in refused_topics(asked.get("body") or {}, answer.get("body") or {}):
            with pytest.raises(InvalidConfig) as refused:
                check_values(values)
            assert str(refused.value) == topic["errorMessage"]
            compared += 1
    assert compared >= 2


def refused_topics(asked: dict[str, Any], answer: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, str]]]:
    """Topics that were not created because of a configuration, with the configurations."""
    if "validateOnly" not in asked or "topics" not in asked:
        return []
    wanted = {topic["name"]: topic for topic in asked["topics"]}
    invalid = [topic for topic in answer.get("topics") or () if topic.get("errorCode") == 40]
    return [(t, {c["name"]: c["value"] for c in wanted[t["name"]]["configs"]}) for t in invalid]
