"""Three broker processes of ours keep one partition: kill -9 of whoever leads, in turn, and a controlled stop lose
nothing that was acknowledged, and the logs are the same bytes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import create_topics_request as create_q
from controller_runtime.protocol.messages import fetch_request as fetch_q
from controller_runtime.protocol.messages import metadata_request as metadata_q
from controller_runtime.protocol.messages import produce_request as produce_q
from controller_runtime.protocol.messages.create_topics_response import CreateTopicsResponse
from controller_runtime.protocol.messages.fetch_response import FetchResponse
from controller_runtime.protocol.messages.metadata_response import MetadataResponse, MetadataResponsePartition
from controller_runtime.protocol.messages.produce_response import ProduceResponse
from controller_runtime.protocol.record_batch import Record, decode_batches, encode_batch
from support.nodes.processes import Cluster, NodeProcess, eventually
from support.nodes.strangers import ask

pytestmark = [pytest.mark.integration, pytest.mark.slow]

TOPIC = "trio"


class Client:
    """It writes what is new until it is acknowledged or fails, and looks for the leader anew."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.acknowledged: list[bytes] = []
        self._last = 0

    def described(self) -> MetadataResponsePartition | None:
        """By whoever is up."""
        for broker in self.cluster.broker_nodes:
            request = metadata_q.MetadataRequest(topics=(metadata_q.MetadataRequestTopic(name=TOPIC),))
            try:
                answer = ask(broker, request, 12)
            except OSError:
                continue
            assert isinstance(answer, MetadataResponse)
            if (found := answer.topics[0].partitions) and found[0].leader_id >= 0:
                return found[0]
        return None

    def leader(self) -> NodeProcess:
        found = eventually("somebody leads", self.described)
        return next(one for one in self.cluster.broker_nodes if one.node_id == found.leader_id)

    def write(self) -> bool:
        self._last += 1
        value = b"%d" % self._last
        one = produce_q.PartitionProduceData(index=0, records=encode_batch([Record(0, 1_000, None, value)]))
        topics = (produce_q.TopicProduceData(name=TOPIC, partition_data=(one,)),)
        try:
            answer = ask(self.leader(), produce_q.ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=topics), 9)
        except OSError:
            return False
        assert isinstance(answer, ProduceResponse)
        if answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE:
            self.acknowledged.append(value)
            return True
        return False

    def read(self) -> list[bytes | None]:
        one = fetch_q.FetchPartition(partition=0, partition_max_bytes=1 << 20)
        topics = (fetch_q.FetchTopic(topic=TOPIC, partitions=(one,)),)
        answer = ask(self.leader(), fetch_q.FetchRequest(max_bytes=1 << 20, topics=topics), 12)
        assert isinstance(answer, FetchResponse)
        data = answer.responses[0].partitions[0].records or b""
        return [record.value for batch in decode_batches(data) for record in batch.records]


def log_of(broker: NodeProcess) -> bytes:
    (path,) = Path(broker.properties["log.dirs"]).glob(f"{TOPIC}-0")
    return b"".join(segment.read_bytes() for segment in sorted(path.glob("*.log")))


@pytest.mark.timeout(300)
def test_nothing_acknowledged_is_lost_with_any_leader(tmp_path: Path) -> None:
    """FLW-01, ISR-21."""
    with Cluster(tmp_path, controllers=1, brokers=3) as cluster:
        cluster.nodes[1].properties["broker.session.timeout.ms"] = "3000"
        for broker in cluster.broker_nodes:
            broker.properties |= {"replica.lag.time.max.ms": "2000", "broker.heartbeat.interval.ms": "500"}
        cluster.start()
        cluster.wait_until_unfenced()
        settings = {"min.insync.replicas": "2", "retention.ms": "-1"}  # the records are of 1970
        configs = tuple(create_q.CreatableTopicConfig(name=name, value=value) for name, value in settings.items())
        topic = create_q.CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=3, configs=configs)
        request = create_q.CreateTopicsRequest(timeout_ms=30_000, topics=(topic,))
        made = ask(cluster.broker_nodes[0], request, 7)
        assert isinstance(made, CreateTopicsResponse)
        assert made.topics[0].error_code == ErrorCode.NONE
        client = Client(cluster)

        def all_in_sync() -> bool:
            found = client.described()
            return found is not None and len(found.isr_nodes) == len(cluster.broker_nodes)

        eventually("the first is acknowledged", client.write)
        for how in ("killed", "killed", "stopped"):
            assert sum(client.write() for _ in range(20)) == 20
            leader = client.leader()
            if how == "killed":
                leader.kill()
            else:
                assert leader.stop() == 0
            eventually("the next is acknowledged", client.write)
            leader.start()
            eventually("all are in sync again", all_in_sync)
        eventually("all logs are the same", lambda: len({log_of(one) for one in cluster.broker_nodes}) == 1)
        seen = client.read()
        assert [value for value in client.acknowledged if value not in seen] == []
