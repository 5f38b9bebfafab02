"""The newest audit of the archive as the status, Events and numbers have it. Pure, but for the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from kraft_operator.api.spec import KRaftCluster
from kraft_operator.audits import SEVERITIES, AuditSeen
from kraft_operator.metrics import Metrics

Status = dict[str, Any]
COUNTED: Final = {"error": "errors", "warning": "warnings", "note": "notes"}
FINDINGS: Final = "kraft_operator_audit_findings"
END: Final = "kraft_operator_audit_end_offset"
AT: Final = "kraft_operator_audit_timestamp_seconds"


def audit_status(cluster: KRaftCluster, seen: AuditSeen, cluster_id: str, old: Mapping[str, Any]) -> Status:
    """As a field of `status.archive`. Its pod goes sometime; what the newest audit found stays."""
    if cluster.spec.archive is None or cluster.spec.archive.audit is None:
        return {}
    before, done = (old.get("archive") or {}).get("audit"), seen.done
    if done is None or (done.ends and cluster_id not in done.ends) or (before and before["at"] >= done.at):
        return {"audit": before} if before else {}
    found: Status = {"at": done.at, **({"end": done.ends[cluster_id]} if done.ends else {})}
    found |= {COUNTED[each]: done.counts[each] for each in SEVERITIES}
    found |= {"worst": [dict(each) for each in done.worst], "names": list(done.names)}
    return {"audit": {**found, **({"unnamed": done.unnamed} if done.unnamed else {})}}


def audit_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Texts about each finding that is new, and about each that is gone. Of what an audit has no room to name nothing
    is said to be gone.
    """
    was, now = ((each.get("archive") or {}).get("audit") or {} for each in (old, new))
    if not now or was.get("at") == now["at"]:
        return [], []
    known, names = {*(was.get("names") or ())}, {*(now.get("names") or ())}
    told = [in_words(each) for each in now.get("worst") or () if each["name"] not in known]
    more = len(names - known) - len(told)
    if more > 0:
        told.append(f"{more} more that the audit of {now['at']} named: see the lake's report")
    gone = [each for each in was.get("worst") or () if each["name"] not in names and not now.get("unnamed")]
    return told, [f"an audit does not find it any more: {in_words(each)}" for each in gone]


def in_words(finding: Mapping[str, Any]) -> str:
    where = [f"{key} {finding[key]}" for key in ("node", "file", "position", "offset") if key in finding]
    return f"{finding['kind']} ({finding['severity']}), {', '.join(where) or 'the whole log'}: {finding['detail']}"


def note_audit(metrics: Metrics, new: Mapping[str, Any], labels: Mapping[str, str]) -> None:
    found = (new.get("archive") or {}).get("audit")
    if found is None:
        metrics.forget_one(FINDINGS, **labels)
        metrics.forget_one(END, **labels)
        metrics.forget_one(AT, **labels)
        return
    for severity, counted in COUNTED.items():
        metrics.set(FINDINGS, found[counted], severity=severity, **labels)
    metrics.set(END, found.get("end", -1), **labels)
    metrics.set(AT, _seconds(found["at"]), **labels)


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()
