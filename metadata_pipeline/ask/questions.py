"""The questions of docs/pipeline.md and what is asked beside them, as SQL over the views of `tables.as_of.open_views`.

Each query has `{of}` where its rows are chosen by cluster and by time; `since` is the column of offsets that `--since`
is compared with. A time is asked as one offset of each cluster (`tables.moments`), never compared with the times of
rows, which go back where a leader's clock did. Every answer begins with the cluster. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from metadata_pipeline.lake.rows import quoted
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.tables.moments import offset_of_each
from metadata_pipeline.tables.silences import silences, steps_of, steps_sql

_FOREVER: Final = "timestamp'9999-12-31 00:00:00'"
_SECONDS: Final = "round((unix_millis({until}) - unix_millis({since})) / 1000, 1)"


@dataclass(frozen=True, slots=True)
class Moment:
    """An offset, or a time, which is asked when `offsets` says which one it is in each cluster."""

    offset: int | None = None
    time: datetime | None = None
    offsets: Mapping[str, int] = field(default_factory=dict)

    def at(self, prefix: str = "") -> str:
        """Its offset, in SQL."""
        return offset_of_each(self.offsets, prefix) if self.offset is None else str(self.offset)

    def is_before(self, cluster: str, offset: int) -> bool:
        """The same of one row; nothing is behind a moment that a cluster does not have."""
        at = self.offsets.get(cluster) if self.offset is None else self.offset
        return at is not None and offset > at

    def valid(self) -> str:
        """What was so then."""
        return f"valid_from <= {self.at()} AND (valid_to IS NULL OR valid_to > {self.at()})"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question is asked about. `clusters`: these ids, or all (None). `since`: what is over before the first
    record that is later than it is left out.
    """

    clusters: frozenset[str] | None = None
    since: Moment | None = None
    begin: Moment | None = None
    end: Moment | None = None
    broker: int | None = None

    def of(self, offset: str, prefix: str = "") -> str:
        """`offset`: the column that `since` is compared with, "" if it is not."""
        conditions = ["true"]
        if self.clusters is not None:
            ids = ", ".join(quoted(cluster) for cluster in sorted(self.clusters)) or "NULL"
            conditions.append(f"{prefix}cluster_id IN ({ids})")
        if self.since is not None and offset:
            conditions.append(f"{offset} > {self.since.at(prefix)}")
        return " AND ".join(conditions)

    @property
    def times(self) -> list[datetime]:
        """Those that have to be placed in each cluster's log before this is asked."""
        return [it.time for it in (self.since, self.begin, self.end) if it is not None and it.time is not None]

    def placed(self, offsets: Mapping[datetime, Mapping[str, int]]) -> Asked:
        return replace(
            self, since=_placed(self.since, offsets), begin=_placed(self.begin, offsets), end=_placed(self.end, offsets)
        )  # fmt: skip


def _placed(moment: Moment | None, offsets: Mapping[datetime, Mapping[str, int]]) -> Moment | None:
    return moment if moment is None or moment.time is None else replace(moment, offsets=offsets[moment.time])


@dataclass(frozen=True, slots=True)
class Question:
    """`needs`: options without which it has no answer. `told`: makes the answer of the query's rows, at a time in
    milliseconds; None: they are it.
    """

    name: str
    title: str
    sql: str | Callable[[Asked], str]
    since: str = ""
    needs: tuple[str, ...] = field(default=())
    told: Callable[[Sequence[Any], Asked, int], list[dict[str, Any]]] | None = None
    columns: tuple[str, ...] = ()
    """Of what `told` makes."""

    def query(self, asked: Asked) -> str:
        return self.sql(asked) if callable(self.sql) else self.sql.format(of=asked.of(self.since))


def _at(time: datetime | None) -> str:
    assert time is not None, "a moment has an offset or a time"
    return f"timestamp'{(time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).isoformat()}'"


_NEVER: Final = f"{(1 << 63) - 1}L"
_TOUCHED: Final = f"coalesce(valid_to, {_NEVER})"

_THINGS: Final[dict[str, tuple[Sequence[str], Sequence[str]]]] = {
    "topics": (("name",), ("topic_id",)),
    "partitions": (("topic", "partition_id"), ("leader", "replicas", "isr")),
    "brokers": (("broker_id",), ("fenced", "in_controlled_shutdown", "broker_epoch")),
    "configs": (("resource_type", "resource_name", "name"), ("value",)),
    "features": (("name",), ("level",)),
    "quotas": (("entity", "quota"), ("value",)),
    "acls": (
        ("permission_type", "principal", "host", "operation", "resource_type", "pattern_type", "resource_name"),
        ("id",),
    ),
    "scram": (("user", "mechanism"), ("fingerprint",)),
    "voters": (("quorum",), ("voters",)),
}
"""Table -> what names a row of it at one moment, and what of it changes."""


