"""REP-08 to REP-10, REP-12 to REP-15, ELR-01 to ELR-03: six thousand changes of random partitions, as Apache Kafka's
PartitionChangeBuilder made them (`support/apache_kafka/PartitionChanges.java`), each at one of seven metadata.versions.

In one thing ours are different (docs/deviations.md): whoever is no replica any more is not eligible to lead, and not
remembered as the last known leader.
"""

from __future__ import annotations

import gzip
import json
from base64 import urlsafe_b64encode
from typing import Any, Final

import pytest

from controller_runtime.controller.partition_changes import Election, PartitionChange, Policy
from controller_runtime.identifiers import DirectoryId, Uuid
from controller_runtime.metadata.cluster import MIGRATING
from controller_runtime.metadata.features import DIRECTORY_ASSIGNMENT
from controller_runtime.metadata.partitions import Partition
from controller_runtime.protocol.json_form import to_json
from controller_runtime.protocol.messages.partition_change_record import PartitionChangeRecord
from support.golden import GOLDEN

pytestmark = pytest.mark.conformance

ASKED: Final = GOLDEN / "partitions" / "changes.jsonl.gz"
Case = dict[str, Any]


def java_uuid(high: int, low: int) -> Uuid:
    return Uuid(high.to_bytes(8, "big") + low.to_bytes(8, "big"))


def partition_of(case: Case) -> Partition:
    known = case["level"] >= DIRECTORY_ASSIGNMENT
    return Partition(
        replicas=tuple(case["replicas"]),
        directories=tuple(DirectoryId(java_uuid(7, it)) if known else MIGRATING for it in case["replicas"]),
        isr=tuple(case["isr"]),
        leader=case["leader"],
        leader_epoch=5,
        partition_epoch=9,
        leader_recovery_state=int(case["recovering"]),
        removing_replicas=tuple(case["removing"]),
        adding_replicas=tuple(case["adding"]),
        elr=tuple(case["elr"]),
        last_known_elr=tuple(case["last"]),
    )


def change_of(case: Case) -> PartitionChange:
    policy = Policy(
        metadata_version=case["level"],
        elr_enabled=case["elrEnabled"],
        may_lead=set(case["alive"]).__contains__,
        min_insync_replicas=case["minIsr"],
    )
    change = PartitionChange.of(partition_of(case), java_uuid(1, 2), 3, policy)
    change.election = Election[case["election"]]
    change.default_directory = lambda broker: DirectoryId(java_uuid(8, broker))
    change.isr = tuple(case.get("toIsr", change.isr))
    change.unclean_shutdown = tuple(case.get("unclean", ()))
    if "recovered" in case:
        change.recovery_state = 0
    change.replicas = tuple(case.get("toReplicas", change.replicas))
    change.removing = tuple(case.get("toRemoving", ())) or change.removing
    change.adding = tuple(case.get("toAdding", ())) or change.adding
    return change


def answer_of(case: Case) -> object:
    made = change_of(case).build()
    if made is None:
        return None
    record, version = made
    assert isinstance(record, PartitionChangeRecord)
    told = to_json(record, version)
    if "directories" in told:
        told["directories"] = [urlsafe_b64encode(it).decode().rstrip("=") for it in record.directories or ()]
    return {"version": version, "record": told}


def without_the_removed(case: Case) -> object:
    """Java's answer, with an ELR and a last known leader of replicas alone; a record does not name what stays as it
    was.
    """
    if case["answer"] is None:
        return None
    record: dict[str, Any] = dict(case["answer"]["record"])
    members = record["replicas"] if "replicas" in record else case["replicas"]
    for name, before in (("eligibleLeaderReplicas", case["elr"]), ("lastKnownElr", case["last"])):
        kept = [each for each in record.pop(name, before) if each in members]
        if kept != before:
            record[name] = kept
    return {**case["answer"], "record": record}


def test_every_change_is_the_record_that_java_makes_but_for_replicas_that_were_removed() -> None:
    lines = gzip.decompress(ASKED.read_bytes()).splitlines()
    cases = [json.loads(line) for line in lines]
    assert len(cases) == 6000
    assert sum(case["answer"] is not None for case in cases) > 4000
    unlike = [case for case in cases if answer_of(case) != without_the_removed(case)]
    assert not unlike, (
        f"{len(unlike)} of {len(cases)}; the first: {json.dumps(unlike[0])}, ours: {answer_of(unlike[0])}"
    )
    meant = [case for case in cases if without_the_removed(case) != case["answer"]]
    assert 0 < len(meant) < 50, "that is the exception"
    assert all(case["elrEnabled"] and "replicas" in case["answer"]["record"] for case in meant)
