"""`kraft-pipeline archive`, and `kraft-archive` where nothing else of the pipeline is installed: follow a quorum and
keep its log and snapshots. `kraft-archive fetch` (`fetch_command`) makes a directory of what an object store has.

Exit status: 0 ended by SIGTERM or SIGINT, 2 the command is wrong. Whatever happens to the quorum or the disk is told on
standard error and on the pages, and tried again.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from metadata_pipeline.archive import fetch_command
from metadata_pipeline.archive.following import Follower, Settings
from metadata_pipeline.archive.keeping import SEGMENT_BYTES
from metadata_pipeline.archive.page import served
from metadata_pipeline.archive.shipping import StoreSettings
from metadata_pipeline.wire.fleet import Quorum


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="kraft-archive",
        description="Follow a living quorum and keep its metadata log and snapshots as Apache Kafka's own files.",
    )
    made.add_argument("directory", metavar="DIRECTORY", help="where the archive is; it holds all of the log's secrets")
    made.add_argument("--bootstrap-controller", required=True, metavar="HOST:PORT,...", help="the quorum")
    made.add_argument("--command-config", metavar="FILE", help="Kafka's client properties for it: TLS, SASL")
    made.add_argument("--cluster-id", metavar="ID", help="its cluster id (without: DescribeCluster is asked)")
    made.add_argument(
        "--begin", default="", metavar="WORD", help="another word sets what is there aside and begins a new archive"
    )
    made.add_argument("--keep-hours", type=_positive, metavar="HOURS", help="restore so far back (for ever)")
    made.add_argument("--poll-seconds", type=_positive, default=1.0, metavar="SECONDS", help="between looks (1)")
    made.add_argument(
        "--verify-seconds", type=_positive, default=600.0, metavar="SECONDS", help="between whole readings (600)"
    )
    made.add_argument(
        "--snapshot-seconds", type=_positive, default=3600.0, metavar="SECONDS",
        help="between questions for a newer snapshot (3600)",
    )  # fmt: skip
    made.add_argument("--segment-bytes", type=_count, default=SEGMENT_BYTES, metavar="BYTES", help="of a .log file")
    made.add_argument("--rate-limit", type=_count, metavar="BYTES", help="read so much a second of the quorum")
    made.add_argument("--store", metavar="URL", help="keep a copy there, too: s3://bucket/prefix")
    made.add_argument("--store-keys", metavar="DIRECTORY", help="encrypt it: files with 32 bytes in Base64, see docs")
    made.add_argument(
        "--store-credentials", metavar="DIRECTORY", help="files AWS_ACCESS_KEY_ID and so on, not the environment"
    )
    made.add_argument(
        "--store-seconds", type=_positive, default=30.0, metavar="SECONDS", help="a record waits so long (30)"
    )
    made.add_argument("--store-bytes", type=_count, default=8 << 20, metavar="BYTES", help="of a piece, at most")
    made.add_argument("--listen", type=_address, metavar="HOST:PORT", help="serve /status, /metrics, /livez, /readyz")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["fetch"]:
        return fetch_command.main(given[1:])
    options = parser().parse_args(given)
    os.umask(0o077)
    keep = options.keep_hours * 3600 if options.keep_hours is not None else None
    bootstrap = options.bootstrap_controller
    store = None
    if options.store is not None:
        keys = Path(options.store_keys) if options.store_keys is not None else None
        credentials = Path(options.store_credentials) if options.store_credentials is not None else None
        store = StoreSettings(
            options.store, keys, credentials, piece_seconds=options.store_seconds, piece_bytes=options.store_bytes,
            verify_seconds=options.verify_seconds, keep_seconds=keep,
        )  # fmt: skip
    settings = Settings(
        Path(options.directory),
        Quorum(bootstrap, bootstrap, options.cluster_id, options.command_config),
        begin=options.begin,
        keep_seconds=keep,
        poll_seconds=options.poll_seconds,
        verify_seconds=options.verify_seconds,
        snapshot_seconds=options.snapshot_seconds,
        segment_bytes=options.segment_bytes,
        bytes_per_second=options.rate_limit,
        store=store,
    )
    try:
        return asyncio.run(_run(Follower(settings, _log), options.listen))
    except OSError as error:
        print(f"kraft-archive: {error}\n  next: give --listen an address that is free", file=sys.stderr)
        return 2


async def _run(follower: Follower, listen: tuple[str, int] | None) -> int:
    stop = asyncio.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, stop.set)
    if listen is None:
        await follower.run(stop)
        return 0
    with served(*listen, follower.now) as port:
        _log(f"pages on {listen[0]}:{port}")
        await follower.run(stop)
    return 0


def _log(line: str) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    print(f"{now} archive: {line}", file=sys.stderr, flush=True)


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < 1e9:
        raise ValueError(text)
    return number


def _count(text: str) -> int:
    number = int(text)
    if number <= 0:
        raise ValueError(text)
    return number


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


if __name__ == "__main__":
    sys.exit(main())
