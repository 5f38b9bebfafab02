"""Batches that no golden log has: transactions, sequences, times of the log, horizons, records without key or value.
And how Apache Kafka prints them.

Record anew: `PYTHONPATH=.:tests .venv/bin/python -m support.disks.strange_log DIRECTORY`.
"""

from __future__ import annotations

import gzip
import json
import struct
import sys
from pathlib import Path
from typing import Final

from controller_runtime.metadata.records import encode_record
from controller_runtime.protocol.checksum import crc32c
from controller_runtime.protocol.control_records import ControlType, control_record
from controller_runtime.protocol.messages.client_quota_record import ClientQuotaRecord, EntityData
from controller_runtime.protocol.messages.end_txn_marker import EndTxnMarker
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.record_batch import CRC_START, DELETE_HORIZON_BIT, Record, encode_batch
from support.apache_kafka.java_kafka import run_tool
from support.golden import GOLDEN

RECORDED: Final = GOLDEN / "strange-logs.json.gz"
NAME: Final = "00000000000000000000.log"
_TIME: Final = 1_700_000_000_000


def logs() -> dict[str, tuple[bytes, tuple[str, ...]]]:
    """By name: bytes of the log, and the options it is printed with."""
    return {
        "data": (_data(), ("--deep-iteration",)),
        "printed": (_data(), ("--print-data-log",)),
        "shallow": (_data(), ()),
        "metadata": (_metadata(), ("--cluster-metadata-decoder",)),
    }


def _data() -> bytes:
    headers = (("first", b"x"), ("second", None))
    two = [Record(0, _TIME, None, b"value"), Record(1, _TIME + 5, b"key", None, headers)]
    last = (1 << 31) - 2
    wrapping = [Record(offset, _TIME, b"", b"") for offset in (4, 5, 6)]
    return b"".join(
        (
            encode_batch(two, is_transactional=True, producer_id=7, producer_epoch=3, base_sequence=5),
            _end_of_transaction(2, ControlType.COMMIT, 9),
            _end_of_transaction(3, ControlType.ABORT, 0),
            encode_batch(wrapping, producer_id=7, producer_epoch=3, base_sequence=last, log_append_time=_TIME + 77),
            _with_horizon(
                encode_batch([Record(7, _TIME, b"k", None)], producer_id=7, producer_epoch=3, base_sequence=0)
            ),
            encode_batch([Record(8, _TIME, b"k", b"v")], partition_leader_epoch=4),
        )
    )


def _end_of_transaction(offset: int, marker: ControlType, epoch: int) -> bytes:
    record = control_record(EndTxnMarker(coordinator_epoch=epoch), offset=offset, timestamp=_TIME, marker=marker)
    return encode_batch([record], is_control=True, is_transactional=True, producer_id=7, producer_epoch=3)


def _with_horizon(batch: bytes) -> bytes:
    changed = bytearray(batch)
    (attributes,) = struct.unpack_from(">h", changed, CRC_START)
    struct.pack_into(">h", changed, CRC_START, attributes | DELETE_HORIZON_BIT)
    struct.pack_into(">I", changed, CRC_START - 4, crc32c(memoryview(changed)[CRC_START:]))
    return bytes(changed)


def _metadata() -> bytes:
    quotas = [
        ClientQuotaRecord(
            entity=(EntityData(entity_type="user", entity_name="J\u00f6rg \u2713"),),
            key="producer_byte_rate",
            value=number,
        )
        for number in (0.5, 1e7, float("inf"), float("-inf"), float("nan"), 0.0, 1e-4)
    ]
    values = [
        *(encode_record(quota, 0) for quota in quotas),
        encode_record(NoOpRecord(), 0),
        None,
        b"",
        b"\x01",
        b"\x01\x7f\x00\x00",
    ]
    return encode_batch(
        [Record(offset, _TIME, None, value) for offset, value in enumerate(values)], partition_leader_epoch=1
    )


def recorded() -> dict[str, tuple[str, str]]:
    """By name: what Apache Kafka printed on both streams; the path is NAME."""
    with gzip.open(RECORDED, "rt") as file:
        return {name: (out, err) for name, (out, err) in json.load(file).items()}


def main() -> None:
    path, found = Path(sys.argv[1]) / NAME, {}
    path.parent.mkdir()
    for name, (log, options) in logs().items():
        path.write_bytes(log)
        said = run_tool("kafka-dump-log", *options, "--files", str(path))
        assert said.rc == 0, said.err
        found[name] = (said.out.replace(str(path), NAME), said.err.replace(str(path), NAME))
    with gzip.GzipFile(RECORDED, "wb", mtime=0) as target:
        target.write(json.dumps(found, indent=1).encode())


if __name__ == "__main__":
    main()
