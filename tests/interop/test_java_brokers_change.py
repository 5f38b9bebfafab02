"""What an operator of three Java brokers does to them under a producer that wants every acknowledgement, on controllers
of ours: one of two log directories fails and is replaced, replicas are moved and get their preferred leaders by Java's
tools, and a cluster of release 4.0 is upgraded to 4.3, in an order that the seed of the run chooses (INT-01, INT-05,
REP-09, REP-12, REP-16).

Apache Kafka's VerifiableProducer and VerifiableConsumer judge.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from support.apache_kafka.java_brokers import SECONDS, JavaBrokers
from support.apache_kafka.verifiable_clients import Verifiable
from support.nodes.processes import CLUSTER_ID, NodeProcess, eventually, kraft

pytestmark = [pytest.mark.interop, pytest.mark.slow]

TOPIC: Final = "ledger"
PARTITIONS: Final = 4
MORE: Final = 25
NOTICED_SOON: Final = {"replica.high.watermark.checkpoint.interval.ms": "1000"}
"""A broker writes a file into every log directory so often, which is how it learns that one has failed.

A leader of Apache Kafka goes on waiting for a replica that its controller took out of the ISR, as long as the replica's
broker is alive and was in sync a moment ago: what is on its way to such a leader is acknowledged after the producer's
request timeout of 30 s, under Apache Kafka's controllers as under ours.
"""


class Story:
    def __init__(self, nodes: JavaBrokers, clients: Verifiable, directory: Path, dice: random.Random) -> None:
        self.nodes = nodes
        self.clients = clients
        self.directory = directory
        self.dice = dice

    # one of two log directories fails

    def a_log_directory_fails(self) -> None:
        """Leaders leave it at once, its replicas are out of sync, those of the other directory go on; an empty
        directory in its place gets everything back.
        """
        led = self.dice.choice(self.nodes.partitions(TOPIC))
        broker, node = led.leader, self.nodes.cluster.nodes[led.leader]
        home = next(path for path in directories(node) if (path / f"{TOPIC}-{led.index}").exists())
        ends = [path.name.rpartition("-")[2] for path in home.glob(f"{TOPIC}-*")]
        held = {int(end) for end in ends if end.isdigit()}  # others are moved here, or deleted: `-future`, `-delete`
        kept = set(range(PARTITIONS)) - held
        home.rename(home.with_suffix(".failed"))
        home.write_text("a file where a directory has to be\n")

        def gone(isr: tuple[int, ...], leader: int, number: int) -> bool:
            return broker in isr if number in kept else broker not in isr and leader not in (broker, -1)

        self._wait_for(f"broker {broker} left what it held there", gone)
        self.clients.wait_for_more(MORE)
        self.nodes.stop(broker)
        home.unlink()
        done = kraft("storage", "format", "-c", str(node.properties_file), "-t", CLUSTER_ID, "--ignore-formatted")
        assert done.returncode == 0, done.stderr
        self.nodes.boot(broker)
        self.nodes.wait_until_started(broker)
        self.nodes.wait_until_in_sync(TOPIC)
        shutil.rmtree(home.with_suffix(".failed"))

    def _wait_for(self, what: str, holds: Callable[[tuple[int, ...], int, int], bool]) -> None:
        def there() -> bool:
            found = self.nodes.partitions(TOPIC)
            return len(found) == PARTITIONS and all(holds(each.isr, each.leader, each.index) for each in found)

        eventually(what, there, SECONDS)

    # replicas move

    def replicas_move(self) -> None:
        """Every partition to two brokers and back to three, in another order; then the first of them leads."""
        for size in (2, 3):
            wanted = {number: self.dice.sample(self.nodes.brokers, size) for number in range(PARTITIONS)}
            self._reassign(wanted)
            self._wait_for("the replicas moved", partial(in_sync, wanted))
            self.nodes.tool("kafka-leader-election", "--election-type", "preferred", "--all-topic-partitions")
            self._wait_for("the preferred replicas lead", partial(led, wanted))
            self.clients.wait_for_more(MORE)

    def _reassign(self, wanted: dict[int, list[int]]) -> None:
        file = self.directory / "reassignment.json"
        partitions = [{"topic": TOPIC, "partition": number, "replicas": to} for number, to in wanted.items()]
        file.write_text(json.dumps({"version": 1, "partitions": partitions}))
        self.nodes.tool("kafka-reassign-partitions", "--reassignment-json-file", str(file), "--execute")
        eventually("the reassignment is complete", lambda: self._complete(file, len(wanted)), SECONDS)

    def _complete(self, file: Path, count: int) -> bool:
        said = self.nodes.tool("kafka-reassign-partitions", "--reassignment-json-file", str(file), "--verify").out
        return said.count("is completed") == count

    # the cluster is upgraded

    def the_cluster_is_upgraded(self) -> None:
        """By Java's tool, to what 4.3 is; every broker serves at the new level, and a controller that starts at it."""
        assert levels(self.nodes)["metadata.version"] == "4.0-IV3"
        self.nodes.tool("kafka-features", "upgrade", "--release-version", "4.3")
        now = levels(self.nodes)
        assert (now["metadata.version"], now["eligible.leader.replicas.version"]) == ("4.3-IV0", "1"), now
        self.clients.wait_for_more(MORE)
        leader = self.nodes.cluster.wait_for_leader(seconds=SECONDS).node_id
        self.nodes.kill(leader)
        self.clients.wait_for_more(MORE)
        self.nodes.boot(leader)
        self.nodes.wait_until_voters_follow()
        assert levels(self.nodes) == now


