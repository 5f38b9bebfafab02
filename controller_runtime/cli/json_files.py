"""The JSON files that tools are given: partitions by topic, read with Kafka's complaints."""

from __future__ import annotations

import json
from typing import Any

from controller_runtime.cli.admin_tools import Failed


def read_text(path: str) -> str:
    """Raises Failed."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Failed(f"Unable to read file {path}") from error


def read_object(path: str, otherwise: str) -> dict[str, Any]:
    """Raises Failed: with `otherwise` when it is no JSON."""
    try:
        found = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise Failed(otherwise) from error
    if not isinstance(found, dict):
        raise Failed(f"Expected JSON object, received {json.dumps(found)[:100]}")
    return found


def version_of(found: dict[str, Any]) -> None:
    """Raises Failed unless it is 1, or not there."""
    version = found.get("version", 1)
    if version != 1:
        raise Failed(f"Not supported version field value {version}")


def array(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise Failed(f"Expected JSON array, received {json.dumps(value)[:100]}")
    return value


def text(one: Any, name: str) -> str:
    return str(_of_type(one, name, str))


def number(one: Any, name: str) -> int:
    return int(_of_type(one, name, int))


def _of_type(one: Any, name: str, kind: type[Any]) -> Any:
    if not isinstance(one, dict):
        raise Failed(f"Expected JSON object, received {json.dumps(one)[:100]}")
    if name not in one:
        raise Failed(f"No such field exists: `{name}`")
    value = one[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        words = {str: "String", int: "Integer"}[kind]
        raise Failed(f"Expected `{words}` value, received {json.dumps(value)[:100]}")
    return value
