"""The two tables that a metadata log becomes: one row per batch, one row per record. Names, types and meaning of every
column.

The Arrow schema and Spark's DDL are both derived from the same list of columns, because Spark compares what a source
yields with what it announced and accepts no difference. Every column is nullable; which are filled for a record type is
told by `FIELD_COLUMNS`. What a record holds beyond its columns is JSON in `extra`, with the names of Kafka's own tools.
Secrets are never in any column (see `redaction`). Callers may rely on the order of columns and may add columns of their
own behind them, never between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import pyarrow as pa

Level = Literal["batches", "records"]
Kind = Literal["boolean", "tinyint", "smallint", "int", "bigint", "string", "binary", "timestamp", "ints", "strings"]

ARROW_TYPES: Final[dict[Kind, pa.DataType]] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "ints": pa.list_(pa.field("element", pa.int32())),
    "strings": pa.list_(pa.field("element", pa.string())),
}
_SPARK_TYPES: Final[dict[Kind, str]] = {"ints": "array<int>", "strings": "array<string>"}


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `kind` is Spark's name of the type (`ints` and `strings` are arrays)."""

    name: str
    kind: Kind
    meaning: str

    @property
    def arrow(self) -> pa.Field:
        return pa.field(self.name, ARROW_TYPES[self.kind])

    @property
    def ddl(self) -> str:
        return f"`{self.name}` {_SPARK_TYPES.get(self.kind, self.kind)}"


def _columns(table: str) -> tuple[Column, ...]:
    rows = (line.split(None, 2) for line in table.strip().splitlines())
    return tuple(Column(name, kind, meaning) for name, kind, meaning in rows)  # type: ignore[arg-type]


_WHERE_TABLE: Final = """
cluster_id       string   cluster.id of the directory's meta.properties; null when there is none
node_id          int      node.id of the same
directory_id     string   directory.id of the same (22 characters), null before Kafka 3.7
partition        string   name of the partition's directory, such as __cluster_metadata-0
file             string   path or URI of the file, as it was listed
kind             string   log, snapshot or bootstrap
snapshot_offset  bigint   snapshots: the end offset (exclusive) in the file's name; offsets in a snapshot count from 0
snapshot_epoch   int      snapshots: the epoch in the file's name
position         bigint   byte of the file at which the batch begins
"""

_BATCHES_TABLE: Final = """
size             bigint     bytes of the batch with its header; for a fault without a batch: the bytes concerned
base_offset      bigint     offset of the first record; no checksum covers it
last_offset      bigint     offset of the last record
expected_offset  bigint     end of the previous batch of the file (of the first: the offset in its name); null: unknown
epoch            int        leader epoch; no checksum covers it
magic            tinyint    version of the batch format: 2
crc              bigint     CRC-32C as written in the header (unsigned)
crc_ok           boolean    whether the bytes keep it; null when it could not be computed
attributes       smallint   the header's attribute bits
is_control       boolean    control records (leader changes, snapshot ends, voters) or metadata records
is_transactional boolean    of the header; never true in a metadata log
codec            string     none, gzip, snappy, lz4, zstd
base_timestamp   timestamp  null when outside of the years 1 to 9999
max_timestamp    timestamp  the same for the largest timestamp
base_timestamp_ms bigint    the number as it is written
max_timestamp_ms bigint     the number as it is written
producer_id      bigint     -1 in metadata logs
producer_epoch   smallint   -1 in metadata logs
base_sequence    int        -1 in metadata logs
record_count     int        records, as the header claims
valid            boolean    whether nothing is wrong with this batch
fault            string     what is wrong, one word (see sources.faults); null when valid
detail           string     the fault in a sentence; never holds bytes of a record
"""

_RECORDS_TABLE: Final = """
batch_offset     bigint     base offset of the record's batch
offset           bigint     offset of the record
epoch            int        leader epoch of its batch
timestamp        timestamp  when it was appended; null when outside of the years 1 to 9999
timestamp_ms     bigint     the same as it is written
is_control       boolean    a control record of the log itself
type             string     such as PartitionChangeRecord or LeaderChangeMessage; null when unknown or for a fault
type_id          int        record key, or type of the control record
version          int        version of the record
topic_id         string     22 characters
name             string     of the topic (TopicRecord, ClearElrRecord), feature, config, SCRAM user or transaction
partition_id     int        of PartitionRecord and PartitionChangeRecord
replicas         ints       assigned brokers; null in a change that does not change them, as all that follow
isr              ints       in-sync replicas
removing_replicas ints      replicas being removed by a reassignment
adding_replicas  ints       replicas being added by a reassignment
elr              ints       eligible leader replicas
last_known_elr   ints       last known eligible leader replicas
directories      strings    log directory of each replica
leader           int        broker that leads the partition, -1 nobody; in LeaderChangeMessage the controller that leads
leader_epoch     int        of PartitionRecord; a change that names a leader adds one
partition_epoch  int        of PartitionRecord; every change adds one
leader_recovery_state tinyint 0 recovered, 1 recovering
broker_id        int        of registrations, their changes and ends, fencing, and producer id blocks
broker_epoch     bigint     the registration's epoch (the offset of its RegisterBrokerRecord)
controller_id    int        of RegisterControllerRecord
incarnation_id   string     identity of the process that registered (22 characters)
rack             string     of RegisterBrokerRecord
fenced           boolean    fencing after the record; null when it does not change it
in_controlled_shutdown boolean controlled shutdown after the record; null when it does not change it
log_dirs         strings    online log directories of a broker; empty in a change that does not change them
cordoned_log_dirs strings   log directories closed to new replicas; null is unknown or no change
resource_type    tinyint    of ConfigRecord: 2 topic, 4 broker, 16 client metrics, 32 group; of an ACL: Kafka's type
resource_name    string     of ConfigRecord and ACL
value            string     of ConfigRecord; null deletes; `redacted:...` when sensitive or of unknown type
feature_level    smallint   of FeatureLevelRecord
next_producer_id bigint     of ProducerIdsRecord
redacted         boolean    whether a secret was replaced in this row
extra            string     what the columns do not hold, as JSON in the form of Kafka's tools
raw              binary     bytes of a record that could not be decoded, only with include_secrets
fault            string     why this row cannot be trusted, one word (see sources.faults); null when it can
detail           string     the fault in a sentence; never holds bytes of a record
"""

