"""What an audit found: what is wrong, where exactly, how bad.

`error`: bytes or promises are broken. `warning`: something is missing that should be there. `note`: a fact worth
knowing that healthy clusters show too, such as a follower that lags or a batch that was being written. An audit of
healthy logs has no errors and no warnings.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

Severity = Literal["error", "warning", "note"]

KINDS: Final[dict[str, tuple[Severity, str]]] = {
    "bit rot": ("error", "a batch's bytes are not those its checksum was made of, or cannot be read"),
    "damaged offset": ("error", "a base offset is not where the batch before it ended; no checksum covers it"),
    "damaged epoch": ("error", "an epoch that no leader began, or that falls; no checksum covers it"),
    "epoch not believed": (
        "error",
        "committed records whose only whole copy names an epoch that its log contradicts; no table has them",
    ),
    "two epochs": (
        "error",
        "equal bytes under two epochs, and nothing tells which number is damaged: read another copy",
    ),
    "divergence": ("error", "two disks hold different batches at one offset and epoch: Raft rules that out"),
    "gap": ("error", "offsets are missing inside of a log"),
    "wrong file": ("error", "a file's name is not the offset of its first batch: files were exchanged or renamed"),
    "lost suffix": ("error", "a disk threw away records that are committed"),
    "lost records": ("error", "committed records that no disk has whole"),
    "conflict": ("error", "records of another epoch inside of a committed log"),
    "unreadable": ("error", "the rest of a file cannot be read"),
    "snapshot differs": ("error", "a snapshot does not say what the log it replaces says"),
    "broken promise": ("error", "the committed history contradicts itself"),
    "nobody's log": ("warning", "no meta.properties says whose log a directory is"),
    "unknown record": ("warning", "a committed record that Apache Kafka 4.3 does not have"),
    "damaged snapshot": ("error", "a batch of a snapshot is damaged"),
    "history replaced": (
        "error",
        "a quorum's leader does not have what was committed: a majority of its disks was lost",
    ),
    "another cluster": ("error", "a quorum that is read over the wire is not the cluster it was, or is said to be"),
    "bad answer": ("error", "a quorum's answer is malformed, or contradicts what was read of it before"),
    "not let in": ("warning", "a quorum refuses its reader"),
    "away": ("warning", "a quorum was not reached, or has no leader; what was read before is still there"),
    "torn tail": ("note", "the file ends inside a batch: a crash, or a copy in the middle of a write"),
    "behind": ("note", "the disk does not hold all that is committed: it lags, or lost its tail"),
    "uncommitted": ("note", "the disk ends with records that were never committed"),
    "clock jump": ("note", "the time of a committed record is more than a minute before that of the one before it"),
    "read twice": ("note", "the same file of the same disk lies in two places"),
}
"""Severity and meaning of each kind."""
OF_ONE_BATCH: Final = frozenset(("bit rot", "damaged offset", "damaged epoch", "divergence"))
"""Kinds of which a batch can be accused for several reasons."""


MOST: Final = 1000
"""Findings of one kind that are listed for one cluster; a log that is wrong throughout needs no million rows, and hides
no other cluster's.
"""


def first_of_each_cluster(sql: str, *, kind: str = "cluster_id", order: str = "offset") -> str:
    """The query's rows of the first MOST places of each cluster and kind; the columns that say which are `kind` and
    `order`.
    """
    places = f"dense_rank() OVER (PARTITION BY cluster_id, {kind} ORDER BY {order})"
    return f"SELECT * FROM (SELECT *, {places} AS nth FROM ({sql})) WHERE nth <= {MOST}"


@dataclass(frozen=True, slots=True, order=True)
class AuditFinding:
    cluster: str
    kind: str
    node: int | None
    directory: str | None
    file: str | None
    position: int | None
    offset: int | None
    detail: str

    @property
    def severity(self) -> Severity:
        return KINDS[self.kind][0]


def merged(findings: Iterable[AuditFinding]) -> tuple[AuditFinding, ...]:
    """Errors first, then by place. What several rules say of one batch of one disk is one finding."""
    found: dict[tuple[object, ...], AuditFinding] = {}
    for each in sorted(set(findings), key=lambda it: (*sort_key(it), it.detail)):
        place = (each.cluster, each.kind, each.node, each.directory, each.file, each.position, each.offset)
        key = place if each.kind in OF_ONE_BATCH else (*place, each.detail)
        before = found.get(key)
        found[key] = each if before is None else replace(before, detail=f"{before.detail}; {each.detail}")
    return tuple(found.values())


FINDINGS_DDL: Final = (
    "cluster_id string, severity string, kind string, node_id int, directory_id string, file string, "
    "position bigint, offset bigint, detail string"
)


def row_of(finding: AuditFinding) -> tuple[object, ...]:
    return (
        finding.cluster, finding.severity, finding.kind, finding.node, finding.directory, finding.file,
        finding.position, finding.offset, finding.detail,
    )  # fmt: skip


def sort_key(finding: AuditFinding) -> tuple[object, ...]:
    """Errors first, then by place."""
    order = ("error", "warning", "note").index(finding.severity)
    return order, finding.cluster, finding.kind, finding.node or -1, finding.offset or -1, finding.file or ""
