"""`kraft-pipeline ingest` of living quorums: committed records alone, each once, through fail-overs, snapshots and
quorums that are not there. Our controllers are processes; those of Apache Kafka are asked in tests/interop.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metadata_pipeline.audit.copies import judge
from metadata_pipeline.cli import main
from metadata_pipeline.jobs.ingest import ingest, lake_state
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.tables.committed import clusters
from metadata_pipeline.wire.fleet import Quorum, read_fleet
from support.nodes.processes import CLUSTER_ID, Cluster, eventually, free_ports
from support.pipeline.lake_rows import log_rows

pytestmark = pytest.mark.integration

PRUNING = {
    "metadata.log.max.record.bytes.between.snapshots": "4000",
    "metadata.max.retention.bytes": "1",
}


def elected_again(cluster: Cluster, times: int) -> None:
    for _ in range(times):
        cluster.nodes[1].stop()
        cluster.nodes[1].start()
        cluster.wait_for_leader()


def findings(lake: Path) -> list[tuple[str, str]]:
    state = lake_state(lake)
    return [(it.kind, it.file or "") for it in judge(state, clusters(state)) if it.severity != "note"]


def test_a_quorum_is_followed_through_a_fail_over_and_each_committed_record_is_there_once(tmp_path: Path) -> None:
    lake, disks = tmp_path / "lake", tmp_path / "disks"
    with Cluster(tmp_path, controllers=3) as cluster:
        cluster.start()
        leader = cluster.wait_for_leader()
        command = ["ingest", "--bootstrap-controller", cluster.bootstrap_controllers, "--output", str(lake)]
        assert main([*command, "--cluster-id", CLUSTER_ID]) == 0
        first = log_rows(lake)
        leader.kill()
        cluster.wait_for_leader(other_than=leader.node_id)
        assert main(command) == 0, "the lake remembers the cluster"
        leader.start()
        end = eventually("a committed record", lambda: cluster.quorum().high_watermark)
        assert main([*command, "--rate-limit", "1000000"]) == 0
        seen = log_rows(lake)
        (known,) = clusters(lake_state(lake))
        copies = [str(Path(node.properties["log.dirs"])) for node in cluster.controller_nodes]
        ingest(copies, disks)
    assert len(first) < len(seen)
    assert [it[0] for it in seen] == list(range(len(seen))), "each offset once, without a hole"
    assert known.canon.end == len(seen) >= end
    assert known.canon.proofs[-1].why.startswith("high watermark of node ")
    assert known.canon.open == known.canon.refuted == ()
    held = [log_rows(disks, node)[: len(seen)] for node in (1, 2, 3)]
    assert all(one == seen[: len(one)] for one in held), "the bytes of the disks, as they were decoded"
    assert sum(len(one) == len(seen) for one in held) >= 2, "committed is what a majority holds"
    assert findings(lake) == []
    assert list((lake / "_wire").iterdir()) == [], "what came over the wire holds secrets, and does not stay"


def test_a_quorum_whose_log_begins_with_a_snapshot_is_read_from_there(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    with Cluster(tmp_path, controllers=1, extra=PRUNING) as cluster:
        cluster.start()
        eventually("a log that begins later", lambda: "the log begins at snapshot" in cluster.nodes[1].log())
        quorum = Quorum("small", cluster.bootstrap_controllers)
        ingest((), lake, quorums=[quorum])
        (begun,) = clusters(lake_state(lake))

        def grown() -> bool:
            ingest((), lake, quorums=[quorum])
            return clusters(lake_state(lake))[0].canon.end > begun.canon.end

        eventually("what a quiet leader writes twice a second is read, too", grown)
    (known,) = clusters(lake_state(lake))
    assert [it.damaged for it in known.evidence.snapshots][:1] == [False]
    assert known.stretches[0].base is not None
    assert known.stretches[0].start == known.evidence.snapshots[0].end > 0
    assert findings(lake) == []


def test_a_quorum_that_is_away_is_a_row_that_says_so_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of another cluster's id nothing is read; what was read before stays."""
    monkeypatch.setattr("metadata_pipeline.wire.leader.SECONDS", 1.0)
    lake, fleet = tmp_path / "lake", tmp_path / "fleet.yaml"
    (port,) = free_ports(1)
    with Cluster(tmp_path, controllers=1) as cluster:
        cluster.start()
        cluster.wait_for_leader()
        here = cluster.bootstrap_controllers
        quorums = [
            {"name": "gone", "bootstrap": f"127.0.0.1:{port}", "cluster-id": "GoneGoneGoneGoneGoneGo"},
            {"name": "here", "bootstrap": here},
            {"name": "mistaken", "bootstrap": here, "cluster-id": "OtherOtherOtherOtherOt"},
            {"name": "again", "bootstrap": here, "cluster-id": CLUSTER_ID},
        ]
        fleet.write_text(json.dumps({"quorums": quorums}))
        assert main(["ingest", "--fleet", str(fleet), "--output", str(lake)]) == 0
        seen = log_rows(lake)
        assert seen
        assert lake_state(lake).clusters == [CLUSTER_ID]
        assert sorted(findings(lake)) == [
            ("another cluster", f"quorum mistaken ({here})"), ("away", f"quorum gone (127.0.0.1:{port})"),
        ]  # fmt: skip
    assert main(["ingest", "--fleet", str(fleet), "--output", str(lake)]) == 0
    assert {kind for kind, _ in findings(lake)} == {"away"}
    assert log_rows(lake) == seen


