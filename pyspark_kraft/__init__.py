"""`spark.read.format("kraftlog").load(path)`: metadata logs and snapshots as a Spark table, batch and streaming.

Spark finds modules called `pyspark_*` by itself, so with the wheel installed nothing needs to be registered; where it
is not, as on a shared cluster, `spark.dataSource.register(DefaultSource)` does it. Options: `level` (records or
batches), `columns`, `from_offset`, `to_offset`, `from_time`, `types`, `clusters`, `kinds`, `redaction_key_file`,
`chunk_bytes`, `task_bytes`; streaming also `max_bytes_per_trigger` and `max_files_per_trigger`; `push_filters` (see
`source`). Secrets are never shown, whatever the options.
"""

from metadata_pipeline.spark_source.source import KraftLogSource as DefaultSource

__all__ = ["DefaultSource"]
