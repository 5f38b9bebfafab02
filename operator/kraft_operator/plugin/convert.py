"""`kubectl kraft convert strimzi FILE...`: a KRaftCluster on standard output, what was left out among its comments.

It reads files only and asks no API server. The result is one that this operator understands, or there is none. With
`--take-over NAME` it is the cluster that runs, under this name, with its ids and a claim of ours for each volume.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from kraft_operator.api.parse import parse_cluster
from kraft_operator.api.reader import InvalidSpec
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.plugin.strimzi import Converted, convert, told
from kraft_operator.plugin.strimzi_claims import claims, left_to_do
from kraft_operator.plugin.strimzi_parts import NotConvertible
from kraft_operator.plugin.strimzi_running import Running

COMMAND = "convert"


def register(commands: Any) -> None:
    asked = commands.add_parser(COMMAND, help="another operator's resources as a KRaftCluster; says what it left out")
    asked.add_argument("operator", choices=["strimzi"], help="whose resources these are")
    asked.add_argument("files", nargs="+", type=Path, metavar="FILE", help="YAML: a Kafka and its KafkaNodePools")
    asked.add_argument(
        "--take-over", metavar="NAME", help="the running cluster goes on as this KRaftCluster; give its claims, too"
    )
    asked.add_argument("--directory-id", metavar="ID", help="of the first controller's disk, from meta.properties")


def run(given: argparse.Namespace, tell: Callable[[str], None]) -> int:
    try:
        documents = read(given.files)
        if given.directory_id is not None and given.take_over is None:
            raise NotConvertible("say --take-over NAME, too: the disks of a new cluster are new")
        made = convert(documents, given.take_over)
        cluster = understood(made)
        found = text(made) if made.running is None else _taken_over(made.running, made, cluster, documents, given)
    except (
        NotConvertible,
        InvalidSpec,
        OSError,
        yaml.YAMLError,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
    ) as why:
        what = why if isinstance(why, NotConvertible | InvalidSpec | OSError) else f"{type(why).__name__}: {why}"
        print(f"correct the files, nothing was converted: {what}", file=sys.stderr)
        return 1
    tell(found)
    return 0


def read(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Every document, and the items of lists."""
    found: list[dict[str, Any]] = []
    for path in files:
        for document in yaml.safe_load_all(path.read_text()):
            if document is None:
                continue
            if not isinstance(document, dict):
                raise NotConvertible(f"{path} holds something else than resources of Kubernetes")
            found += document.get("items") or [] if document.get("kind") == "List" else [document]
    return found


def understood(made: Converted) -> KRaftCluster:
    """Raises InvalidSpec for what this operator would refuse."""
    meta = {"namespace": "default", "uid": "", **made.resource["metadata"]}
    return parse_cluster({**made.resource, "metadata": meta})


def text(made: Converted) -> str:
    begin = "# Made from resources of Strimzi; a new cluster, with names and ids of its own.\n"
    return f"{begin}{_comments(made)}{_resource(made)}".rstrip()


def _taken_over(
    found: Running, made: Converted, cluster: KRaftCluster, documents: list[dict[str, Any]], given: argparse.Namespace
) -> str:
    asked = claims(found, cluster, documents, given.directory_id)
    begin = f"# Made from resources of Strimzi: {found.old} goes on as {found.name}, with its ids and its disks.\n"
    todo = "".join(f"# {line}\n" for line in left_to_do(found, cluster, asked, given.directory_id))
    own = "".join(f"{yaml.safe_dump(each, sort_keys=False, width=120)}---\n" for each in asked)
    return f"{begin}{todo}{_comments(made)}{own}{_resource(made)}".rstrip()


def _comments(made: Converted) -> str:
    return "".join(f"# {line}\n" for line in told(made))


def _resource(made: Converted) -> str:
    return yaml.safe_dump(made.resource, sort_keys=False, width=120)
