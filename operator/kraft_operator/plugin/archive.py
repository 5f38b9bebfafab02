"""`kubectl kraft archive`: how far the archive of a cluster is, what it has proven, and what is wrong with it.

The numbers of the moment are those of its page, which the API server fetches for whoever may get `services/proxy`;
without it they are those of the status.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from kraft_operator.api import names
from kraft_operator.archives import ArchiveSeen, archive_seen
from kraft_operator.audit_status import COUNTED, in_words
from kraft_operator.copy_status import copy_lines
from kraft_operator.kube import CLUSTER, SERVICE, Gateway, KubeError

Resource = Mapping[str, Any]


def register(commands: Any, common: argparse.ArgumentParser) -> None:
    found = commands.add_parser("archive", parents=[common], help="how far the archive of the metadata log is")
    found.set_defaults(run=_archive)


def _archive(given: argparse.Namespace, kube: Gateway, tell: Callable[[str], None]) -> int:
    resource = kube.get(CLUSTER, given.namespace, given.cluster)
    if (resource.get("spec") or {}).get("archive") is None:
        print(f"{given.cluster} has no archive; spec.archive: {{}} gives it one", file=sys.stderr)
        return 1
    page = ""
    try:
        page = kube.page(SERVICE, given.namespace, f"{names.archive_name(given.cluster)}:{names.HTTP_PORT}", "status")
    except KubeError as error:
        print(f"its page cannot be read, this is what the status says: {error.message}", file=sys.stderr)
    if given.output == "json":
        tell(json.dumps({"status": (resource.get("status") or {}).get("archive"), "page": _parsed(page)}, indent=1))
    else:
        tell("\n".join(archive_lines(resource, archive_seen(page))))
    return 0


def archive_lines(resource: Resource, seen: ArchiveSeen | None) -> list[str]:
    status = resource.get("status") or {}
    known = status.get("archive") or {}
    lines = [f"archive  {seen.standing if seen is not None else known.get('standing', 'Unknown')}"]
    if seen is not None:
        missing = "nobody has said how many records are missing" if seen.lag < 0 else f"{seen.lag} records behind"
        start = f"; the quorum's log begins at {seen.log_start}" if seen.log_start >= 0 else ""
        lines.append(f"log      up to offset {seen.end}, {missing}{start}")
    verified = known.get("verified")
    if verified is None:
        lines.append("proven   nothing yet")
    else:
        lines.append(
            f"proven   offsets {verified['start']} to {verified['end']} of epoch {verified['epoch']}, read whole at "
            f"{verified['at']}, digest {verified['digest']}"
        )
    if known.get("asides"):
        lines.append(f"aside    {known['asides']} earlier beginnings are kept beside it")
    lines.append(f"volume   claim {known.get('claim', 'not known yet')}, which outlives the cluster")
    if known.get("secrets"):
        lines.append(f"access   {known['access']}: {known['secrets']}")
    lines += copy_lines(known.get("objectStore") or {}, seen.store if seen is not None else None)
    lines += _audit_lines(known.get("audit"))
    for each in status.get("conditions") or ():
        if (
            each.get("type") in ("ArchiveCurrent", "ArchiveCopyCurrent", "AuditCurrent")
            and each.get("status") != "True"
        ):
            lines.append(f"to do    {each['reason']}: {each['message']}")
    return lines


def _audit_lines(audit: Mapping[str, Any] | None) -> list[str]:
    if audit is None:
        return []
    counts = ", ".join(f"{audit[each]} {each}" for each in COUNTED.values())
    end = f" up to offset {audit['end']}" if "end" in audit else ""
    return [
        f"audit    {counts}{end}, at {audit['at']}",
        *(f"found    {in_words(each)}" for each in audit.get("worst") or ()),
    ]


def _parsed(page: str) -> Any:
    try:
        return json.loads(page)
    except ValueError:
        return None
