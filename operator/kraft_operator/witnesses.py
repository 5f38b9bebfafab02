"""Asking every process that still runs what it knows of the metadata log, before a recovery stops any of them.

The high watermark is kept in memory, not on the disk. No Kafka request returns it where there is no leader, so the
metrics page is read where there is one (the bundled runtime's), and the epoch by the raft Fetch that every controller
answers. A node that does not answer proves nothing.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Final

from controller_runtime.admin.client import AdminClient, AdminError, ApiError
from controller_runtime.identifiers import Endpoint
from controller_runtime.security.listener_security import PLAINTEXT, ListenerSecurity
from kraft_operator.operations.verdict import Witness
from kraft_operator.pages import pages as texts_of

SECONDS: Final = 2.5
_SAMPLE: Final = re.compile(
    r"^kafka_server_raftmetrics_(high_watermark|current_epoch)(?:\{[^}]*\})? ([-+0-9.eE]+)", re.MULTILINE
)


def ask_witnesses(
    pages: Mapping[int, str], controllers: Mapping[int, Endpoint], security: ListenerSecurity = PLAINTEXT
) -> tuple[Witness, ...]:
    """`pages` are the metrics pages of the nodes that run. Blocks for `SECONDS` for each controller that is silent, and
    for each eight pages.
    """
    answered = {node_id: read(text) for node_id, text in texts_of(pages).items()}
    epochs = asyncio.run(_epochs(controllers, security))
    found = []
    for node_id in sorted({*pages, *controllers}):
        known, promised = answered.get(node_id, (0, 0))
        found.append(Witness(node_id, known, max(promised, epochs.get(node_id, 0))))
    return tuple(each for each in found if each.known or each.promised)


def read(page: str) -> tuple[int, int]:
    """High watermark and epoch of a metrics page; 0 for what it does not know."""
    values = {name: max(0, int(float(value))) for name, value in _SAMPLE.findall(page)}
    return values.get("high_watermark", 0), values.get("current_epoch", 0)


async def _epochs(controllers: Mapping[int, Endpoint], security: ListenerSecurity) -> dict[int, int]:
    if not controllers:
        return {}
    found: dict[int, int] = {}
    where = tuple(controllers.values())
    async with AdminClient(bootstrap_controllers=where, timeout_seconds=SECONDS, security=security) as admin:
        for node_id, endpoint in controllers.items():
            try:
                async with asyncio.timeout(SECONDS):
                    found[node_id] = int((await admin.raft_fetch_as_non_replica(endpoint)).epoch)
            except (AdminError, ApiError, OSError, TimeoutError):
                continue
    return found