@pytest.mark.parametrize(("before", "after"), [(2, 0), (0, 2)], ids=["an older epoch leads", "a newer epoch leads"])
def test_a_log_that_lost_what_was_committed_is_told_and_nothing_of_it_is_committed(
    before: int, after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster made anew under its old id: the leader does not have what was read."""
    monkeypatch.setattr("metadata_pipeline.wire.leader.SECONDS", 3.0)
    lake = tmp_path / "lake"
    with Cluster(tmp_path / "first", controllers=1) as cluster:
        cluster.start()
        cluster.wait_for_leader()
        elected_again(cluster, before)
        eventually("a longer log", lambda: cluster.quorum().high_watermark > 100)
        ingest((), lake, quorums=[Quorum("it", cluster.bootstrap_controllers)])
    seen = log_rows(lake)
    with Cluster(tmp_path / "second", controllers=1) as cluster:
        cluster.start()
        cluster.wait_for_leader()
        elected_again(cluster, after)
        done = ingest((), lake, quorums=[Quorum("it", cluster.bootstrap_controllers)])
    assert [(it.fault, it.copy and it.copy.cluster) for it in done.troubles] == [("history replaced", CLUSTER_ID)]
    assert log_rows(lake) == seen
    assert findings(lake) == [("history replaced", f"quorum it ({cluster.bootstrap_controllers})")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("quorums: []", "names no quorums"),
        ("quorums: [{name: a}]", "quorum 1 has no name or no bootstrap"),
        ("quorums: [{name: a, bootstrap: 'h:1', pasword: x}]", "unknown pasword"),
        ("quorums: [{name: a, bootstrap: 'h:1'}, {name: a, bootstrap: 'h:2'}]", "several quorums are called a"),
        ("quorums: [{name: a, bootstrap: [h]}]", "not a set of names and texts"),
        ("{", "not YAML in line"),
        ("quorums: [{name: a, bootstrap: 'h:1', secret: a/b/c}]", "'a/b/c' names no Secret"),
        ("quorums: [{name: a, bootstrap: 'h:1', secret-key: k}]", "a secret-key without a secret"),
        ("quorums: [{name: a, bootstrap: 'h:1', secret: n/s, properties: p}]", "names properties and a secret"),
    ],
)
def test_a_fleet_file_that_is_wrong_is_told_by_its_place(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(text)
    with pytest.raises(PipelineError, match=told):
        read_fleet(str(path))
