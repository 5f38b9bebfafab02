"""`make demo-pipeline`: a fleet of metadata logs is made by real clusters, and the pipeline tells what happened in
them.

Our own quorum of three with two brokers lives through a killed leader, a stopped broker, topics made, changed and
removed; where Java is there, an Apache Kafka beside it does some of the same. Then one disk is damaged in a way no
checksum covers; ingest, tables, audit and report follow. The last line names the report.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
for place in (ROOT, ROOT / "tests"):
    if str(place) not in sys.path:
        sys.path.insert(0, str(place))

from deploy.demo.narrator import Narrator  # noqa: E402  the paths above make these imports work from anywhere
from metadata_pipeline.audit.job import audit  # noqa: E402
from metadata_pipeline.jobs.ingest import ingest  # noqa: E402
from metadata_pipeline.report.job import report  # noqa: E402
from metadata_pipeline.session import open_session  # noqa: E402
from metadata_pipeline.tables.build import build_tables  # noqa: E402
from support.apache_kafka import java_kafka  # noqa: E402
from support.nodes.processes import Cluster, eventually, free_ports, kraft  # noqa: E402

APACHE_CLUSTER: Final = "MkU3OEVBNTcwNTJENDM2Qk"


def topics(server: str, *arguments: str) -> None:
    done = kraft("topics", "--bootstrap-server", server, *arguments)
    if done.returncode != 0:
        raise SystemExit(f"kraft topics {' '.join(arguments)}: {done.stdout}{done.stderr}")


def our_cluster(home: Path, archive: Path, tell: Narrator) -> None:
    """Three controllers and two brokers as processes, what happens to them, and a copy of their logs taken while they
    run.

    While the quorum runs, copies prove what is committed. When it is stopped node by node, the last ones may begin an
    epoch that no majority ever acknowledges, and then nothing is proven until a snapshot is.
    """
    with Cluster(home, controllers=3, brokers=2) as cluster:
        with tell.chapter("our quorum: three controllers and two brokers start", "all are ready"):
            cluster.start()
            leader = cluster.wait_for_leader()
            cluster.wait_until_unfenced()
        server = cluster.bootstrap_servers
        for name, count in (("orders", "6"), ("payments", "3"), ("clicks", "12"), ("audit-log", "1")):
            topics(server, "--create", "--topic", name, "--partitions", count, "--replication-factor", "1")
        tell.say("four topics are created")
        with tell.chapter(f"controller {leader.node_id}, the leader, is killed", "another one leads"):
            leader.kill()
            cluster.wait_for_leader(other_than=leader.node_id)
        topics(server, "--create", "--topic", "after-the-kill", "--partitions", "2", "--replication-factor", "1")
        leader.start()
        with tell.chapter("broker 12 is stopped, and started again", "it serves again"):
            cluster.nodes[12].stop()
            time.sleep(1.5)
            cluster.nodes[12].start()
            cluster.wait_until_unfenced()
        topics(server, "--create", "--topic", "late", "--partitions", "2", "--config", "retention.ms=60000")
        topics(server, "--delete", "--topic", "clicks")
        tell.say("one more topic is created, topic clicks is deleted")
        eventually("all controllers hold the same log", lambda: len(set(cluster.log_end_offsets().values())) == 1, 30.0)
        for node in cluster.nodes.values():
            copy_log(Path(node.properties["log.dirs"]), archive / f"node-{node.node_id}")
        tell.say("the metadata logs are copied from the running nodes, as a backup does")
        for node in (*cluster.broker_nodes, *cluster.controller_nodes):
            node.stop()


def copy_log(data: Path, to: Path) -> None:
    """The log first, then what the node remembers of elections: the order that a proof wants."""
    log = "__cluster_metadata-0"
    shutil.copytree(
        data / log, to / log, ignore=shutil.ignore_patterns("quorum-state*", "*.part", "*.deleted", "*.tmp")
    )
    shutil.copy(data / "meta.properties", to)
    if (data / log / "quorum-state").exists():
        shutil.copy(data / log / "quorum-state", to / log)


def apache_kafka(home: Path, tell: Narrator) -> bool:
    """One node of a real Apache Kafka that is broker and controller; False without Java."""
    try:
        java_kafka.class_path()
    except java_kafka.JavaUnavailable as missing:
        tell.say(f"no Apache Kafka beside ours: {missing}")
        return False
    home.mkdir(parents=True, exist_ok=True)
    client, controller = free_ports(2)
    properties = home / "server.properties"
    properties.write_text(
        f"process.roles=broker,controller\nnode.id=1\nlog.dirs={home / 'data'}\ncontroller.listener.names=CONTROLLER\n"
        f"listeners=PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}\noffsets.topic.replication.factor=1\n"
        f"controller.quorum.bootstrap.servers=127.0.0.1:{controller}\n"
    )
    made = java_kafka.run_tool("kafka-storage", "format", "-c", str(properties), "-t", APACHE_CLUSTER, "--standalone")
    if made.rc != 0:
        raise SystemExit(made.out + made.err)
    with tell.chapter("an Apache Kafka 4.3.1 beside ours starts", "it is ready"):
        node = java_kafka.JavaNode(properties, home / "node.log")
        node.wait_for_log("Kafka Server started", 120)
    try:
        server = f"127.0.0.1:{client}"
        topics(server, "--create", "--topic", "stock", "--partitions", "4")
        topics(server, "--create", "--topic", "short-lived", "--partitions", "1")
        topics(server, "--delete", "--topic", "short-lived")
        time.sleep(2.0)
    finally:
        node.stop(60)
    tell.say("it made two topics and removed one")
    return True


def damage(home: Path, tell: Narrator) -> None:
    """One bit of the epoch of a batch on controller 2, which no checksum covers: Kafka's own tools call the
    log valid.
    """
    path = next(iter(sorted((home / "node-2" / "__cluster_metadata-0").glob("*.log"))))
    data = bytearray(path.read_bytes())
    position = 0
    for _ in range(20):
        position += 12 + int.from_bytes(data[position + 8 : position + 12], "big")
    data[position + 15] ^= 0x40
    path.write_bytes(bytes(data))
    tell.say(
        f"one bit is flipped on the disk of controller 2, at byte {position + 15} of {path.name}: "
        "part of an epoch, which no checksum covers"
    )


def tell_the_story(fleet: Path, lake: Path, master: str, tell: Narrator) -> None:
    """The four jobs in one session: what `kraft-pipeline ingest, tables, audit, report` do one by one."""
    with tell.chapter("Spark starts in this process", "it is ready"):
        spark = open_session(master)
    try:
        with tell.chapter(f"kraft-pipeline ingest {fleet}", "ingested"):
            done = ingest(str(fleet), lake, spark)
        tell.detail(f"{done.rows['records']} records in {done.rows['batches']} batches from {done.files_read} files")
        with tell.chapter("kraft-pipeline tables", "the history tables are made"):
            built = build_tables(lake, spark)
        for cluster, end in built.committed.items():
            tell.detail(f"cluster {cluster}: committed up to offset {end}")
        tell.detail(
            ", ".join(
                f"{built.rows[name]} {name}" for name in ("topics", "partitions", "brokers", "configs", "leadership")
            )
        )
        with tell.chapter("kraft-pipeline audit", "audited"):
            audited = audit(lake, spark)
        for it in audited.findings:
            if it.severity != "note":
                tell.detail(
                    f"{it.severity}: {it.kind} on node {it.node}, byte {it.position} of "
                    f"{Path(it.file or '').name}: {it.detail}"
                )
        with tell.chapter("kraft-pipeline report", "the report is written"):
            report(lake, spark, title="Two clusters and a damaged disk")
    finally:
        spark.stop()


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make demo-pipeline", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("build") / "demo-pipeline", help="where everything goes")
    parser.add_argument("--master", default="local[*]")
    options = parser.parse_args(argv)
    home: Path = options.output.absolute()
    shutil.rmtree(home, ignore_errors=True)
    fleet, lake = home / "fleet", home / "lake"
    tell = Narrator()
    our_cluster(home / "nodes", fleet / "ours", tell)
    apache_kafka(fleet / "apache-kafka", tell)
    damage(fleet / "ours", tell)
    tell_the_story(fleet, lake, options.master, tell)
    print(f"\nthe report: {lake / 'report.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
