"""What only the metrics page of a node tells: read over HTTP, of nodes that have one."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from typing import Final

SECONDS: Final = 2.5
AT_ONCE: Final = 8
_SESSIONS: Final = re.compile(
    r'^kafka_server_socketservermetrics_connection_count\{[^}]*listener="([^"]+)"[^}]*\} ([0-9.eE+]+)', re.MULTILINE
)


def pages(urls: Mapping[int, str]) -> dict[int, str]:
    """Node id to its page, empty where none came. Blocks for `SECONDS` for each eight of them at the longest."""
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        return dict(zip(urls, pool.map(page, urls.values()), strict=True))


def ask_sessions(urls: Mapping[int, str], listeners: Collection[str]) -> dict[int, int]:
    """Node id to the connections on these listeners, of nodes that answer and tell."""
    found = {node_id: sessions(text, listeners) for node_id, text in pages(urls).items()}
    return {node_id: count for node_id, count in found.items() if count is not None}


def sessions(page: str, listeners: Collection[str]) -> int | None:
    found = [int(float(count)) for name, count in _SESSIONS.findall(page) if name in listeners]
    return sum(found) if found else None


def page(url: str) -> str:
    """Empty when none came."""
    try:
        with urllib.request.urlopen(url, timeout=SECONDS) as answer:  # noqa: S310  made of our own pods' names
            return str(answer.read(4 << 20).decode(errors="replace"))
    except (OSError, ValueError, HTTPException):
        return ""
