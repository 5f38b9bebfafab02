"""What a notebook does with our functions, on a Spark Connect server; prints what it found as one line of JSON.

python connect_notebook.py sc://HOST:PORT LOGS LAKE
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from metadata_pipeline.jobs.ingest import ingest
from metadata_pipeline.session import open_session
from metadata_pipeline.tables.as_of import as_of, open_views
from metadata_pipeline.tables.build import build_tables


def main(server: str, logs: str, lake: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    plain = SparkSession.builder.remote(server).getOrCreate()
    found["by itself"] = plain.read.format("kraftlog").load(logs).where("type = 'TopicRecord'").count()
    plain.stop()
    spark = open_session(server)
    found["module"] = type(spark).__module__
    batches = spark.read.format("kraftlog").option("level", "batches").load(logs)
    found["batches"] = [list(row) for row in batches.groupBy("node_id").count().orderBy("node_id").collect()]
    found["streamed"] = streamed(spark, logs, Path(lake).with_name("streamed"))
    found["ingested"] = ingest(logs, lake, spark).rows
    found["again"] = ingest(logs, lake, spark).commit
    found["built"] = dict(build_tables(lake, spark, ["topics", "leadership"]).rows)
    open_views(spark, lake)
    found["sql"] = [row["name"] for row in spark.sql("SELECT name FROM topics ORDER BY name").collect()]
    found["committed"] = spark.sql("SELECT max(offset) AS n FROM committed").collect()[0]["n"]
    found["as of"] = sorted(row["name"] for row in as_of(spark, lake, "topics", cluster="fleet-a", offset=3).collect())
    spark.stop()
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
    print(json.dumps(main(*sys.argv[1:])))
