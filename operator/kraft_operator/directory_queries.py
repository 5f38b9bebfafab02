"""Asking brokers about their log directories, and having them move replicas from one to another (KIP-113).

Each broker is asked itself. One that does not answer is absent from the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from controller_runtime.admin.client import AdminClient, ApiError
from controller_runtime.admin.results import ConfigResource, LogDirDescription
from controller_runtime.identifiers import NodeId
from controller_runtime.protocol.errors import ErrorCode
from kraft_operator.cluster_queries import BROKER, CORDONED, answered
from kraft_operator.directories import Directories, Directory


async def directories(brokers: Mapping[int, AdminClient]) -> dict[int, Directories]:
    answers = await asyncio.gather(*(_of(node_id, admin) for node_id, admin in brokers.items()))
    return {node_id: found for node_id, found in zip(brokers, answers, strict=True) if found is not None}


async def relocate(admin: AdminClient, node_id: int, replicas: Mapping[tuple[str, int], str]) -> None:
    """Raises ApiError. A replica that has left the broker meanwhile is none that has to be moved."""
    for error in (await admin.alter_replica_log_dirs(NodeId(node_id), replicas)).values():
        if error is not None and error.code is not ErrorCode.REPLICA_NOT_AVAILABLE:
            raise error


async def _of(node_id: int, admin: AdminClient) -> Directories | None:
    resource = ConfigResource(BROKER, str(node_id))
    described, configs = await asyncio.gather(
        answered(admin.describe_log_dirs(NodeId(node_id))), answered(admin.describe_configs([resource], [CORDONED]))
    )
    entries = (configs or {}).get(resource)
    if described is None or entries is None or isinstance(entries, ApiError):
        return None
    told = {each.name: each.value or "" for each in entries}
    listed = tuple(each.strip() for each in told.get(CORDONED, "").split(",") if each.strip())
    return Directories(tuple(map(_directory, described)), listed if CORDONED in told else None)


def _directory(found: LogDirDescription) -> Directory:
    return Directory(
        found.path,
        {key: each.size_bytes for key, each in found.replicas.items() if not each.is_future},
        {key: each.size_bytes for key, each in found.replicas.items() if each.is_future},
        found.usable_bytes,
        str(found.error) if found.error is not None else "",
    )
