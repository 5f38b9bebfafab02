"""One lake with everything in it, made once: the golden logs of a real Apache Kafka, random histories of our own
controller, clean fleets, and fleets with one fault each, after ingest, tables and audit."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, Final

from controller_runtime.metadata.image import MetadataImage
from metadata_pipeline.audit.job import Audited, audit
from metadata_pipeline.jobs.ingest import Ingested, ingest, lake_state
from metadata_pipeline.lake.reading import read_table
from metadata_pipeline.tables.build import Built, build_tables
from metadata_pipeline.tables.queries import TABLES
from support.disks.log_fleet import History, disks
from support.pipeline.canaries import canary_log, secret_records
from support.pipeline.faults import FAULTS, Fault, clean_fleet
from support.pipeline.histories import RandomHistory, log_of
from support.pipeline.logs import log_directory
from support.pipeline.promises import PROMISES, Broken

GOLDEN: Final = Path(__file__).parents[2] / "golden" / "kafka-4.3.1"
GOLDEN_CLUSTER: Final = "b7XFcyEkSgSBsv7c2XVvyg"


@dataclass
class Everything:
    """The lake, what its jobs said, and what is known of its clusters."""

    lake: Path
    spark: Any
    ingested: Ingested
    built: Built
    audited: Audited
    images: dict[str, dict[int, MetadataImage]]
    aborts: dict[str, set[int]]
    trimmed: dict[str, int]
    clean: list[str]
    faults: dict[str, Fault]
    broken: list[Broken]

    @cached_property
    def rows(self) -> dict[str, dict[str, list[dict[str, Any]]]]:
        """Cluster -> table -> rows, of all history tables."""
        found: dict[str, dict[str, list[dict[str, Any]]]] = {}
        state = lake_state(self.lake)
        for table in TABLES:
            for row in read_table(self.spark, self.lake, state, table).collect():
                found.setdefault(row["cluster_id"], {name: [] for name in TABLES})[table].append(row.asDict())
        return found


def histories(
    root: Path, seed: int, count: int
) -> tuple[dict[str, dict[int, MetadataImage]], dict[str, set[int]], dict[str, int]]:
    """Random histories, every third one beginning with a snapshot in its middle: images, offsets of aborts, and where
    those begin.
    """
    images, aborts, trimmed = {}, {}, {}
    for number in range(count):
        cluster = f"history-{number}"
        history = RandomHistory(seed + number)
        history.run(45)
        log, images[cluster] = log_of(history, cluster)
        aborts[cluster] = log.aborts
        disk = disks(root, cluster, (1,))[1]
        if number % 3 == 2:
            middle = log.batches[len(log.batches) // 2 :]
            batch = next(it for it in middle if images[cluster][it.end - 1].transaction is None)
            disk.write(log, start=batch.end)
            disk.snapshot(log, images[cluster][batch.end - 1], batch.end)
            trimmed[cluster] = batch.end
        else:
            disk.write(log)
    return images, aborts, trimmed


SECRETS: Final = "secrets"
"""A healthy cluster with a canary in every place of its log where a secret can be; one disk of another one is full of
them and broken.
"""


def secrets(root: Path) -> None:
    log = History(SECRETS)
    log.lead(1)
    log.append(*secret_records())
    log.idle(1)
    for disk in disks(root, SECRETS).values():
        disk.write(log)
    log_directory(root / "broken-secrets", canary_log(), cluster="broken-secrets")


def make_everything(
    spark: Any, root: Path, lake: Path, seed: int, *, clean: int = 40, each_fault: int = 3
) -> Everything:
    rng = Random(seed)
    images, aborts, trimmed = histories(root, seed, 9)
    clean_clusters = [f"clean-{number}" for number in range(clean)]
    for cluster in clean_clusters:
        clean_fleet(root, cluster, Random(rng.random()))
    faults = {}
    for name, inject in FAULTS.items():
        for number in range(each_fault):
            cluster = f"fault-{name}-{number}"
            faults[cluster] = inject(root, cluster, Random(rng.random()))
    broken = []
    for number, inject_broken in enumerate(PROMISES.values()):
        for again in range(max(1, each_fault // 4)):
            broken.append(inject_broken(root, f"promise-{number}-{again}", Random(rng.random())))
    shutil.copytree(GOLDEN / "cluster", root / "golden")
    secrets(root)
    ingest([str(root / cluster) for cluster, fault in faults.items() if fault.later], lake)
    for path, data in (file for fault in faults.values() for file in fault.later):
        path.write_bytes(data)
    ingested = ingest(str(root), lake, spark)
    built = build_tables(lake, spark)
    return Everything(
        lake, spark, ingested, built, audit(lake, spark), images, aborts, trimmed, clean_clusters, faults, broken
    )
