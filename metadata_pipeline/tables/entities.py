"""Which records put, change and remove what: one SQL for each history table but that of partitions.

The meaning is that of `controller_runtime.metadata.replay`, record by record; a property test compares both at every
offset of random histories.
"""

from __future__ import annotations

from typing import Final

from metadata_pipeline.tables.intervals import bounded, history

_POINT_COLUMNS: Final = "cluster_id, stretch, offset, sub, timestamp, epoch"


def _json(path: str, kind: str = "string") -> str:
    value = f"get_json_object(extra, '$.{path}')"
    return value if kind == "string" else f"CAST({value} AS {kind})"


TOPICS: Final = history(
    f"""SELECT {_POINT_COLUMNS}, type = 'RemoveTopicRecord' AS gone, topic_id, name
        FROM events WHERE type IN ('TopicRecord', 'RemoveTopicRecord')""",
    ("topic_id",),
    ("name",),
)

TOPIC_ENDINGS: Final = """
SELECT r.cluster_id, r.stretch, r.offset, r.timestamp, r.topic_id, t.name AS topic_name
FROM events r JOIN (SELECT cluster_id, stretch, topic_id, first(name) AS name FROM events WHERE type = 'TopicRecord'
                    GROUP BY cluster_id, stretch, topic_id) t
  ON r.cluster_id = t.cluster_id AND r.stretch = t.stretch AND r.topic_id = t.topic_id
WHERE r.type = 'RemoveTopicRecord'
"""

CONFIGS: Final = history(
    f"""SELECT {_POINT_COLUMNS}, value IS NULL AS gone, resource_type, resource_name, name, value, redacted
        FROM events WHERE type = 'ConfigRecord'""",
    ("resource_type", "resource_name", "name"),
    ("value", "redacted"),
    owner=("resource_type", "resource_name"),
    endings=f"""SELECT cluster_id, stretch, offset, timestamp, CAST(2 AS tinyint) AS resource_type,
      topic_name AS resource_name
                FROM ({TOPIC_ENDINGS})""",
)

FEATURES: Final = history(
    f"""SELECT {_POINT_COLUMNS}, level = 0 AS gone, name, level FROM (
          SELECT {_POINT_COLUMNS}, name, CAST(feature_level AS int) AS level
          FROM events WHERE type = 'FeatureLevelRecord' AND name <> 'kraft.version'
          UNION ALL
          SELECT {_POINT_COLUMNS}, 'kraft.version' AS name, {_json("kRaftVersion", "int")} AS level
          FROM events WHERE type = 'KRaftVersionRecord')""",
    ("name",),
    ("level",),
)

QUOTAS: Final = history(
    f"""SELECT {_POINT_COLUMNS}, {_json("remove", "boolean")} AS gone,
               to_json(array_sort(from_json({_json("entity")}, 'array<struct<entityType:string,entityName:string>>')),
                       map('ignoreNullFields', 'false')) AS entity,
               {_json("key")} AS quota, {_json("value", "double")} AS value
        FROM events WHERE type = 'ClientQuotaRecord'""",
    ("entity", "quota"),
    ("value",),
)

ACLS: Final = history(
    f"""SELECT {_POINT_COLUMNS}, type = 'RemoveAccessControlEntryRecord' AS gone, {_json("id")} AS id,
               resource_type, resource_name, {_json("patternType", "int")} AS pattern_type,
               {_json("principal")} AS principal, {_json("host")} AS host,
               {_json("operation", "int")} AS operation, {_json("permissionType", "int")} AS permission_type
        FROM events WHERE type IN ('AccessControlEntryRecord', 'RemoveAccessControlEntryRecord')""",
    ("id",),
    ("resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission_type"),
)

SCRAM: Final = history(
    f"""SELECT {_POINT_COLUMNS}, type = 'RemoveUserScramCredentialRecord' AS gone, name AS user,
               {_json("mechanism", "int")} AS mechanism, {_json("iterations", "int")} AS iterations,
               {_json("storedKey")} AS fingerprint
        FROM events WHERE type IN ('UserScramCredentialRecord', 'RemoveUserScramCredentialRecord')""",
    ("user", "mechanism"),
    ("iterations", "fingerprint"),
)

