"""`python -m benchmarks [area ...]`: every measurement beside its peers in the same run, as a table of ratios and as
JSON.

    python -m benchmarks                         wire, logs, quorum and image
    python -m benchmarks logs                    a partition's log beside plain files (half a minute)
    python -m benchmarks quorum --pairs 5        the whole table, beside Apache Kafka and etcd (about 40 minutes)
    python -m benchmarks quorum --pairs 1 --only load kill --kinds quorate etcd
    python -m benchmarks soak --minutes 60       full load, and no election without a fault
    python -m benchmarks data --pairs 5          three brokers beside Apache Kafka's: records, groups, faults (an hour)
    python -m benchmarks hot                     where a leader's time goes under load: its profile
    python -m benchmarks hostile                 what one hostile request costs the others (--kinds, --only)
    python -m benchmarks encrypted               mutual TLS beside plaintext; a thousand connect at once
    python -m benchmarks secured                 starts with TLS and authorizer, logins by SCRAM, a renewed certificate
    python -m benchmarks pipeline                decoding, dump and ingest of metadata logs (its options: --help)
    python -m benchmarks operator                on the single-machine Kubernetes (root, Go)

Groups of the quorum: load, topics, append, start, kill, freeze, cut, memory, broker. Groups of data: produce, consume,
latency, memory, failover, groups, restart, many. Apache Kafka's part needs Java
and Maven; etcd's, and the load generator, Go.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from benchmarks.report import Row

ROOT: Final = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # the peers are started by the code that the tests use

AREAS: Final = (
    "wire", "logs", "quorum", "image", "data", "operator", "soak", "hot", "hostile", "pipeline", "encrypted",
    "secured",
)  # fmt: skip
BY_DEFAULT: Final = ("wire", "logs", "quorum", "image")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("areas", nargs="*", default=BY_DEFAULT, metavar="area", help=f"one of {', '.join(AREAS)}")
    parser.add_argument("--pairs", type=int, default=5, help="runs of each kind, interleaved (quorum, data, operator)")
    parser.add_argument("--seconds", type=float, default=5.0, help="seconds of load in each run")
    parser.add_argument("--faults", type=int, default=4, help="faults of each sort in each run")
    parser.add_argument("--only", nargs="+", default=(), metavar="group", help="groups of the rows of quorum or data")
    parser.add_argument("--kinds", nargs="+", default=None, metavar="kind", help="quorate, apache-kafka, etcd")
    parser.add_argument("--minutes", type=float, default=60.0, help="how long the soak lasts")
    parser.add_argument("--json", type=Path, default=ROOT / "benchmarks" / "results" / "latest.json")
    return parser


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _of_clusters(options: argparse.Namespace, so_far: Callable[[list[Row]], None]) -> list[Row]:
    """Of three nodes of each kind: quorums, and brokers."""
    rows: list[Row] = []
    if "quorum" in options.areas:
        from benchmarks import quorum
        from benchmarks.clusters import KINDS

        kinds = tuple(options.kinds or KINDS)
        asked = quorum.Options(options.pairs, options.seconds, options.faults, tuple(options.only), kinds)
        rows += quorum.run(say, asked, so_far)
    if "data" in options.areas:
        from benchmarks import data

        rows += data.run(say, data.Options(options.pairs, options.seconds, tuple(options.only)), so_far)
    return rows


def main(arguments: list[str] | None = None) -> int:
    from benchmarks.report import Figure, markdown, table, table_of_rows, write_json

    parser = _parser()
    options = parser.parse_args(arguments)
    if unknown := set(options.areas) - set(AREAS):
        parser.error(f"no such area: {', '.join(sorted(unknown))}")
    figures: list[Figure] = []
    rows: list[Row] = []
    if "wire" in options.areas:
        from benchmarks import wire

        say("wire: codecs and record batches beside kafka-python")
        figures += wire.measure()
    if "logs" in options.areas:
        from benchmarks import logs

        figures += logs.measure(say)
    rows += _of_clusters(options, lambda so_far: write_json([], options.json, so_far))
    if "hostile" in options.areas:
        from benchmarks import hostile

        rows += hostile.run(say, options.kinds or ("quorate",), options.only)
    for area in {"pipeline", "encrypted", "secured"} & set(options.areas):
        figures += import_module(f"benchmarks.{area}").measure(say)
    if "operator" in options.areas:
        from benchmarks import kubernetes, operator_many, operator_scale, operator_times

        figures += operator_scale.run(say)
        figures += kubernetes.run(say, rounds=options.pairs)
        figures += operator_times.run(say)
        figures += operator_many.run(say)
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(table(figures) if figures else "", table_of_rows(rows) if rows else "", sep="\n")
    if figures or rows:
        write_json(figures, options.json, rows, {"command": " ".join(sys.argv[1:])})
        print(f"written to {options.json}")
    if rows:
        options.json.with_suffix(".md").write_text(markdown(rows) + "\n")
    if "image" in options.areas:
        say("image: memory and replay time of 100,000 and a million partitions (no peer: figures of ours only)")
        subprocess.run([sys.executable, str(ROOT / "benchmarks" / "image.py")], check=True, cwd=ROOT)
    if "hot" in options.areas:
        from benchmarks import hot

        hot.run(say, options.seconds)
    if "soak" in options.areas:
        from benchmarks import soak

        return soak.run(say, options.minutes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
