"""The pods of an audit's CronJob, and what they left when they ended. Only the newest and the last that failed are kept
by Kubernetes. A run whose line cannot be understood has failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kraft_operator.audits import AuditSeen, summary_of
from kraft_operator.last_words import last_words, redacted
from kraft_operator.manifests.audit import NAME, OF_AUDIT
from kraft_operator.pod_facts import Object, troubles


def audit_seen(pods: Iterable[Object]) -> AuditSeen:
    runs = sorted(
        (each for each in pods if (each["metadata"].get("labels") or {}).get(NAME) == OF_AUDIT),
        key=lambda each: str(each["metadata"].get("creationTimestamp", "")),
    )
    done, failed, waits = None, "", ""
    for each in runs:
        ended, phase = _ended(each), (each.get("status") or {}).get("phase")
        if phase == "Succeeded" and ended is not None:
            found = summary_of(str(ended.get("message", "")))
            done, failed = found or done, "" if found else "what it said of itself cannot be understood"
            waits = ""
        elif phase == "Failed":
            said = last_words(str((ended or {}).get("message", ""))) or (each["status"].get("message") or "")
            code = f"exit code {ended['exitCode']}" if ended is not None else each["status"].get("reason", "")
            failed, waits = f"{code}: {redacted(said)}".rstrip(": "), ""
        elif not each["metadata"].get("deletionTimestamp"):
            waits = next((f"{it.reason}: {it.message}" for it in troubles(each.get("status") or {})), "")
    return AuditSeen(done, failed, waits)


def _ended(pod: Object) -> Mapping[str, Any] | None:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return next((each.get("state", {}).get("terminated") for each in statuses), None)
