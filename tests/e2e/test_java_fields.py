"""`jvm`, `logging` and `metrics` with Apache Kafka's own controller: what is asked for is what its Java machine runs
with, and what somebody runs in its pod takes none of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kraft_operator.kube import POD
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.operator_process import Images, Story, eventually, operator

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1500)]

CONTROLLER = "j-controller-0-0"
JMX_PORT = 9999


def spec(image: str) -> dict[str, Any]:
    return {
        "image": {"reference": image, "pullPolicy": "Never"},
        "probes": "TCP",
        "security": {"tls": {"mode": "Disabled"}},
        "controllers": {
            "replicas": 1,
            "storage": {"size": "256Mi", "storageClassName": "standard"},
            "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "640Mi"}},
            "jvm": {"heap": {"percentOfLimit": 30}, "options": ["-Dasked.for=this"], "gcLog": "Console"},
            "logging": {"level": "WARN", "loggers": {"org.apache.kafka.controller": "DEBUG"}},
            "metrics": {"jmxPort": JMX_PORT},
        },
        "brokerPools": [],
    }


@pytest.fixture(scope="module")
def story(
    kubernetes: Kubernetes, resource_definition: None, images: Images, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    image = images("apache-kafka")
    with kubernetes.namespace("java-fields") as namespace:
        story = Story(kubernetes, namespace, image, "j", spec(image))
        with operator(namespace, Path(tmp_path_factory.mktemp("operator")), images, port=19549):
            story.apply()
            story.await_ready()
            yield story


def inside(story: Story, *command: str) -> str:
    arguments = ("-n", story.namespace, "exec", CONTROLLER, "-c", "kafka", "--", *command)
    return story.kubernetes.kubectl(*arguments)


def log(story: Story) -> str:
    return story.kubernetes.kubectl("-n", story.namespace, "logs", CONTROLLER, "-c", "kafka")


def test_the_heap_is_a_part_of_the_memory_limit_whatever_the_image_says(story: Story) -> None:
    assert "-Xms192m\0-Xmx192m\0-Dasked.for=this" in inside(story, "cat", "/proc/1/cmdline")
    assert "Heap Max Capacity: 192M" in log(story)


def test_levels_of_the_log_are_those_that_were_asked_for_and_no_file_is_written(story: Story) -> None:
    lines = log(story).splitlines()
    assert any(" DEBUG " in line and "(org.apache.kafka.controller" in line for line in lines)
    assert [line for line in lines if " INFO " in line and "(kafka." in line] == []
    assert inside(story, "ls", "/tmp").split() in ([], ["hsperfdata_65532"], ["kafka-logs"])


def test_jmx_is_for_the_pod_alone(story: Story) -> None:
    listening = [line.split() for line in inside(story, "cat", "/proc/net/tcp", "/proc/net/tcp6").splitlines()]
    found = [each[1] for each in listening if each[1:] and each[1].endswith(f":{JMX_PORT:04X}") and each[3] == "0A"]
    assert found
    assert all(each.startswith(("0100007F:", "0000000000000000FFFF00000100007F:")) for each in found)


def test_a_tool_in_the_pod_takes_neither_the_heap_nor_the_port(story: Story) -> None:
    tool = "/opt/kafka/bin/kafka-metadata-quorum.sh"
    assert "LeaderId:" in inside(story, tool, "--bootstrap-controller", "localhost:9093", "describe", "--status")


def test_another_level_reaches_the_controller_by_a_new_revision(story: Story) -> None:
    before = story.kubernetes.gateway.get(POD, story.namespace, CONTROLLER)["metadata"]["uid"]
    story.apply(controllers={**story.spec["controllers"], "logging": {"level": "ERROR"}})

    def restarted() -> bool:
        found = story.kubernetes.gateway.get(POD, story.namespace, CONTROLLER)
        conditions = found["status"].get("conditions", ())
        ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
        return found["metadata"]["uid"] != before and ready

    eventually("the controller has the new level", restarted)
    assert '"level": "ERROR"' in inside(story, "cat", "/etc/kafka/logging/log4j2.json")
    assert " DEBUG " not in log(story)
