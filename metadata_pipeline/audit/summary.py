"""An audit in one line of JSON, short enough for the termination message of a container, which Kubernetes cuts at 4,096
bytes: how much was found, the worst of it, and a name for everything that was found, so that who reads one summary
after another knows what is new and what is gone.

A finding's name is made of what it is and where, not of its words: a gap that grows is the same gap. What is only worth
a note is counted and not named, because notes come and go with every batch that is being written.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any, Final

from metadata_pipeline.audit.findings import AuditFinding

VERSION: Final = 1
LIMIT: Final = 4096
MAX_WORST: Final = 10
MAX_NAMED: Final = 100
MAX_DETAIL: Final = 160


def write_summary(path: str, findings: Sequence[AuditFinding], ends: Mapping[str, int]) -> int:
    """Returns the exit status: an audit that finds something has not failed."""
    Path(path).write_text(summary(findings, ends, time.time()), encoding="ascii")
    return 0


def summary(findings: Sequence[AuditFinding], ends: Mapping[str, int], at: float) -> str:
    """`ends`: up to where each cluster's log is known to be committed, exclusive. `at`: seconds since 1970."""
    counts = Counter(each.severity for each in findings)
    named = {name_of(each): each for each in reversed(findings) if each.severity != "note"}
    kept = list(reversed(named))
    for worst in range(min(MAX_WORST, len(kept)), -1, -1):
        line = json.dumps(
            {
                "version": VERSION,
                "at": round(at),
                "ends": dict(ends),
                "counts": {each: counts[each] for each in ("error", "warning", "note")},
                "names": kept[:MAX_NAMED],
                "unnamed": max(0, len(kept) - MAX_NAMED),
                "worst": [_told(name, named[name]) for name in kept[:worst]],
            },
            separators=(",", ":"),
        )
        if len(line) <= LIMIT:
            return line
    return summary(findings, dict(_first(ends.items())), at)  # a lake of more clusters than one line can name


def _first(ends: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    return list(ends)[:8]


def name_of(finding: AuditFinding) -> str:
    file = PurePath(finding.file).name if finding.file else ""
    place = (finding.cluster, finding.kind, finding.node, finding.directory, file, finding.position, finding.offset)
    return sha256(repr(place).encode()).hexdigest()[:8]


def _told(name: str, finding: AuditFinding) -> dict[str, Any]:
    detail = " ".join(finding.detail.split())
    told = {
        "name": name,
        "severity": finding.severity,
        "kind": finding.kind,
        "node": finding.node,
        "file": PurePath(finding.file).name if finding.file else None,
        "position": finding.position,
        "offset": finding.offset,
        "detail": detail if len(detail) <= MAX_DETAIL else f"{detail[: MAX_DETAIL - 3]}...",
    }
    return {key: value for key, value in told.items() if value is not None}
