"""`kraft-pipeline ask`: lists the questions, or answers one as a table, CSV or JSON."""

from __future__ import annotations

import argparse
import csv
import io
import json
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from metadata_pipeline.ask.questions import QUESTIONS, Asked, Moment, question
from metadata_pipeline.lake.state import LakeState
from metadata_pipeline.problems import PipelineError

if TYPE_CHECKING:
    from metadata_pipeline.wire.fleet import Quorum


def add_arguments(one: argparse.ArgumentParser) -> None:
    one.add_argument("question", nargs="?", metavar="QUESTION", help="without it: the list of them")
    one.add_argument("--cluster", action="append", metavar="ID|NAME", help="of this cluster; may be repeated")
    one.add_argument("--since", metavar="TIME", help="what was so at this ISO time (UTC) or later")
    one.add_argument("--from", dest="begin", metavar="POINT", help="an offset or an ISO time (UTC)")
    one.add_argument("--to", dest="end", metavar="POINT")
    one.add_argument("--fenced", type=int, metavar="BROKER", help="while this broker was fenced")
    one.add_argument("--label", metavar="NAME=VALUE", help="of clusters that --fleet gives this label")
    one.add_argument("--fleet", metavar="FILE", help="the fleet file, for labels")
    one.add_argument("--format", choices=("table", "csv", "json"), default="table")
    one.add_argument("--limit", type=int, default=1000, help="rows to print (1000)")


def listed() -> str:
    width = max(len(one.name) for one in QUESTIONS)
    return "\n".join(
        f"{one.name:<{width}}  {one.title}" + (f" [{', '.join(one.needs)}]" if one.needs else "") for one in QUESTIONS
    )


def asked_by(options: argparse.Namespace, state: LakeState) -> Asked:
    """Raises PipelineError that names the option."""
    return Asked(
        clusters=_clusters(options, state), since=_since(options.since),
        begin=_moment(options.begin, "--from"), end=_moment(options.end, "--to"), broker=options.fenced,
    )  # fmt: skip


def query_of(options: argparse.Namespace, state: LakeState, asked: Asked) -> str:
    """Raises PipelineError where the question has no answer. Times in `asked` need not have been placed for that."""
    if options.question == "findings" and not state.of("findings"):
        raise PipelineError("no audit was made yet", f"kraft-pipeline audit --output {options.output}")
    if not state.of("partitions"):
        raise PipelineError(f"{options.output} has no tables yet", f"kraft-pipeline tables --output {options.output}")
    return question(options.question).query(asked)


def _clusters(options: argparse.Namespace, state: LakeState) -> frozenset[str] | None:
    names: Mapping[str, str] = state.summaries.get("ingest", {}).get("quorums", {})
    chosen: set[str] | None = None
    if options.cluster:
        chosen = {names.get(one, one) for one in options.cluster}
    if options.label:
        if not options.fleet:
            raise PipelineError("--label needs the fleet file that gives labels", "give --fleet FILE")
        labelled = {
            quorum.cluster_id or names.get(quorum.name, quorum.name)
            for quorum in _labelled(options.fleet, options.label)
        }
        chosen = labelled if chosen is None else chosen & labelled
    if chosen is not None and (unknown := sorted(chosen - set(state.clusters))):
        raise PipelineError(
            f"the lake has no cluster {', '.join(unknown)}", f"choose among {', '.join(state.clusters)}"
        )
    return None if chosen is None else frozenset(chosen)


def _labelled(fleet: str, label: str) -> list[Quorum]:
    from metadata_pipeline.wire.fleet import read_fleet

    name, equals, value = label.partition("=")
    if not equals:
        raise PipelineError(f"--label {label} is not NAME=VALUE", "for example --label tier=production")
    found = [quorum for quorum in read_fleet(fleet) if dict(quorum.labels).get(name) == value]
    if not found:
        raise PipelineError(f"no quorum of {fleet} has the label {label}", "give labels in the fleet file")
    return found


def _moment(text: str | None, option: str) -> Moment | None:
    if text is None:
        return None
    return Moment(offset=int(text)) if text.isdecimal() else Moment(time=_time(text, option))


def _since(text: str | None) -> Moment | None:
    """Behind what is earlier."""
    at = _time(text, "--since")
    return None if at is None else Moment(time=at - timedelta(microseconds=1))


def _time(text: str | None, option: str) -> datetime | None:
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise PipelineError(f"{option} {text!r} is no ISO time", "for example 2026-11-01T03:00:00") from error
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def answered(name: str, frame: Any, asked: Asked, limit: int) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
    """The columns and the rows of a question whose query Spark has planned."""
    one = question(name)
    if one.told is None:
        return tuple(frame.columns), [row.asDict() for row in frame.limit(limit).collect()]
    return one.columns, one.told(frame.collect(), asked, round(time.time() * 1000))[:limit]


def as_json(rows: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(rows, default=_plain, indent=1)


def as_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """With its header, also when there is no row."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(json.dumps(it) if isinstance(it, list) else _plain(it) for it in row.values())
    return out.getvalue().rstrip("\n")


def _plain(value: Any) -> Any:
    return value.isoformat(timespec="milliseconds") if isinstance(value, datetime) else value
