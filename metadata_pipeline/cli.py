"""`kraft-pipeline`: the jobs on a command line.

    kraft-pipeline run    /var/lib/kafka/metadata --output lake      (these four, in one session)
    kraft-pipeline ingest /var/lib/kafka/metadata --output lake
    kraft-pipeline tables --output lake
    kraft-pipeline audit  --output lake           (exit status 1 when something is wrong)
    kraft-pipeline report --output lake --page report.html

Results go to standard output, the bar and Spark's words to standard error. Exit status: 0 done, 1 the audit found
errors, 2 the command or its input is wrong; then the last line says what to do next.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from metadata_pipeline.allocator import keep_freed_memory
from metadata_pipeline.ask import command
from metadata_pipeline.ask.command import add_arguments as add_question
from metadata_pipeline.problems import PipelineError
from metadata_pipeline.rendering import render_rows
from metadata_pipeline.session import SUBMITTED, named_settings
from metadata_pipeline.sources_named import add_sources, quorums_of

if TYPE_CHECKING:
    from metadata_pipeline.audit.job import Audited
    from metadata_pipeline.jobs.ingest import Ingested
    from metadata_pipeline.lake.state import LakeState
    from metadata_pipeline.report.job import Reported
    from metadata_pipeline.tables.build import Built

DEFAULT_LAKE: Final = "kraft-lake"
NO_SPARK: Final = "none"


def main(argv: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["dump"]:
        from metadata_pipeline.dump import main as dump

        return int(dump(given[1:]))
    if given[:1] == ["archive"]:
        from metadata_pipeline.archive.command import main as archive

        return archive(given[1:])
    options = parser().parse_args(given)
    keep_freed_memory()
    try:
        run: Callable[[argparse.Namespace], int] = options.run
        if "://" not in options.output:
            return run(options)
        return _in_store(run, options)
    except PipelineError as error:
        print(f"kraft-pipeline {options.job}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"kraft-pipeline {options.job}: interrupted; the lake is as it was before", file=sys.stderr)
    return 130


def _in_store(run: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    """The lake is in an object store: the job works on a copy here (`store.mirror`)."""
    from metadata_pipeline.store.mirror import mirrored

    if not str(getattr(options, "master", None) or "local").startswith(("local", NO_SPARK)):
        raise PipelineError(
            f"a lake in {options.output} is worked on by one machine", "leave --master out, or give a shared directory"
        )
    with mirrored(options.output) as home:
        options.output = str(home)
        return run(options)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="kraft-pipeline", description="A fleet's KRaft metadata logs as tables, audits and a report."
    )
    jobs = top.add_subparsers(dest="job", required=True, metavar="job")
    one = _job(jobs, "run", _run, "ingest, tables, audit and report in one session")
    add_sources(one)
    _add_page(one)
    one.add_argument("--summary", metavar="FILE", help="one line of JSON about the audit; what it finds is no failure")
    one = _job(jobs, "ingest", _ingest, "read what is new in metadata logs into a lake")
    add_sources(one)
    one = _job(jobs, "tables", _tables, "make the history tables from the committed records")
    one.add_argument("--only", metavar="TABLE,...", help="these tables alone, whole")
    one.add_argument("--anew", action="store_true", help="whole, not only what is new")
    one = _job(jobs, "audit", _audit, "compare the copies of each log and check what the history promises")
    one.add_argument("--json", action="store_true", help="findings as JSON lines")
    one.add_argument("--anew", action="store_true", help="look at everything, not only at what is new")
    one = _job(jobs, "report", _report, "write the report, one HTML page, and its numbers as JSON")
    _add_page(one)
    one = _job(jobs, "diff", _diff, "what differs between two points in time, or between two clusters")
    one.add_argument(
        "before", metavar="CLUSTER[@POINT]", help="POINT is an offset or an ISO time (UTC); without it: now"
    )
    one.add_argument("after", metavar="CLUSTER[@POINT]")
    one = _job(jobs, "as-of", _as_of, "print a table as it was")
    one.add_argument("table")
    one.add_argument("point", metavar="CLUSTER[@POINT]")
    one = _job(jobs, "sql", _sql, "ask the tables (views: committed, batches, and every table)")
    one.add_argument("query")
    one.add_argument("--limit", type=int, default=100, help="rows to print (100)")
    one = _job(jobs, "ask", _ask, "answer a question that has a name; without one: list them")
    add_question(one)
    one = _job(jobs, "publish", _publish, "write the tables as Apache Iceberg tables", spark=False)
    one.add_argument("--catalog", required=True, metavar="ADDRESS", help="an SQL catalog: sqlite:////srv/catalog.db")
    one.add_argument("--warehouse", required=True, metavar="DIRECTORY", help="where the tables' files go")
    one.add_argument("--namespace", default="quorate", help="of the tables (quorate)")
    one = _job(jobs, "vacuum", _vacuum, "remove files that no commit names", spark=False)
    one.add_argument("--older-than", type=float, default=24.0, metavar="HOURS", help="only files older than this (24)")
    one.add_argument("--dry-run", action="store_true")
    for name, purpose in (
        ("archive", "follow a living quorum and keep its log and snapshots; needs no Spark"),
        ("dump", "print one log or snapshot, or write it as Parquet; needs no Spark and no Java"),
    ):
        jobs.add_parser(name, help=purpose, add_help=False)
    return top


def _add_page(one: argparse.ArgumentParser) -> None:
    one.add_argument("--page", metavar="FILE", help="where the report goes (LAKE/report.html)")
    one.add_argument("--title", default="KRaft metadata report")


def _job(
    jobs: Any, name: str, run: Callable[[argparse.Namespace], int], purpose: str, *, spark: bool = True
) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = jobs.add_parser(name, help=purpose, description=purpose)
    made.add_argument("--output", default=DEFAULT_LAKE, metavar="LAKE", help=f"the lake's directory ({DEFAULT_LAKE})")
    if spark:
        also = f"; {NO_SPARK}: in this process" if name == "ingest" else ""
        made.add_argument(
            "--master", metavar="URL", help=f"local[*], k8s://..., spark://..., or sc://... for Spark Connect{also}"
        )
        made.add_argument(
            "--conf", action="append", default=[], metavar="NAME=VALUE", help="a setting of Spark; may be repeated"
        )
    made.set_defaults(run=run)
    return made


class _Sessions:
    """The session of a job, opened when it is asked for, stopped when the job ends."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._master: str | None = options.master
        self._conf = named_settings(options.conf)
        self._spark: Any = None
        self.is_wanted = options.master is not None or SUBMITTED in os.environ
        """Whether the user named where Spark is to run: then it does."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._spark is not None:
            from metadata_pipeline.session import close_session

            close_session(self._spark)

    def open(self, *, small: bool = False, brief: bool = False) -> Any:
        from metadata_pipeline.session import open_session

        self._spark = open_session(self._master, self._conf, small=small, brief=brief)
        return self._spark


@contextmanager
def _session(options: argparse.Namespace, little: Callable[[LakeState], bool] | None = None) -> Any:
    """A session made for what the lake holds, or for how much of it there is to look at (`little`); a lake that holds
    nothing is told before Spark is started.
    """
    from metadata_pipeline.jobs.ingest import lake_state
    from metadata_pipeline.tables.views import is_small

    with _Sessions(options) as sessions:
        state = lake_state(options.output)
        if not state.of("records"):
            raise PipelineError(
                f"{options.output} holds nothing yet", f"kraft-pipeline ingest PATH --output {options.output}"
            )
        yield sessions.open(small=(little or is_small)(state))


def _ingest(options: argparse.Namespace) -> int:
    from metadata_pipeline.jobs.ingest import ingest

    quorums = quorums_of(options)
    with _Sessions(options) as sessions:
        if options.master == NO_SPARK:
            spark = None
        else:
            spark = sessions.open() if sessions.is_wanted else sessions.open
        done = ingest(options.paths, options.output, spark, quorums=quorums, bytes_per_second=options.rate_limit)
    return _tell_ingested(options, done)


def _run(options: argparse.Namespace) -> int:
    from metadata_pipeline.audit.summary import write_summary
    from metadata_pipeline.jobs.ingest import lake_state
    from metadata_pipeline.jobs.run import run
    from metadata_pipeline.jobs.size import size_of_fleet

    quorums = quorums_of(options)
    with _Sessions(options) as sessions:
        size = size_of_fleet(options.paths, lake_state(options.output))
        done = run(
            options.paths, options.output, lambda: sessions.open(small=size.small, brief=size.brief), options.page,
            options.title, quorums=quorums, bytes_per_second=options.rate_limit,
        )  # fmt: skip
    _tell_ingested(options, done.ingested)
    _tell_built(done.built)
    status = _tell_audited(done.audited, as_json=False)
    _tell_reported(done.reported)
    if options.summary:
        status = write_summary(options.summary, done.audited.findings, done.built.committed)
    print("seconds: " + ", ".join(f"{step} {took:.1f}" for step, took in done.seconds.items()), file=sys.stderr)
    return status


def _tell_ingested(options: argparse.Namespace, done: Ingested) -> int:
    for trouble in done.troubles:
        print(f"{trouble.path}: {trouble.fault} at {trouble.position}: {trouble.detail}", file=sys.stderr)
    for cut in done.truncations:
        print(f"{cut.copy}: truncated from offset {cut.offset} on", file=sys.stderr)
    if done.commit is None:
        named = [*options.paths, options.fleet, options.bootstrap_controller]
        print(f"nothing new in {', '.join(it for it in named if it)}")
    else:
        print(
            f"commit {done.commit} of {options.output}: {done.rows['records']} records in {done.rows['batches']} "
            f"batches from {done.files_read} files, {done.bytes_read / 1e6:.1f} MB, {done.seconds:.1f} s"
        )
    return 0


def _tables(options: argparse.Namespace) -> int:
    from metadata_pipeline.tables.build import build_tables, is_little_work

    only = options.only.split(",") if options.only else None
    with _session(options, None if only or options.anew else is_little_work) as spark:
        done = build_tables(options.output, spark, only, anew=options.anew)
    return _tell_built(done)


def _tell_built(done: Built) -> int:
    for cluster, end in done.committed.items():
        print(f"{cluster}: committed up to offset {end}")
    for name, rows in sorted(done.rows.items()):
        print(f"{rows:>9} {name}")
    if done.provisional or done.retracted:
        print(f"provisional: {done.provisional} ranges open, {done.retracted} retracted (table provisional)")
    return 0


def _audit(options: argparse.Namespace) -> int:
    from metadata_pipeline.audit.job import audit, is_little_work

    with _session(options, None if options.anew else is_little_work) as spark:
        done = audit(options.output, spark, anew=options.anew)
    return _tell_audited(done, as_json=options.json)


def _tell_audited(done: Audited, *, as_json: bool) -> int:
    for it in done.findings:
        if as_json:
            print(json.dumps({**asdict(it), "severity": it.severity}))
        else:
            where = ", ".join(
                f"{name} {value}"
                for name, value in (
                    ("node", it.node),
                    ("file", it.file),
                    ("position", it.position),
                    ("offset", it.offset),
                )
                if value is not None
            )
            print(f"{it.severity:<8} {it.kind:<16} {it.cluster} {where}: {it.detail}")
    print(f"{len(done.findings)} findings, {done.errors} of them errors", file=sys.stderr)
    return 1 if done.errors else 0


def _report(options: argparse.Namespace) -> int:
    from metadata_pipeline.report.job import is_little_work, report

    with _session(options, is_little_work) as spark:
        return _tell_reported(report(options.output, spark, options.page, options.title))


def _tell_reported(done: Reported) -> int:
    print(f"{done.page}: {done.clusters} clusters, {done.findings} findings; the numbers are in {done.numbers}")
    return 0


def _diff(options: argparse.Namespace) -> int:
    from metadata_pipeline.diff import Point, diff
    from metadata_pipeline.points import parse_point, point_at

    before, after = (Point(*parse_point(text)) for text in (options.before, options.after))
    with _session(options) as spark:
        found = diff(options.output, spark, *(point_at(spark, options.output, point) for point in (before, after)))
    for it in found:
        print(it)
    print(f"{before} -> {after}: {len(found)} differences", file=sys.stderr)
    return 0


def _as_of(options: argparse.Namespace) -> int:
    from metadata_pipeline.diff import Point
    from metadata_pipeline.points import parse_point, point_at
    from metadata_pipeline.tables.as_of import as_of

    asked = Point(*parse_point(options.point))
    with _session(options) as spark:
        point = point_at(spark, options.output, asked)
        for row in as_of(spark, options.output, options.table, cluster=point.cluster, offset=point.offset).collect():
            print(json.dumps(row.asDict(), default=str))
    return 0


def _sql(options: argparse.Namespace) -> int:
    from metadata_pipeline.tables.as_of import open_views

    with _session(options) as spark:
        open_views(spark, options.output)
        try:
            rows = spark.sql(options.query).limit(options.limit).collect()
        except Exception as error:
            why = (str(error).splitlines() or [""])[0]
            raise PipelineError(f"the query fails: {why}", "see docs/pipeline.md for tables and columns") from error
        print(render_rows(rows))
    return 0


def _ask(options: argparse.Namespace) -> int:
    from metadata_pipeline.jobs.ingest import lake_state
    from metadata_pipeline.points import placed
    from metadata_pipeline.tables.as_of import open_views

    if options.question is None:
        print(command.listed())
        return 0
    state = lake_state(options.output)
    asked = command.asked_by(options, state)
    command.query_of(options, state, asked)
    with _session(options) as spark:
        open_views(spark, options.output)
        offsets = placed(spark, options.output, asked.times, asked.clusters)
        asked = asked.placed(offsets)
        query = command.query_of(options, state, asked)
        columns, rows = command.answered(options.question, spark.sql(query), asked, options.limit)
    match options.format:
        case "json":
            print(command.as_json(rows))
        case "csv":
            print(command.as_csv(rows, columns))
        case _:
            print(render_rows(rows))
    return 0


def _publish(options: argparse.Namespace) -> int:
    from metadata_pipeline.publish.iceberg import run

    return run(options)


def _vacuum(options: argparse.Namespace) -> int:
    from metadata_pipeline.lake.commits import is_lake
    from metadata_pipeline.lake.vacuum import vacuum

    if not is_lake(Path(options.output)):
        raise PipelineError(f"{options.output} is no lake", "name the lake's directory with --output")
    done = vacuum(Path(options.output), options.older_than * 3600, dry_run=options.dry_run)
    word = "would remove" if options.dry_run else "removed"
    print(f"{word} {len(done.removed)} files, {done.size / 1e6:.1f} MB; {done.kept_young} younger orphans stay")
    return 0


if __name__ == "__main__":
    sys.exit(main())