TOKENS: Final = history(
    f"""SELECT {_POINT_COLUMNS}, type = 'RemoveDelegationTokenRecord' AS gone, {_json("tokenId")} AS token,
               {_json("owner")} AS owner, {_json("requester")} AS requester, {_json("renewers")} AS renewers,
               timestamp_millis({_json("issueTimestamp", "bigint")}) AS issued,
               timestamp_millis({_json("expirationTimestamp", "bigint")}) AS expires
        FROM events WHERE type IN ('DelegationTokenRecord', 'RemoveDelegationTokenRecord')""",
    ("token",),
    ("owner", "requester", "renewers", "issued", "expires"),
)

PRODUCER_IDS: Final = history(
    f"""SELECT {_POINT_COLUMNS}, false AS gone, 'producer ids' AS block, next_producer_id, broker_id, broker_epoch
        FROM events WHERE type = 'ProducerIdsRecord'""",
    ("block",),
    ("next_producer_id", "broker_id", "broker_epoch"),
)

CONTROLLERS: Final = history(
    f"""SELECT {_POINT_COLUMNS}, type <> 'RegisterControllerRecord' AS gone, controller_id, incarnation_id,
               {_json("endPoints")} AS endpoints, {_json("features")} AS features
        FROM events WHERE type = 'RegisterControllerRecord'""",
    ("controller_id",),
    ("incarnation_id", "endpoints", "features"),
)

LEADERSHIP: Final = history(
    f"""SELECT {_POINT_COLUMNS}, false AS gone, 'quorum' AS quorum, leader, {_json("voters")} AS voters,
               {_json("grantingVoters")} AS granting_voters
        FROM events WHERE type = 'LeaderChangeMessage'""",
    ("quorum",),
    ("leader", "voters", "granting_voters"),
)

VOTERS: Final = history(
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

BROKERS: Final = bounded(
    f"""
SELECT * FROM (
  SELECT {_POINT_COLUMNS}, broker_id, type = 'UnregisterBrokerRecord' AS gone,
         last(broker_epoch, true) OVER so_far AS broker_epoch, last(incarnation_id, true) OVER so_far AS incarnation_id,
         last(rack, true) OVER so_far AS rack, last(fenced, true) OVER so_far AS fenced,
         last(in_controlled_shutdown, true) OVER so_far AS in_controlled_shutdown,
           last(dirs, true) OVER so_far AS log_dirs,
         last(cordoned_log_dirs, true) OVER so_far AS cordoned_log_dirs, last(endpoints, true) OVER so_far AS endpoints,
         lead(struct(offset, timestamp)) OVER ({_BROKER} ORDER BY offset, sub) AS next, life
  FROM (
    SELECT {_POINT_COLUMNS}, type, broker_id, broker_epoch, incarnation_id, rack,
           CASE type WHEN 'FenceBrokerRecord' THEN true WHEN 'UnfenceBrokerRecord' THEN false
                     WHEN 'RegisterBrokerRecord' THEN coalesce(fenced, true) ELSE fenced END AS fenced,
           CASE type WHEN 'RegisterBrokerRecord' THEN coalesce(in_controlled_shutdown, false)
                     ELSE CASE WHEN in_controlled_shutdown THEN true END END AS in_controlled_shutdown,
           CASE WHEN type = 'RegisterBrokerRecord' THEN coalesce(log_dirs, array()) WHEN size(log_dirs) > 0
             THEN log_dirs END AS dirs,
           cordoned_log_dirs, CASE WHEN type = 'RegisterBrokerRecord' THEN {_json("endPoints")} END AS endpoints,
           count_if(type = 'RegisterBrokerRecord') OVER ({_BROKER} ORDER BY offset, sub
             ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS life
    FROM events WHERE type IN ('RegisterBrokerRecord', 'UnregisterBrokerRecord', 'BrokerRegistrationChangeRecord',
                               'FenceBrokerRecord', 'UnfenceBrokerRecord'))
  WINDOW so_far AS {_SO_FAR})
WHERE NOT gone AND life > 0
""",
    ("broker_id", *_BROKER_VALUES),
)
