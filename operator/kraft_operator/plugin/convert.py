"""`kubectl kraft convert strimzi FILE...`: a KRaftCluster on standard output, what was left out among its comments.

It reads files only and asks no API server. The result is one that this operator understands, or there is none.
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
from kraft_operator.plugin.strimzi import Converted, NotConvertible, convert, told

COMMAND = "convert"


def register(commands: Any) -> None:
    asked = commands.add_parser(COMMAND, help="another operator's resources as a KRaftCluster; says what it left out")
    asked.add_argument("operator", choices=["strimzi"], help="whose resources these are")
    asked.add_argument("files", nargs="+", type=Path, metavar="FILE", help="YAML: a Kafka and its KafkaNodePools")


def run(given: argparse.Namespace, tell: Callable[[str], None]) -> int:
    try:
        made = convert(read(given.files))
        understood(made)
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
    tell(text(made))
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


def understood(made: Converted) -> None:
    """Raises InvalidSpec for what this operator would refuse."""
    meta = {"namespace": "default", "uid": "", **made.resource["metadata"]}
    parse_cluster({**made.resource, "metadata": meta})


def text(made: Converted) -> str:
    comments = "".join(f"# {line}\n" for line in told(made))
    body = yaml.safe_dump(made.resource, sort_keys=False, width=120)
    return f"# Made from resources of Strimzi; a new cluster, with names and ids of its own.\n{comments}{body}".rstrip()
