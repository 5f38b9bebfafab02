"""Logs to decode: random records of every type and version, random batches of them, and files that hold such."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from crc32c import crc32c

from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.records import RECORD_NAMES, encode_record, record_class
from controller_runtime.protocol.compression import Compression
from controller_runtime.protocol.control_records import MESSAGES, ControlType, control_record
from controller_runtime.protocol.messages import message_class
from controller_runtime.protocol.record_batch import Record, encode_batch
from controller_runtime.protocol.schema import FieldSpec, Message, Struct
from metadata_pipeline.sources.options import ReadOptions
from metadata_pipeline.sources.reading import FileRange, read_range
from metadata_pipeline.sources.segments import list_segments

SIZES: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
CONFIG_NAMES: Final = (
    "retention.ms",
    "ssl.keystore.password",
    "sasl.jaas.config",
    "x.y",
    "cleanup.policy",
    "num.partitions",
)
VERSIONS: Final = [(key, version) for key in RECORD_NAMES for version in record_class(key).VERSIONS]
"""Every metadata record type and version of Apache Kafka 4.3."""


def random_value(dice: random.Random, kind: str) -> Any:
    match kind:
        case "bool":
            return dice.random() < 0.5
        case "uint16":
            return dice.randrange(1 << 16)
        case "float64":
            return dice.choice((0.0, 1.5, -2.0, 1e300, dice.random()))
        case "uuid":
            return Uuid(dice.randbytes(16))
        case "string":
            length = dice.choice((0, 1, 7, 12, 30, 126, 127, 128, 200))
            return "".join(
                dice.choice("abcz.-_059é漢\N{GRINNING FACE}" if length < 20 else "abcdef-") for _ in range(length)
            )
        case "bytes":
            return dice.randbytes(dice.choice((0, 1, 32, 127, 128)))
        case _:
            bits = SIZES[kind]
            return dice.choice((0, 1, -1, -2, dice.getrandbits(bits) - (1 << (bits - 1)), dice.randrange(100)))


def random_field(dice: random.Random, spec: FieldSpec, version: int) -> Any:
    if version in spec.nullable and dice.random() < 0.3:
        return None
    if spec.is_tagged(version) and dice.random() < 0.4:
        return spec.default

    def one() -> Any:
        return random_struct(dice, spec.struct, version) if spec.struct else random_value(dice, spec.kind)

    return (
        tuple(one() for _ in range(dice.choice((0, 1, 2, 3, 3, 130 if not spec.struct else 4))))
        if spec.array
        else one()
    )


def random_struct(dice: random.Random, cls: type[Struct], version: int, *, tags: float = 0.05) -> Any:
    values = {spec.name: random_field(dice, spec, version) for spec in cls.FIELDS if version in spec.versions}
    if dice.random() < tags:
        values["unknown_tagged_fields"] = ((dice.randrange(40, 70), dice.randbytes(dice.randrange(5))),)
    if cls.__name__ == "ConfigRecord":
        values |= {"resource_type": dice.choice((2, 4, 4, 16, 32, 99)), "name": dice.choice(CONFIG_NAMES)}
    if cls.__name__ == "BrokerRegistrationChangeRecord" and dice.random() < 0.9:
        values |= {name: dice.choice((-1, 0, 1)) for name in ("fenced", "in_controlled_shutdown") if name in values}
    return cls(**values)


def random_record(dice: random.Random, key: int, version: int) -> bytes:
    """The value of a log record that carries such a metadata record."""
    return encode_record(random_struct(dice, record_class(key), version), version)


def random_control(dice: random.Random, offset: int, timestamp: int) -> Record:
    kind = dice.choice([each for each in ControlType if each not in (ControlType.ABORT, ControlType.COMMIT)])
    cls: type[Message] = message_class(MESSAGES[kind])
    version = dice.choice(list(cls.VERSIONS))
    message = random_struct(dice, cls, version)
    values = {spec.name: getattr(message, spec.name) for spec in cls.FIELDS} | {"version": version}
    return control_record(cls(**values), offset=offset, timestamp=timestamp, version=version)


def random_batch(
    dice: random.Random, base: int, *, count: int | None = None, codec: Compression | None = None
) -> bytes:
    """One batch; of the odd things that a log may hold, some."""
    count = count or dice.choice((1, 1, 2, 5, 60, 130))
    stamp = dice.choice((0, 1_795_220_082_135, 1_795_220_082_135, -5, (1 << 62)))
    control = dice.random() < 0.1
    records = []
    for index in range(min(count, 5) if control else count):
        when = stamp + dice.choice((0, 0, 0, 7, 100_000))
        if control:
            records.append(random_control(dice, base + index, when))
            continue
        value: bytes | None = random_record(dice, *dice.choice(VERSIONS))
        headers: tuple[tuple[str, bytes | None], ...] = ()
        key = None
        if dice.random() < 0.02:
            value, key = dice.choice(((None, b"k"), (b"", None), (dice.randbytes(9), b"key"), (b"\x01\x63\x00", None)))
        if dice.random() < 0.002:
            headers = (("header", b"v"), ("null", None))
        records.append(Record(base + index, when, key, value, headers))
    packing = codec if codec is not None else dice.choice((Compression.NONE,) * 12 + tuple(Compression))
    late = stamp + 9 if dice.random() < 0.1 else None
    return encode_batch(
        records,
        base_offset=base,
        partition_leader_epoch=dice.randrange(9),
        compression=packing,
        is_control=control,
        log_append_time=late,
    )


def with_crc(batch: bytes) -> bytes:
    """The batch with the checksum that fits its bytes."""
    crc: int = crc32c(batch[21:])
    return batch[:17] + crc.to_bytes(4, "big") + batch[21:]


def random_log(dice: random.Random, batches: int) -> bytes:
    """Consecutive batches from offset 0."""
    parts: list[bytes] = []
    offset = 0
    for _ in range(batches):
        made = random_batch(dice, offset)
        offset += int.from_bytes(made[23:27], "big") + 1
        parts.append(made)
    return b"".join(parts)


def log_directory(
    root: Path,
    data: bytes,
    *,
    name: str = "00000000000000000000.log",
    cluster: str = "AAAAAAAAAAAAAAAAAAAAAA",
    node: int = 1,
) -> Path:
    """A directory of one node with one file; returns the file."""
    partition = root / "__cluster_metadata-0"
    partition.mkdir(parents=True, exist_ok=True)
    (root / "meta.properties").write_text(
        f"#\nversion=1\ncluster.id={cluster}\nnode.id={node}\ndirectory.id=mVsT6QdLR0iZ0bMHhW1gWg\n"
    )
    path = partition / name
    path.write_bytes(data)
    return path


def rows_of(path: Path | str, options: ReadOptions | None = None, *, level: Any = "records") -> list[dict[str, Any]]:
    """All rows of a file through the decoder, each Arrow array checked; timestamps as microseconds."""
    found: list[dict[str, Any]] = []
    for segment in list_segments(str(path)).segments:
        for batch in read_range(level, FileRange.whole(segment), options or ReadOptions()):
            batch.validate(full=True)
            found += plain_rows(batch)
    return found


def plain_rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows as dictionaries, timestamps as microseconds."""
    columns = {}
    for field, array in zip(batch.schema, batch.columns, strict=True):
        columns[field.name] = array.cast(pa.int64()) if pa.types.is_timestamp(field.type) else array
    return pa.RecordBatch.from_pydict(columns).to_pylist()  # type: ignore[no-any-return]