WHERE: Final = _columns(_WHERE_TABLE)
"""The first columns of both tables."""
BATCHES: Final = WHERE + _columns(_BATCHES_TABLE)
RECORDS: Final = WHERE + _columns(_RECORDS_TABLE)
TABLES: Final[dict[Level, tuple[Column, ...]]] = {"batches": BATCHES, "records": RECORDS}

FIELD_COLUMNS: Final[dict[str, dict[str, str]]] = {
    "RegisterBrokerRecord": {
        "broker_id": "broker_id", "incarnation_id": "incarnation_id", "broker_epoch": "broker_epoch", "rack": "rack",
        "fenced": "fenced", "in_controlled_shutdown": "in_controlled_shutdown", "log_dirs": "log_dirs",
        "cordoned_log_dirs": "cordoned_log_dirs",
    },
    "UnregisterBrokerRecord": {"broker_id": "broker_id", "broker_epoch": "broker_epoch"},
    "TopicRecord": {"name": "name", "topic_id": "topic_id"},
    "PartitionRecord": {
        "partition_id": "partition_id", "topic_id": "topic_id", "replicas": "replicas", "isr": "isr",
        "removing_replicas": "removing_replicas", "adding_replicas": "adding_replicas", "leader": "leader",
        "leader_recovery_state": "leader_recovery_state", "leader_epoch": "leader_epoch",
        "partition_epoch": "partition_epoch", "directories": "directories", "eligible_leader_replicas": "elr",
        "last_known_elr": "last_known_elr",
    },
    "ConfigRecord": {"resource_type": "resource_type", "resource_name": "resource_name", "name": "name",
        "value": "value"},
    "PartitionChangeRecord": {
        "partition_id": "partition_id", "topic_id": "topic_id", "isr": "isr", "leader": "leader",
        "replicas": "replicas",
        "removing_replicas": "removing_replicas", "adding_replicas": "adding_replicas",
        "leader_recovery_state": "leader_recovery_state", "directories": "directories",
        "eligible_leader_replicas": "elr",
        "last_known_elr": "last_known_elr",
    },
    "FenceBrokerRecord": {"id": "broker_id", "epoch": "broker_epoch"},
    "UnfenceBrokerRecord": {"id": "broker_id", "epoch": "broker_epoch"},
    "RemoveTopicRecord": {"topic_id": "topic_id"},
    "UserScramCredentialRecord": {"name": "name"},
    "RemoveUserScramCredentialRecord": {"name": "name"},
    "FeatureLevelRecord": {"name": "name", "feature_level": "feature_level"},
    "ProducerIdsRecord": {"broker_id": "broker_id", "broker_epoch": "broker_epoch",
        "next_producer_id": "next_producer_id"},
    "BrokerRegistrationChangeRecord": {
        "broker_id": "broker_id", "broker_epoch": "broker_epoch", "fenced": "fenced",
        "in_controlled_shutdown": "in_controlled_shutdown", "log_dirs": "log_dirs",
        "cordoned_log_dirs": "cordoned_log_dirs",
    },
    "AccessControlEntryRecord": {"resource_type": "resource_type", "resource_name": "resource_name"},
    "BeginTransactionRecord": {"name": "name"},
    "RegisterControllerRecord": {"controller_id": "controller_id", "incarnation_id": "incarnation_id"},
    "ClearElrRecord": {"topic_name": "name"},
    "LeaderChangeMessage": {"leader_id": "leader"},
}  # fmt: skip
"""Which column holds which field, by record type. A field that is not listed is in `extra`."""

NO_CHANGE: Final[dict[tuple[str, str], int]] = {
    ("PartitionChangeRecord", "leader"): -2,
    ("PartitionChangeRecord", "leader_recovery_state"): -1,
}
"""Values that say "unchanged" on the wire and are null in the column."""

FLAG_CHANGES: Final = ("BrokerRegistrationChangeRecord", ("fenced", "in_controlled_shutdown"))
"""A number on the wire (1 set, -1 cleared, 0 unchanged), a boolean or null in the column."""


def columns_of(level: Level, names: Sequence[str] | None = None) -> tuple[Column, ...]:
    """The columns of a table, or those named, in the table's order. Raises ValueError naming the ones there are."""
    columns = TABLES[level]
    if names is None:
        return columns
    known = {column.name for column in columns}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"{level} has no column {', '.join(unknown)}; it has {', '.join(sorted(known))}")
    return tuple(column for column in columns if column.name in names)


def arrow_schema(level: Level, names: Sequence[str] | None = None) -> pa.Schema:
    return pa.schema([column.arrow for column in columns_of(level, names)])


def spark_ddl(level: Level, names: Sequence[str] | None = None) -> str:
    """The schema as Spark reads it."""
    return ", ".join(column.ddl for column in columns_of(level, names))
