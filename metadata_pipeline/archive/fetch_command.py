"""`kraft-archive fetch URL DIRECTORY`, also `kraft-pipeline archive fetch`: an archive's directory made of its copy in
an object store, to recover from, to form a cluster from, or to audit.

Exit status: 0 it is there, 1 the store does not have it whole or cannot be asked, 2 the command is wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from metadata_pipeline.archive.fetching import BESIDE, fetch
from metadata_pipeline.archive.manifest import History, Manifest
from metadata_pipeline.archive.problems import STORE_REMEDIES, StoreProblem
from metadata_pipeline.archive.shipping import StoreSettings, open_objects


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="kraft-archive fetch", description="Make an archive's directory of its copy in an object store."
    )
    made.add_argument("url", metavar="URL", help="s3://bucket/prefix")
    made.add_argument("directory", nargs="?", metavar="DIRECTORY", help="empty or new; without: say what is there")
    made.add_argument("--store-keys", metavar="DIRECTORY", help="the keys that it was encrypted with")
    made.add_argument(
        "--store-credentials", metavar="DIRECTORY", help="files AWS_ACCESS_KEY_ID and so on, not the environment"
    )
    made.add_argument("--aside", type=int, metavar="N", help="not the log that goes on, but the Nth that is aside")
    return made


def main(argv: Sequence[str]) -> int:
    options = parser().parse_args(argv)
    os.umask(0o077)
    keys = Path(options.store_keys) if options.store_keys is not None else None
    credentials = Path(options.store_credentials) if options.store_credentials is not None else None
    try:
        objects = open_objects(StoreSettings(options.url, keys, credentials))
        found = objects.manifest()
        if found is None:
            objects.nothing_is_unnamed()
            return _failed(f"{options.url} has no archive", "name the address that --store had")
        if options.aside is not None and not 1 <= options.aside <= len(found.asides):
            return _failed(
                f"{options.aside} is none of the {len(found.asides)} that are aside", "see without DIRECTORY"
            )
        if options.directory is None:
            print("\n".join(_lines(found)))
            return 0
        home = Path(options.directory)
        if home.exists() and [each.name for each in home.iterdir() if each.name not in (BESIDE, "lost+found")]:
            return _failed(f"{home} is not empty", "name an empty directory")
        history = found.now if options.aside is None else found.asides[options.aside - 1]
        brought = fetch(home, objects, found, history)
    except StoreProblem as problem:
        return _failed(f"{problem.standing.value}: {problem.why}", STORE_REMEDIES.get(problem.standing, ""), 1)
    except OSError as error:
        return _failed(str(error), "give it space and rights", 1)
    print(
        f"{home}: offsets {brought.start} to {brought.mark.end} of cluster {found.cluster_id}, digest {brought.digest}"
    )
    return 0


def _lines(found: Manifest) -> list[str]:
    sealed = sorted({each.key or "none" for each in found.objects})
    head = f"cluster {found.cluster_id}, {found.size_bytes} bytes in {len(found.objects)} objects, keys: "
    lines = [head + (", ".join(sealed) or "none"), f"log      {_told(found.now)}"]
    return [*lines, *(f"aside {number}  {_told(each)}" for number, each in enumerate(found.asides, 1))]


def _told(history: History) -> str:
    snapshots = ", ".join(str(each.mark.end) for each in history.snapshots) or "none"
    begun = f", beginning {history.begun}" if history.begun else ""
    return (
        f"offsets {history.start} to {history.mark.end} of epoch {history.mark.epoch}, snapshots at {snapshots}{begun}"
    )


def _failed(what: str, remedy: str, status: int = 2) -> int:
    print(f"kraft-archive fetch: {what}\n  next: {remedy}", file=sys.stderr)
    return status
