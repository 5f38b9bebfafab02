"""Whole processes on disks that fail, fill up, or are slow. The faults are in the system calls (see
`support/faulty_disk`).
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from controller_runtime.admin.results import NewTopic
from controller_runtime.storage.file_names import snapshot_file
from support.apache_kafka.kafka_python import KafkaAdminClient, KafkaProducer
from support.disks.metadata_disk import metadata_directory, snapshots_in
from support.nodes.processes import ENVIRONMENT, Cluster, NodeProcess, eventually

pytestmark = [
    pytest.mark.integration,
    # The client's own deprecated call.
    pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning"),
]

FAULTY = Path(__file__).parents[2] / "support" / "faulty_disk"
EIO, ENOSPC = 5, 28


def faults_of(node: NodeProcess) -> Path:
    return node.directory / "faults"


def with_faults(cluster: Cluster) -> None:
    for node in cluster.nodes.values():
        node.environment = {
            **ENVIRONMENT,
            "PYTHONPATH": str(FAULTY),
            "QUORATE_TEST_FAULTS": str(faults_of(node)),
        }


def break_disk(node: NodeProcess, *lines: str) -> None:
    faults_of(node).write_text("\n".join(lines) + "\n")


def seen(node: NodeProcess) -> list[str]:
    path = node.directory / "faults.seen"
    return path.read_text().splitlines() if path.exists() else []


def commits_go_on(cluster: Cluster, more: int = 5) -> None:
    before = cluster.quorum().high_watermark
    eventually("commits go on", lambda: cluster.quorum().high_watermark >= before + more)


@pytest.mark.parametrize("who", ["leader", "follower"])
def test_a_sync_that_fails_ends_the_process_and_is_never_tried_again(tmp_path: Path, who: str) -> None:
    with Cluster(tmp_path, controllers=3) as cluster:
        with_faults(cluster)
        cluster.start()
        leader = cluster.wait_for_leader()
        broken = leader if who == "leader" else next(n for n in cluster.controller_nodes if n is not leader)
        break_disk(broken, f"fdatasync .log errno {EIO}")
        assert broken.wait(60) == 1
        log = f"{metadata_directory(broken.properties['log.dirs'])}/{0:020}.log"
        assert f"cannot sync {log}: Input/output error" in broken.log()
        assert seen(broken) == [f"fdatasync {log} failed"], "one failure, and no sync of anything after it"
        cluster.wait_for_leader(other_than=broken.node_id)
        commits_go_on(cluster)
        break_disk(broken)
        broken.start()
        eventually("it is back", lambda: broken.http("/readyz")[0] == 200)


def test_a_disk_without_room_for_the_log_ends_the_process_and_names_the_file(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=1) as cluster:
        with_faults(cluster)
        cluster.start()
        node = cluster.wait_for_leader()
        break_disk(node, f"pwrite .log errno {ENOSPC}")
        assert node.wait(60) == 1
        assert f"{0:020}.log: No space left on device" in node.log()
        committed_before = node.log().count("active controller of epoch")
        break_disk(node)
        node.start()
        eventually("it leads again", lambda: node.log().count("active controller of epoch") > committed_before)
        commits_go_on(cluster)


def test_a_disk_without_room_for_a_snapshot_costs_only_the_snapshot(tmp_path: Path) -> None:
    often = {"metadata.log.max.record.bytes.between.snapshots": "4000", "metadata.max.idle.interval.ms": "20"}
    with Cluster(tmp_path, controllers=1, extra=often) as cluster:
        with_faults(cluster)
        cluster.format()
        node = cluster.nodes[1]
        break_disk(node, f"pwrite .part errno {ENOSPC}")
        node.start()
        node.wait_for_log("No space left on device")
        directory = metadata_directory(node.properties["log.dirs"])
        assert node.is_running
        assert not snapshots_in(directory)
        break_disk(node)
        eventually("the next one is written", lambda: snapshots_in(directory))
        assert not list(directory.glob("*.part"))
        commits_go_on(cluster)


@pytest.mark.parametrize("who", ["leader", "follower"])
def test_a_voter_whose_syncs_take_half_a_second_causes_no_election(tmp_path: Path, who: str) -> None:
    """The loop never waits for a disk: its heartbeats, fetches and answers go on while a sync hangs."""
    with Cluster(tmp_path, controllers=3) as cluster:
        with_faults(cluster)
        cluster.start()
        leader = cluster.wait_for_leader()
        slow = leader if who == "leader" else next(n for n in cluster.controller_nodes if n is not leader)
        commits_go_on(cluster)
        epoch = cluster.quorum().leader_epoch
        break_disk(slow, "fdatasync .log sleep 0.5")
        until = time.monotonic() + 5  # seven times as long as a follower waits for its leader
        while time.monotonic() < until:
            commits_go_on(cluster, 2)
        found = cluster.quorum()
        assert (found.leader_id, found.leader_epoch) == (leader.node_id, epoch)
        break_disk(slow)
        ends = {one.replica_id: one.log_end_offset for one in found.voters}
        assert all(end > 0 for end in ends.values()), ends


@pytest.mark.parametrize("how", ["a flipped bit", "a sector that cannot be read"])
def test_what_rots_is_found_by_the_scrub_told_and_replaced(tmp_path: Path, how: str) -> None:
    extra = {
        "metadata.log.max.record.bytes.between.snapshots": "4000",
        "metadata.max.idle.interval.ms": "20",
        "quorate.scrub.interval.ms": "100",
    }
    with Cluster(tmp_path, controllers=1, extra=extra) as cluster:
        with_faults(cluster)
        cluster.start()
        node = cluster.wait_for_leader()
        directory = metadata_directory(node.properties["log.dirs"])
        rotten = snapshot_file(eventually("two snapshots", lambda: snapshots_in(directory)[1:])[0])
        path = directory / rotten
        if how == "a flipped bit":
            path.chmod(0o600)
            with path.open("r+b") as file:
                file.seek(100)
                good = file.read(1)
                file.seek(100)
                file.write(bytes([good[0] ^ 1]))
        else:
            break_disk(node, f"pread {rotten} errno {EIO}")
        node.wait_for_log(f"metadata log corruption: {path} at byte ")
        assert ("Input/output error" in node.log()) == (how != "a flipped bit")
        assert "quorate_metadata_log_corruptions_total 1\n" in node.http("/metrics")[1]
        eventually("it is replaced", lambda: not path.exists())
        assert "the log begins at snapshot" in node.log()
        assert "ERROR metadata log corruption" in node.log()
        commits_go_on(cluster)
        node.kill()
        node.start()
        cluster.wait_for_leader()


def test_a_node_that_stops_gives_up_the_snapshot_it_is_writing(tmp_path: Path) -> None:
    often = {"metadata.log.max.record.bytes.between.snapshots": "4000", "metadata.max.idle.interval.ms": "20"}
    with Cluster(tmp_path, controllers=1, extra=often) as cluster:
        with_faults(cluster)
        cluster.format()
        node = cluster.nodes[1]
        break_disk(node, "pwrite .part sleep 0.7")
        node.start()
        directory = metadata_directory(node.properties["log.dirs"])
        eventually("it writes one", lambda: list(directory.glob("*-own.checkpoint.part")))
        assert node.stop() == 0
        assert not list(directory.glob("*.part"))


def test_a_snapshot_that_cannot_be_synced_ends_the_process(tmp_path: Path) -> None:
    often = {"metadata.log.max.record.bytes.between.snapshots": "4000"}
    with Cluster(tmp_path, controllers=1, brokers=1, extra=often) as cluster:
        with_faults(cluster)
        cluster.start()
        cluster.wait_until_unfenced()
        node = cluster.nodes[1]
        break_disk(node, f"fdatasync .part errno {EIO}")

        async def create() -> None:
            async with cluster.admin(10.0) as admin:
                for number in range(30):
                    await admin.create_topics([NewTopic(f"topic-{number}", 8, 1)])

        with pytest.raises(Exception, match=r".*"):
            asyncio.run(create())
        assert node.wait(60) == 1
        assert "-own.checkpoint.part: Input/output error" in node.log()
        break_disk(node)
        node.start()
        cluster.wait_for_leader()
        parts = metadata_directory(node.properties["log.dirs"])
        eventually("the torn one is gone, the next ones are whole", lambda: not list(parts.glob("*.part")))


def two_disks(cluster: Cluster) -> tuple[NodeProcess, list[Path]]:
    """A broker with one partition of `orders` on each of its log directories; the first has the metadata log."""
    (broker,) = cluster.broker_nodes
    homes = [broker.directory / name for name in ("disk0", "disk1")]
    broker.properties["log.dirs"] = ",".join(map(str, homes))
    with_faults(cluster)
    cluster.start()
    cluster.wait_until_unfenced(120)

    async def create() -> None:
        async with cluster.admin(30.0) as admin:
            await admin.create_topics([NewTopic("orders", 2, 1)])

    asyncio.run(create())
    eventually("each has one", lambda: all(list(home.glob("orders-*")) for home in homes))
    return broker, [next(home.glob("orders-*")) for home in homes]


def test_a_disk_that_hangs_or_fails_costs_its_own_partitions_only(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=1, brokers=1) as cluster:
        broker, homes = two_disks(cluster)
        good, bad = (int(home.name[-1]) for home in homes)
        producers = [KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, retries=0) for _ in homes]

        def send(partition: int) -> Any:
            """On a connection of its own: what comes on one is answered in order."""
            return producers[partition].send("orders", b"v", partition=partition)

        assert [send(partition).get(60).offset for partition in (good, bad)] == [0, 0]
        break_disk(broker, "pwrite /disk1/ sleep 8")
        held = send(bad)
        assert [send(good).get(15).offset for _ in range(5)] == [1, 2, 3, 4, 5]
        assert not held.is_done, "the other disk still hangs"
        break_disk(broker, f"pwrite /disk1/ errno {EIO}")
        assert held.get(60).offset == 1
        with pytest.raises(Exception, match="KafkaStorageError"):
            send(bad).get(60)
        broker.wait_for_log("replace the disk of log directory")
        assert [send(good).get(60).offset for _ in range(2)] == [6, 7]
        eventually("nobody leads what lay there", lambda: leaders(cluster) == {good: broker.node_id, bad: -1})
        break_disk(broker)
        assert send(good).get(60).offset == 8
        for producer in producers:
            producer.close()
        assert broker.stop() == 0
        marked = [path.parent.name for path in broker.directory.glob("disk*/.kafka_cleanshutdown")]
        assert marked == ["disk0"]


def leaders(cluster: Cluster) -> dict[int, int]:
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    (topic,) = admin.describe_topics(["orders"])
    admin.close()
    return {int(one["partition_index"]): int(one["leader_id"]) for one in topic["partitions"]}
