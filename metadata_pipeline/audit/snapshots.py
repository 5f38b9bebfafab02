"""Snapshots equal the log they replace: what each says is compared, thing by thing, with the tables as of the record
before its end.

Both are brought into one form, (kind, key, value), and what only one of them has is a finding. A snapshot that its own
stretch begins with is not compared with itself; secrets are compared by their fingerprints.
"""

from __future__ import annotations

from typing import Any, Final

from metadata_pipeline.audit.findings import AuditFinding, first_of_each_cluster

_LISTS: Final = "to_json(array(array_sort(coalesce({}, array()))))"
_PARTITION_VALUE: Final = (
    "concat_ws(' ', 'leader', leader, 'epochs', leader_epoch, partition_epoch, 'replicas', to_json(replicas), 'isr', "
    f"{_LISTS.format('isr')}, 'elr', {_LISTS.format('elr')})"
)

_HELD: Final = f"""
SELECT cluster_id, node_id, directory_id, file, snapshot_offset AS at, position, 'topic' AS thing, topic_id AS key,
  name AS value
FROM lake_records WHERE kind = 'snapshot' AND type = 'TopicRecord'
UNION ALL
SELECT cluster_id, node_id, directory_id, file, snapshot_offset, position, 'partition',
  concat(topic_id, '-', partition_id), {_PARTITION_VALUE}
FROM lake_records WHERE kind = 'snapshot' AND type = 'PartitionRecord'
UNION ALL
SELECT cluster_id, node_id, directory_id, file, snapshot_offset, position, 'broker', CAST(broker_id AS string),
       concat_ws(' ', 'epoch', broker_epoch, 'fenced', coalesce(fenced, true))
FROM lake_records WHERE kind = 'snapshot' AND type = 'RegisterBrokerRecord'
UNION ALL
SELECT cluster_id, node_id, directory_id, file, snapshot_offset, position, 'config',
  concat_ws(' ', resource_type, resource_name, name), value
FROM lake_records WHERE kind = 'snapshot' AND type = 'ConfigRecord'
UNION ALL
SELECT cluster_id, node_id, directory_id, file, snapshot_offset, position, 'feature', name,
  CAST(feature_level AS string)
FROM lake_records WHERE kind = 'snapshot' AND type = 'FeatureLevelRecord'
UNION ALL
SELECT cluster_id, node_id, directory_id, file, snapshot_offset, position, 'acl', get_json_object(extra, '$.id'),
       concat_ws(' ', get_json_object(extra, '$.principal'), get_json_object(extra, '$.operation'), resource_type,
         resource_name)
FROM lake_records WHERE kind = 'snapshot' AND type = 'AccessControlEntryRecord'
UNION ALL
SELECT cluster_id, node_id, directory_id, file, snapshot_offset, position, 'scram',
  concat_ws(' ', name, get_json_object(extra, '$.mechanism')),
       get_json_object(extra, '$.storedKey')
FROM lake_records WHERE kind = 'snapshot' AND type = 'UserScramCredentialRecord'
"""

_KNOWN: Final[dict[str, str]] = {
    "topics": "'topic' AS thing, topic_id AS key, name AS value",
    "partitions": f"'partition' AS thing, concat(topic_id, '-', partition_id) AS key, {_PARTITION_VALUE} AS value",
    "brokers": (
        "'broker' AS thing, CAST(broker_id AS string) AS key, concat_ws(' ', 'epoch', "
        "broker_epoch, 'fenced', fenced) AS value"
    ),
    "configs": "'config' AS thing, concat_ws(' ', resource_type, resource_name, name) AS key, value",
    "features": "'feature' AS thing, name AS key, CAST(level AS string) AS value",
    "acls": "'acl' AS thing, id AS key, concat_ws(' ', principal, operation, resource_type, resource_name) AS value",
    "scram": "'scram' AS thing, concat_ws(' ', user, mechanism) AS key, fingerprint AS value",
}


def compare(spark: Any) -> list[AuditFinding]:
    """The views of `tables.committed` and the history tables are there."""
    snapshots = """
SELECT DISTINCT s.cluster_id, s.node_id, s.directory_id, s.file, s.snapshot_offset AS at
FROM lake_records s JOIN stretches t
  ON s.cluster_id = t.cluster_id AND s.snapshot_offset > t.from_offset AND s.snapshot_offset <= t.to_offset
WHERE s.kind = 'snapshot' AND s.snapshot_offset > 0 AND s.type = 'SnapshotFooterRecord'"""
    known = " UNION ALL ".join(
        f"SELECT s.cluster_id, s.node_id, s.directory_id, s.file, s.at, k.thing, k.key, k.value FROM snapshots s"
        f" JOIN (SELECT cluster_id, valid_from, valid_to, {columns} FROM {table}"
        f"{chr(32) + 'WHERE name <> ' + repr('kraft.version') if table == 'features' else ''}) k"
        " ON s.cluster_id = k.cluster_id AND k.valid_from < s.at AND (k.valid_to IS NULL OR k.valid_to >= s.at)"
        for table, columns in _KNOWN.items()
    )
    query = f"""
WITH snapshots AS ({snapshots}), held AS (SELECT t.* FROM ({_HELD}) t LEFT SEMI JOIN snapshots s ON t.file = s.file),
  known AS ({known})
SELECT coalesce(t.cluster_id, k.cluster_id) AS cluster_id, coalesce(t.node_id, k.node_id) AS node_id,
       coalesce(t.directory_id, k.directory_id) AS directory_id, coalesce(t.file, k.file) AS file, t.position,
         coalesce(t.at, k.at) AS at,
       coalesce(t.thing, k.thing) AS thing, coalesce(t.key, k.key) AS key, t.value AS held, k.value AS known
FROM held t FULL OUTER JOIN known k
  ON t.cluster_id = k.cluster_id AND t.file = k.file AND t.at = k.at AND t.thing = k.thing AND t.key = k.key
WHERE NOT (t.value <=> k.value) OR t.key IS NULL OR k.key IS NULL"""
    rows = spark.sql(first_of_each_cluster(query, kind="file", order="thing, key")).collect()
    return [
        AuditFinding(
            row["cluster_id"],
            "snapshot differs",
            node=row["node_id"],
            directory=row["directory_id"],
            file=row["file"],
            position=row["position"],
            offset=row["at"],
            detail=f"{row['thing']} {row['key']}: snapshot {row['held']!r}, log {row['known']!r}",
        )
        for row in rows
    ]
