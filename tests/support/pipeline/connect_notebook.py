"""What a notebook does with our functions, on a Spark Connect server; the last line that it prints is what it found, as
JSON.

python connect_notebook.py sc://HOST:PORT LOGS LAKE
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from metadata_pipeline import cli
from metadata_pipeline.audit.job import audit
from metadata_pipeline.diff import Point, diff
from metadata_pipeline.jobs.ingest import ingest
from metadata_pipeline.report.job import report
from metadata_pipeline.session import open_session
from metadata_pipeline.tables.as_of import as_of, open_views
from metadata_pipeline.tables.build import build_tables


def main(server: str, logs: str, lake: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    plain = SparkSession.builder.remote(server).getOrCreate()
    healthy = plain.read.format("kraftlog").option("clusters", "fleet-a").load(logs)
    found["by itself"] = healthy.where("type = 'TopicRecord'").count()
    plain.stop()
    spark = open_session(server)
    found["module"] = type(spark).__module__
    batches = spark.read.format("kraftlog").options(level="batches", clusters="fleet-a").load(logs)
    found["batches"] = [list(row) for row in batches.groupBy("node_id").count().orderBy("node_id").collect()]
    found["ingested"] = ingest(logs, lake, spark).rows
    found["again"] = ingest(logs, lake, spark).commit
    built = build_tables(lake, spark)
    found["tables"] = sorted(built.rows)
    found["end"] = built.committed["fleet-a"]
    open_views(spark, lake)
    query = "SELECT name FROM topics WHERE cluster_id = 'fleet-a' ORDER BY name"
    found["sql"] = [row["name"] for row in spark.sql(query).collect()]
    ends = spark.sql("SELECT max(offset) AS n FROM committed WHERE cluster_id = 'fleet-a'").collect()
    found["committed"] = ends[0]["n"]
    found["as of"] = sorted(row["name"] for row in as_of(spark, lake, "topics", cluster="fleet-a", offset=3).collect())
    findings = audit(lake, spark).findings
    errors = [it for it in findings if it.severity == "error" and it.cluster != "broken-secrets"]
    found["errors"] = sorted({(it.cluster, it.kind, it.node or 0, it.position or 0) for it in errors})
    found["difference"] = [str(it) for it in diff(lake, spark, Point("fleet-a", 3), Point("fleet-a"))]
    told = report(lake, spark)
    found["report"] = sorted(json.loads(told.numbers.read_text())["clusters"])
    found["page"] = told.page.read_text().count("<h2>Cluster ")
    found["streamed"] = streamed(spark, logs, Path(lake).with_name("streamed"))
    found["command"] = cli.main(["audit", "--output", lake, "--master", server, "--json"])
    return found


def streamed(spark: Any, logs: str, target: Path) -> int:
    stream = spark.readStream.format("kraftlog").load(logs)
    query = (
        stream.writeStream.format("parquet").option("checkpointLocation", str(target / "checkpoint"))
        .trigger(availableNow=True).start(str(target / "rows"))
    )  # fmt: skip
    query.awaitTermination()
    return int(spark.read.parquet(str(target / "rows")).count())


if __name__ == "__main__":
    told = main(*sys.argv[1:])
    print(json.dumps(told))
