"""A broker of ours that coordinates share states is killed between two writes and comes back with all that it
acknowledged; Apache Kafka's own tool reads what it has written.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.messages import initialize_share_group_state_request as initializes
from controller_runtime.protocol.messages import read_share_group_state_request as reads
from controller_runtime.protocol.messages import write_share_group_state_request as writes
from controller_runtime.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from controller_runtime.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from controller_runtime.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from controller_runtime.protocol.schema import Message
from support.apache_kafka.java_kafka import run_tool
from support.nodes.processes import Cluster, NodeProcess, eventually
from support.nodes.strangers import ask

pytestmark = [pytest.mark.interop]

SETTINGS = {
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.snapshot.update.records.per.snapshot": "4",
}
GROUP = "g"


def _answer(broker: NodeProcess, request: Message, version: int) -> Any:
    """Of the only partition that is asked for."""
    answer: Any = ask(broker, request, version)
    return answer.results[0].partitions[0]


def _begun(broker: NodeProcess) -> Uuid:
    """A topic, and a state of its partition; the topic's id."""
    topic = CreatableTopic(name="orders", num_partitions=1, replication_factor=1)
    ask(broker, CreateTopicsRequest(topics=(topic,), timeout_ms=30_000), 7)

    def known() -> Uuid | None:
        asked = MetadataRequest(topics=(MetadataRequestTopic(name="orders"),))
        found: Any = ask(broker, asked, 12)
        return found.topics[0].topic_id if found.topics[0].error_code == 0 else None

    topic_id = eventually("the topic", known)

    def found() -> bool:
        key = FindCoordinatorRequest(key_type=2, coordinator_keys=(f"{GROUP}:{topic_id}:0",))
        answer: Any = ask(broker, key, 6)
        return bool(answer.coordinators[0].node_id == broker.node_id)

    eventually("its coordinator", found)
    data = initializes.InitializeStateData(
        topic_id=topic_id, partitions=(initializes.PartitionData(state_epoch=1, start_offset=5),)
    )
    begin = initializes.InitializeShareGroupStateRequest(group_id=GROUP, topics=(data,))
    eventually("its state", lambda: _answer(broker, begin, 0).error_code == 0)
    return topic_id


def _write(broker: NodeProcess, topic_id: Uuid, step: int) -> None:
    batch = writes.StateBatch(first_offset=5 + 3 * step, last_offset=6 + 3 * step, delivery_state=2, delivery_count=1)
    data = writes.PartitionData(
        state_epoch=1, leader_epoch=2, start_offset=5, delivery_complete_count=step, state_batches=(batch,)
    )
    topic = writes.WriteStateData(topic_id=topic_id, partitions=(data,))
    assert _answer(broker, writes.WriteShareGroupStateRequest(group_id=GROUP, topics=(topic,)), 1).error_code == 0


def _state(broker: NodeProcess, topic_id: Uuid) -> Any:
    topic = reads.ReadStateData(topic_id=topic_id, partitions=(reads.PartitionData(leader_epoch=-1),))

    def served() -> Any:
        found = _answer(broker, reads.ReadShareGroupStateRequest(group_id=GROUP, topics=(topic,)), 0)
        return found if found.error_code == 0 else None

    return eventually("the state", served)


def test_a_killed_coordinator_returns_with_its_states_and_java_reads_its_log(java: str, tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=1, brokers=1, extra=SETTINGS) as cluster:
        cluster.start()
        cluster.wait_until_unfenced(120)
        (broker,) = cluster.broker_nodes
        topic_id = _begun(broker)
        for step in range(10):
            _write(broker, topic_id, step)
            if step in (2, 6):
                before = _state(broker, topic_id)
                broker.kill()
                broker.start()
                assert _state(broker, topic_id) == before
        state = _state(broker, topic_id)
        assert [each.first_offset for each in state.state_batches] == [5 + 3 * step for step in range(10)]
        (log,) = Path(broker.properties["log.dirs"]).glob("__share_group_state-0/*.log")
    shown = run_tool("kafka-dump-log", "--share-group-state-decoder", "--files", str(log), timeout_s=90)
    assert shown.rc == 0, shown.err
    lines = [line.split(" key: ", 1)[1] for line in shown.out.splitlines() if line.startswith("| offset:")]
    found = [tuple(json.loads(part) for part in line.split(" payload: ")) for line in lines]
    kinds = [key["type"] for key, _ in found]
    assert [int(kind) for kind in kinds] == [0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0]
    assert {(key["data"]["groupId"], key["data"]["topicId"], key["data"]["partition"]) for key, _ in found} == {
        (GROUP, str(topic_id), 0)
    }
    told = found[5][1]["data"]
    assert (told["snapshotEpoch"], told["stateEpoch"], told["startOffset"]) == (1, 1, 5)
    assert [each["firstOffset"] for each in told["stateBatches"]] == [5, 8, 11, 14, 17]
