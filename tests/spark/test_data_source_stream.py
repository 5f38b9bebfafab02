"""`spark.readStream.format("kraftlog")`: micro-batches of bounded size, restarts from a checkpoint, truncation as an
event.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from controller_runtime.metadata.records import encode_record
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.record_batch import Record, encode_batch
from support.pipeline.logs import log_directory


def batch(base: int, epoch: int = 1, count: int = 50) -> bytes:
    value = encode_record(NoOpRecord(), 0)
    return encode_batch([Record(base + index, 5, None, value) for index in range(count)], partition_leader_epoch=epoch)


class Query:
    """A stream into Parquet that can be run again and again from its checkpoint."""

    def __init__(self, spark: Any, root: Path) -> None:
        self.spark, self.root = spark, root

    def run(self, **options: str) -> int:
        """Read what is there now; returns the number of micro-batches that had rows."""
        source = self.spark.readStream.format("kraftlog").options(**options).load(str(self.root / "logs"))
        query = (
            source.select("node_id", "offset", "epoch", "fault").writeStream.format("parquet").option("path",
                str(self.root / "sink"))
            .option("checkpointLocation", str(self.root / "checkpoint")).trigger(availableNow=True).start()
        )  # fmt: skip
        query.awaitTermination()
        return sum(progress.numInputRows > 0 for progress in query.recentProgress)

    def rows(self) -> list[tuple[Any, ...]]:
        return sorted((tuple(row) for row in self.spark.read.parquet(str(self.root / "sink")).collect()), key=repr)


def test_a_stream_reads_everything_once_in_bounded_batches_and_goes_on_after_a_restart(
    spark: Any, tmp_path: Path
) -> None:
    query = Query(spark, tmp_path)
    path = log_directory(tmp_path / "logs", b"".join(batch(base) for base in range(0, 500, 50)))
    assert query.run(max_bytes_per_trigger=str(2 * len(batch(0)))) == 5
    torn = batch(500)
    with path.open("ab") as file:
        file.write(torn[:30])
    query.run()
    with path.open("ab") as file:
        file.write(torn[30:])
    log_directory(tmp_path / "logs", batch(550), name="00000000000000000550.log")
    query.run()
    assert query.rows() == sorted(((1, offset, 1, None) for offset in range(600)), key=repr)


def test_a_truncated_log_is_an_event_and_not_an_error(spark: Any, tmp_path: Path) -> None:
    query = Query(spark, tmp_path)
    path = log_directory(tmp_path / "logs", batch(0) + batch(50))
    query.run()
    path.write_bytes(batch(0))
    query.run()
    path.write_bytes(batch(0) + batch(50, epoch=2))
    query.run()
    wanted = (
        [(1, offset, 1, None) for offset in range(100)]
        + [(1, None, None, "shrunk")]
        + [(1, offset, 2, None) for offset in range(50, 100)]
    )
    assert query.rows() == sorted(wanted, key=repr)