def _changed(asked: Asked) -> str:
    if asked.begin is None or asked.end is None:
        raise PipelineError("two moments are needed", "give --from and --to, each an offset or an ISO time")
    begin, end = asked.begin.valid(), asked.end.valid()
    if (asked.begin.offset is not None or asked.end.offset is not None) and len(asked.clusters or ()) != 1:
        raise PipelineError("an offset is one cluster's", "give --cluster, or two times")
    of = asked.of("")
    return " UNION ALL ".join(_changes_of(table, begin, end, of) for table in _THINGS) + " ORDER BY 1, 2, 3"


def _changes_of(table: str, begin: str, end: str, of: str) -> str:
    keys, values = _THINGS[table]
    columns = f"cluster_id, concat_ws(' ', {', '.join(keys)}) AS k, to_json(struct({', '.join(values)})) AS v"
    if table == "acls":  # one rule may be there under two ids
        columns, of = columns.replace("struct(id)", "struct(max(id) AS id)"), f"{of} GROUP BY ALL"
    return f"""
SELECT coalesce(a.cluster_id, b.cluster_id) AS cluster_id, '{table}' AS in_table, coalesce(a.k, b.k) AS thing,
       CASE WHEN a.k IS NULL THEN 'added' WHEN b.k IS NULL THEN 'removed' ELSE 'changed' END AS change,
       a.v AS before, b.v AS after
FROM (SELECT {columns} FROM {table} WHERE {begin} AND {of}) a
FULL OUTER JOIN (SELECT {columns} FROM {table} WHERE {end} AND {of}) b ON a.cluster_id = b.cluster_id AND a.k = b.k
WHERE a.k IS NULL OR b.k IS NULL OR NOT (a.v <=> b.v)"""


def _short_while(asked: Asked) -> str:
    of = asked.of("")
    if asked.broker is not None:
        periods = (
            f"SELECT cluster_id, valid_from AS first, coalesce(valid_to, {_NEVER}) AS last, valid_from_time AS begin,"
            f" coalesce(valid_to_time, {_FOREVER}) AS end FROM brokers"
            f" WHERE broker_id = {asked.broker} AND fenced AND {of}"
        )
    elif asked.begin is not None and asked.end is not None and asked.begin.time and asked.end.time:
        begin, end = _at(asked.begin.time), _at(asked.end.time)
        periods = (
            f"SELECT DISTINCT cluster_id, {asked.begin.at()} AS first, {asked.end.at()} + 1 AS last, {begin} AS begin,"
            f" {end} AS end FROM partitions WHERE {of}"
        )
    else:
        raise PipelineError("no period is named", "give --fenced BROKER, or --from and --to as ISO times")
    return f"""
SELECT p.cluster_id, p.topic, p.partition_id, array_except(p.replicas, p.isr) AS missing, p.isr,
       CASE WHEN p.valid_from > w.first THEN p.valid_from_time ELSE w.begin END AS since,
       nullif(CASE WHEN p.valid_to < w.last THEN p.valid_to_time ELSE w.end END, {_FOREVER}) AS until
FROM partitions p JOIN ({periods}) w
  ON p.cluster_id = w.cluster_id AND p.valid_from < w.last AND coalesce(p.valid_to, {_NEVER}) > w.first
WHERE size(p.isr) < size(p.replicas) AND {asked.of(f"coalesce(p.valid_to, {_NEVER})", "p.")}
ORDER BY p.cluster_id, since, p.topic, p.partition_id"""


def _moment(asked: Asked) -> str:
    then = "valid_to IS NULL" if asked.begin is None else asked.begin.valid()
    return f"""
SELECT cluster_id, count(DISTINCT topic_id) AS topics, count(*) AS partitions, sum(size(replicas)) AS replicas,
       count_if(leader = -1) AS leaderless
FROM partitions WHERE {asked.of("")} AND {then} GROUP BY cluster_id ORDER BY cluster_id"""


def _config_differs(asked: Asked) -> str:
    of = asked.of("")
    return f"""
WITH asked AS (SELECT DISTINCT cluster_id FROM partitions WHERE {of} UNION SELECT DISTINCT cluster_id FROM brokers
               WHERE {of}),
     shared AS (SELECT name FROM topics WHERE valid_to IS NULL AND {of} GROUP BY name
                HAVING count(DISTINCT cluster_id) = (SELECT count(*) FROM asked)),
     named AS (SELECT DISTINCT resource_type, resource_name, name FROM configs WHERE valid_to IS NULL AND {of}
               AND (resource_type <> 2 OR resource_name IN (SELECT name FROM shared))),
     held AS (SELECT a.cluster_id, n.resource_type, n.resource_name, n.name, c.value
              FROM asked a CROSS JOIN named n LEFT JOIN configs c ON c.cluster_id = a.cluster_id AND c.valid_to IS NULL
               AND c.resource_type = n.resource_type AND c.resource_name = n.resource_name AND c.name = n.name)
SELECT h.cluster_id, h.resource_type, h.resource_name, h.name, h.value FROM held h
JOIN (SELECT resource_type, resource_name, name FROM held GROUP BY ALL
      HAVING count(DISTINCT coalesce(concat('=', value), '')) > 1) d
  ON h.resource_type = d.resource_type AND h.resource_name = d.resource_name AND h.name = d.name
ORDER BY h.resource_type, h.resource_name, h.name, h.cluster_id"""


