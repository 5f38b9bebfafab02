"""Which records put, change and remove what: one SQL for each history table but that of partitions. Each takes `still`,
the view of what was so before these records.

The meaning is that of `controller_runtime.metadata.replay`, record by record; a property test compares both at every
offset of random histories.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from metadata_pipeline.tables.intervals import as_puts, bounded, history

_POINT_COLUMNS: Final = "cluster_id, stretch, offset, sub, timestamp, epoch"


def _json(path: str, kind: str = "string") -> str:
    value = f"get_json_object(extra, '$.{path}')"
    return value if kind == "string" else f"CAST({value} AS {kind})"


TOPICS: Final = partial(
    history,
    f"""SELECT {_POINT_COLUMNS}, type = 'RemoveTopicRecord' AS gone, topic_id, name
        FROM events WHERE type IN ('TopicRecord', 'RemoveTopicRecord')""",
    ("topic_id",),
    ("name",),
)

TOPIC_NAMES: Final = """
SELECT cluster_id, stretch, topic_id, min_by(name, offset) AS name FROM (
  SELECT cluster_id, stretch, topic_id, name, offset FROM events WHERE type = 'TopicRecord' {before})
GROUP BY cluster_id, stretch, topic_id
"""
"""What each topic that ever was is called: the view `topic_names`. `before` adds those of a table made before."""

TOPIC_ENDINGS: Final = """
SELECT r.cluster_id, r.stretch, r.offset, r.timestamp, r.topic_id, t.name AS topic_name
FROM events r JOIN topic_names t
  ON r.cluster_id = t.cluster_id AND r.stretch = t.stretch AND r.topic_id = t.topic_id
WHERE r.type = 'RemoveTopicRecord'
"""

CONFIGS: Final = partial(
    history,
    f"""SELECT {_POINT_COLUMNS}, value IS NULL AS gone, resource_type, resource_name, name, value, redacted
        FROM events WHERE type = 'ConfigRecord'""",
    ("resource_type", "resource_name", "name"),
    ("value", "redacted"),
    owner=("resource_type", "resource_name"),
    endings=f"""SELECT cluster_id, stretch, offset, timestamp, CAST(2 AS tinyint) AS resource_type,
      topic_name AS resource_name
                FROM ({TOPIC_ENDINGS})""",
)

FEATURES: Final = partial(
    history,
    f"""SELECT {_POINT_COLUMNS}, level = 0 AS gone, name, level FROM (
          SELECT {_POINT_COLUMNS}, name, CAST(feature_level AS int) AS level
          FROM events WHERE type = 'FeatureLevelRecord' AND name <> 'kraft.version'
          UNION ALL
          SELECT {_POINT_COLUMNS}, 'kraft.version' AS name, {_json("kRaftVersion", "int")} AS level
          FROM events WHERE type = 'KRaftVersionRecord')""",
    ("name",),
    ("level",),
)

QUOTAS: Final = partial(
    history,
    f"""SELECT {_POINT_COLUMNS}, {_json("remove", "boolean")} AS gone,
               to_json(array_sort(from_json({_json("entity")}, 'array<struct<entityType:string,entityName:string>>')),
                       map('ignoreNullFields', 'false')) AS entity,
               {_json("key")} AS quota, {_json("value", "double")} AS value
        FROM events WHERE type = 'ClientQuotaRecord'""",
    ("entity", "quota"),
    ("value",),
)

ACLS: Final = partial(
    history,
    f"""SELECT {_POINT_COLUMNS}, type = 'RemoveAccessControlEntryRecord' AS gone, {_json("id")} AS id,
               resource_type, resource_name, {_json("patternType", "int")} AS pattern_type,
               {_json("principal")} AS principal, {_json("host")} AS host,
               {_json("operation", "int")} AS operation, {_json("permissionType", "int")} AS permission_type
        FROM events WHERE type IN ('AccessControlEntryRecord', 'RemoveAccessControlEntryRecord')""",
    ("id",),
    ("resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission_type"),
)

SCRAM: Final = partial(
    history,
    f"""SELECT {_POINT_COLUMNS}, type = 'RemoveUserScramCredentialRecord' AS gone, name AS user,
               {_json("mechanism", "int")} AS mechanism, {_json("iterations", "int")} AS iterations,
               {_json("storedKey")} AS fingerprint
        FROM events WHERE type IN ('UserScramCredentialRecord', 'RemoveUserScramCredentialRecord')""",
    ("user", "mechanism"),
    ("iterations", "fingerprint"),
)

TOKENS: Final = partial(
    history,
    f"""SELECT {_POINT_COLUMNS}, type = 'RemoveDelegationTokenRecord' AS gone, {_json("tokenId")} AS token,
               {_json("owner")} AS owner, {_json("requester")} AS requester, {_json("renewers")} AS renewers,
               timestamp_millis({_json("issueTimestamp", "bigint")}) AS issued,
               timestamp_millis({_json("expirationTimestamp", "bigint")}) AS expires
        FROM events WHERE type IN ('DelegationTokenRecord', 'RemoveDelegationTokenRecord')""",
    ("token",),
    ("owner", "requester", "renewers", "issued", "expires"),
)

PRODUCER_IDS: Final = partial(
    history,
    f"""SELECT {_POINT_COLUMNS}, false AS gone, 'producer ids' AS block, next_producer_id, broker_id, broker_epoch
        FROM events WHERE type = 'ProducerIdsRecord'""",
    ("block",),
    ("next_producer_id", "broker_id", "broker_epoch"),
)

CONTROLLERS: Final = partial(
    history,
    f"""SELECT {_POINT_COLUMNS}, type <> 'RegisterControllerRecord' AS gone, controller_id, incarnation_id,
               {_json("endPoints")} AS endpoints, {_json("features")} AS features
        FROM events WHERE type = 'RegisterControllerRecord'""",
    ("controller_id",),
    ("incarnation_id", "endpoints", "features"),
)

LEADERSHIP: Final = partial(
    history,
    f"""SELECT {_POINT_COLUMNS}, false AS gone, 'quorum' AS quorum, leader, {_json("voters")} AS voters,
               {_json("grantingVoters")} AS granting_voters
        FROM events WHERE type = 'LeaderChangeMessage'""",
    ("quorum",),
    ("leader", "voters", "granting_voters"),
)

VOTERS: Final = partial(
    history,
    f"""SELECT {_POINT_COLUMNS}, false AS gone, 'quorum' AS quorum, {_json("voters")} AS voters
        FROM events WHERE type = 'VotersRecord'""",
    ("quorum",),
    ("voters",),
)

_BROKER: Final = "PARTITION BY cluster_id, stretch, broker_id"
_SO_FAR: Final = f"({_BROKER}, life ORDER BY offset, sub ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
_BROKER_VALUES: Final = (
    "broker_epoch", "incarnation_id", "rack", "fenced", "in_controlled_shutdown", "log_dirs", "cordoned_log_dirs",
    "endpoints",
)  # fmt: skip


def brokers(still: str | None = None) -> str:
    """Register and Unregister begin another life of a broker id; other records change what the registration said."""
    rows = _BROKER_RECORDS
    if still is not None:
        again = as_puts(still, ("broker_id", *_BROKER_VALUES))
        rows = f"{rows} UNION ALL SELECT {_POINT_COLUMNS}, 'RegisterBrokerRecord' AS type, broker_id, broker_epoch,"
        rows += " incarnation_id, rack, fenced,"
        rows += f" in_controlled_shutdown, log_dirs, cordoned_log_dirs, endpoints FROM ({again})"
    merged = ", ".join(f"last({name}, true) OVER so_far AS {name}" for name in _BROKER_VALUES)
    lives = f"""