def in_sync(wanted: dict[int, list[int]], isr: tuple[int, ...], _: int, number: int) -> bool:
    return set(isr) == set(wanted[number])


def led(wanted: dict[int, list[int]], _: tuple[int, ...], leader: int, number: int) -> bool:
    return leader == wanted[number][0]


def directories(node: NodeProcess) -> list[Path]:
    return [Path(each) for each in node.properties["log.dirs"].split(",")]


def levels(nodes: JavaBrokers) -> dict[str, str]:
    """Feature to finalized level, as Java's tool tells them."""
    rows = [line.split() for line in nodes.tool("kafka-features", "describe").out.splitlines()]
    return {row[1]: row[row.index("FinalizedVersionLevel:") + 1] for row in rows if "FinalizedVersionLevel:" in row}


@pytest.fixture
def nodes(java: str, tmp_path: Path) -> Iterator[JavaBrokers]:
    with JavaBrokers(tmp_path, controllers=3, extra=NOTICED_SOON) as made:
        for broker in made.brokers:
            node = made.cluster.nodes[broker]
            node.properties["log.dirs"] += f",{node.directory / 'more'}"
            node.properties["metadata.log.dir"] = str(node.directory / "metadata")
        made.start("--release-version", "4.0")
        yield made


@pytest.mark.timeout(1800)
def test_a_directory_fails_replicas_move_and_levels_rise_and_nothing_acknowledged_is_lost(
    nodes: JavaBrokers, tmp_path: Path, run_seed: int, sampled: Callable[[str], None]
) -> None:
    nodes.tool("kafka-topics", "--create", "--topic", TOPIC, "--partitions", str(PARTITIONS),
               "--replication-factor", "3", "--config", "min.insync.replicas=2")  # fmt: skip
    dice = random.Random(run_seed)
    with Verifiable(tmp_path, nodes.servers, TOPIC) as clients:
        clients.wait_for_more(MORE)
        story = Story(nodes, clients, tmp_path, dice)
        chapters = [story.a_log_directory_fails, story.replicas_move, story.the_cluster_is_upgraded]
        for chapter in dice.sample(chapters, len(chapters)):
            print(chapter.__name__)
            chapter()
            clients.wait_for_more(MORE)
        lost, pause, count = clients.lost(), clients.longest_pause_ms(), len(clients.acknowledged())
        assert clients.failed() == []
        assert lost == set()
        sampled(f"Java's brokers changed under load: {count} records acknowledged, longest pause {pause} ms")
    assert nodes.refused() == []