SILENCE_MS: Final = 1000


def _silences(rows: Sequence[Any], asked: Asked, now_ms: int) -> list[dict[str, Any]]:
    """`since`: what the last record before it says."""
    return [
        {
            "cluster_id": it.cluster, "offset": it.offset, "epoch": it.epoch,
            "since": datetime.fromtimestamp(it.begin_ms / 1000, UTC).replace(tzinfo=None),
            "seconds": round(it.lasted_ms / 1000, 1),
        }
        for it in silences(steps_of(rows), SILENCE_MS, now_ms)
        if asked.since is None or asked.since.is_before(it.cluster, it.offset)
    ]  # fmt: skip


QUESTIONS: Final = (
    Question(
        "leaders",
        "Who led the quorum, and for how long?",
        f"""SELECT cluster_id, epoch, leader, valid_from AS offset, valid_from_time AS since,
       {_SECONDS.format(until="coalesce(valid_to_time, valid_from_time)", since="valid_from_time")} AS seconds
FROM leadership WHERE {{of}} ORDER BY cluster_id, epoch""",
        _TOUCHED,
    ),
    Question(
        "deleted-topics",
        "Which topics were deleted, and when?",
        """SELECT cluster_id, name, topic_id, valid_to AS offset, valid_to_time AS deleted_at
FROM topics WHERE {of} AND valid_to IS NOT NULL ORDER BY cluster_id, valid_to""",
        "valid_to",
    ),
    Question(
        "flapping",
        "Which brokers flap?",
        """SELECT cluster_id, broker_id, count_if(fenced) AS times_fenced,
       count(DISTINCT broker_epoch) AS registrations, min(valid_from_time) AS first_seen
FROM brokers WHERE {of} GROUP BY cluster_id, broker_id ORDER BY times_fenced DESC, cluster_id, broker_id""",
        _TOUCHED,
    ),
    Question(
        "short-isr",
        "Which partitions were without their full ISR, and for how long in all?",
        """SELECT cluster_id, topic, count(DISTINCT partition_id) AS partitions,
       round(sum(unix_millis(valid_to_time) - unix_millis(valid_from_time)) / 1000, 1) AS seconds
FROM partitions WHERE {of} AND size(isr) < size(replicas) AND valid_to IS NOT NULL
GROUP BY cluster_id, topic ORDER BY seconds DESC, cluster_id, topic""",
        "valid_to",
    ),
    Question(
        "leaderless",
        "When was a partition without a leader?",
        """SELECT cluster_id, topic, partition_id, valid_from, valid_to, valid_from_time AS since, elr, last_known_elr
FROM partitions WHERE {of} AND leader = -1 ORDER BY cluster_id, valid_from, topic, partition_id""",
        _TOUCHED,
    ),
    Question(
        "config-changes",
        "Which configuration was changed when, from what to what?",
        """SELECT cluster_id, resource_type, resource_name, name, value, valid_from, valid_to, valid_from_time AS set_at
FROM configs WHERE {of} ORDER BY cluster_id, resource_type, resource_name, name, valid_from""",
        "valid_from",
    ),
    Question("at", "What did the cluster look like at one moment (--from), or now?", _moment),
    Question(
        "silences",
        "When was nobody in charge? (more than a second without a record, less what a leader's clock made of it)",
        lambda asked: steps_sql(SILENCE_MS, asked.of("")),
        told=_silences,
        columns=("cluster_id", "offset", "epoch", "since", "seconds"),
    ),
    Question(
        "former-acls",
        "Which access rules were in force once and are no more?",
        """SELECT cluster_id, principal, resource_name, operation, permission_type, valid_from, valid_to,
       valid_to_time AS removed_at
FROM acls WHERE {of} AND valid_to IS NOT NULL ORDER BY cluster_id, valid_to, principal""",
        "valid_to",
    ),
    Question(
        "findings",
        "Do the copies agree? (the last audit; --since does not apply)",
        """SELECT cluster_id, severity, kind, node_id, offset, detail
FROM findings WHERE {of} ORDER BY cluster_id, severity, node_id, offset""",
    ),
    Question("changed", "What changed between these two moments?", _changed, needs=("--from", "--to")),
    Question(
        "short-isr-while",
        "Who was without full ISR while a broker was fenced, or between two times?",
        _short_while,
        needs=("--fenced BROKER, or --from and --to",),
    ),
    Question("config-differs", "Which configuration differs between clusters (of this --label)?", _config_differs),
)


def question(name: str) -> Question:
    """Raises PipelineError."""
    found = next((one for one in QUESTIONS if one.name == name), None)
    if found is None:
        raise PipelineError(f"there is no question {name}", "kraft-pipeline ask lists them")
    return found