SELECT *, count_if(type IN ('RegisterBrokerRecord', 'UnregisterBrokerRecord')) OVER ({_BROKER} ORDER BY offset, sub
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS life
FROM ({rows})"""
    return bounded(
        f"""
SELECT * FROM (
  SELECT {_POINT_COLUMNS}, broker_id, first(type) OVER so_far AS born, {merged},
         lead(struct(offset, timestamp)) OVER ({_BROKER} ORDER BY offset, sub) AS next
  FROM ({lives})
  WINDOW so_far AS {_SO_FAR})
WHERE born = 'RegisterBrokerRecord'
""",
        ("broker_id", *_BROKER_VALUES),
    )


_BROKER_RECORDS: Final = f"""
SELECT {_POINT_COLUMNS}, type, broker_id, broker_epoch, incarnation_id, rack,
       CASE type WHEN 'FenceBrokerRecord' THEN true WHEN 'UnfenceBrokerRecord' THEN false
                 WHEN 'RegisterBrokerRecord' THEN coalesce(fenced, true) ELSE fenced END AS fenced,
       CASE type WHEN 'RegisterBrokerRecord' THEN coalesce(in_controlled_shutdown, false)
                 ELSE CASE WHEN in_controlled_shutdown THEN true END END AS in_controlled_shutdown,
       CASE WHEN type = 'RegisterBrokerRecord' THEN coalesce(log_dirs, array()) WHEN size(log_dirs) > 0
         THEN log_dirs END AS log_dirs,
       cordoned_log_dirs, CASE WHEN type = 'RegisterBrokerRecord' THEN {_json("endPoints")} END AS endpoints
FROM events WHERE type IN ('RegisterBrokerRecord', 'UnregisterBrokerRecord', 'BrokerRegistrationChangeRecord',
                           'FenceBrokerRecord', 'UnfenceBrokerRecord')
"""
