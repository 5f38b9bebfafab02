"""`spark.read` and `spark.readStream` of living quorums: each committed record once, beside files, through restarts;
who is away is a row.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.nodes.processes import CLUSTER_ID, Cluster, eventually, free_ports


class Query:
    """A stream of a fleet into Parquet that can be run again and again from its checkpoint."""

    def __init__(self, spark: Any, root: Path) -> None:
        self.spark, self.root = spark, root

    def run(self, **options: str) -> int:
        """Read what is committed now; returns the number of micro-batches that had rows."""
        source = self.spark.readStream.format("kraftlog").option("fleet", str(self.root / "fleet.json"))
        query = (
            source.options(**options).load().select("cluster_id", "node_id", "offset", "fault", "file")
            .writeStream.format("parquet").option("path", str(self.root / "sink"))
            .option("checkpointLocation", str(self.root / "checkpoint")).trigger(availableNow=True).start()
        )  # fmt: skip
        query.awaitTermination()
        return sum(progress.numInputRows > 0 for progress in query.recentProgress)

    def rows(self) -> list[Any]:
        found: list[Any] = self.spark.read.parquet(str(self.root / "sink")).collect()
        return found

    def offsets(self) -> list[int]:
        return sorted(row["offset"] for row in self.rows() if row["offset"] is not None)

    def faults(self) -> list[tuple[str, str]]:
        return [(row["fault"], row["file"]) for row in self.rows() if row["fault"] is not None]


def test_a_fleet_is_read_and_followed_and_who_is_away_is_a_row(spark: Any, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    query = Query(spark, tmp_path)
    with Cluster(tmp_path / "cluster", controllers=1) as cluster:
        cluster.start()
        eventually("some records", lambda: cluster.quorum().high_watermark > 40)
        here = cluster.bootstrap_controllers
        once = (
            spark.read.format("kraftlog").option("bootstrap.controllers", here).option("cluster_id", CLUSTER_ID).load()
        )
        found = [row["offset"] for row in once.where("fault IS NULL").select("offset", "fault").collect()]
        assert found == list(range(len(found)))
        assert len(found) > 40
        gone = {"name": "gone", "bootstrap": f"127.0.0.1:{port}", "cluster-id": "GoneGoneGoneGoneGoneGo"}
        (tmp_path / "fleet.json").write_text(json.dumps({"quorums": [gone, {"name": "here", "bootstrap": here}]}))
        assert query.run() >= 1
        first = query.offsets()
        assert first == list(range(len(first)))
        assert {(row["cluster_id"], row["node_id"]) for row in query.rows() if row["fault"] is None} == {
            (CLUSTER_ID, -1)
        }
        assert query.faults() == [("away", f"quorum gone (127.0.0.1:{port})")]
        eventually("more", lambda: cluster.quorum().high_watermark > len(first) + 5)
        query.run(max_bytes_per_trigger="4000")
        seen = query.offsets()
    assert len(seen) > len(first)
    assert seen == list(range(len(seen))), "each once"
    assert len(query.faults()) == 1, "it is said once"
