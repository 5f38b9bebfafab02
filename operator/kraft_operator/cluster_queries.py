"""Asking for what is registered, which versions nodes support, and what moves: the questions beside the quorum itself.

A node that does not answer is absent from the answer, and a question that nobody answered is None: the planner takes
neither for a yes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine, Mapping
from typing import Any, Final, TypeVar

from controller_runtime.admin.client import AdminClient, AdminError, ApiError
from controller_runtime.admin.results import (
    ClusterDescription,
    ConfigResource,
    FeaturesDescription,
    FeatureUpdate,
    TopicDescription,
)
from controller_runtime.identifiers import Endpoint
from kraft_operator.observed import Levels, Placement, Registry

T = TypeVar("T")
PROBE_SECONDS: Final = 2.5
CORDONED: Final = "cordoned.log.dirs"
LOG_DIRS: Final = "log.dirs"
BROKER: Final = 4
"""DescribeConfigs' number for the configuration of one broker."""
TOPICS_SHOWN: Final = 5
TOPICS_SECONDS: Final = 45.0
"""For the placement of every partition: that of 100,000 took 4 to 8 s on two cores at a load of 8."""


async def registry(
    controllers: AdminClient,
    nodes: Mapping[int, Endpoint],
    trials: Collection[tuple[str, int]],
) -> Registry:
    """`nodes` are all that run, when their versions matter; `trials` are levels that the active controller is asked
    about.
    """
    listed = await answered(controllers.describe_cluster())
    one = await answered(controllers.describe_features())
    levels = await asyncio.gather(*(answered(controllers.describe_features(each)) for each in nodes.values()))
    said = {trial: await _tried(controllers, *trial) for trial in trials}
    return Registry(
        controllers=_ids(listed),
        apis=frozenset(one.api_versions) if one is not None else None,
        finalized=dict(one.finalized) if one is not None else None,
        supported={node_id: _levels(found) for node_id, found in zip(nodes, levels, strict=True) if found is not None},
        granted={trial: answer for trial, answer in said.items() if answer is not None},
    )


async def _tried(controllers: AdminClient, feature: str, level: int) -> str | None:
    try:
        async with asyncio.timeout(PROBE_SECONDS + 0.5):
            await controllers.update_features([FeatureUpdate(feature, level)], validate_only=True)
    except ApiError as error:
        return str(error)
    except (AdminError, OSError, TimeoutError):
        return None
    return ""


async def moving(controllers: AdminClient) -> frozenset[tuple[str, int]] | None:
    found = await answered(controllers.list_partition_reassignments())
    return None if found is None else frozenset((each.topic, each.partition) for each in found)


async def cordoned(leaving: Mapping[int, AdminClient]) -> dict[int, bool | None]:
    """Each has to be asked itself. One that still has a directory for new replicas is not cordoned."""
    asked = {node_id: ConfigResource(BROKER, str(node_id)) for node_id in leaving}
    answers = await asyncio.gather(
        *(
            answered(admin.describe_configs([asked[node_id]], [CORDONED, LOG_DIRS]))
            for node_id, admin in leaving.items()
        )
    )
    found: dict[int, bool | None] = {}
    for node_id, answer in zip(leaving, answers, strict=True):
        entries = (answer or {}).get(asked[node_id])
        if entries is not None and not isinstance(entries, ApiError):
            found[node_id] = _is_cordoned({each.name: each.value or "" for each in entries})
    return found


def _is_cordoned(told: Mapping[str, str]) -> bool | None:
    if CORDONED not in told:
        return None
    closed, own = (
        [each.strip() for each in told.get(key, "").split(",") if each.strip()] for key in (CORDONED, LOG_DIRS)
    )
    return closed == ["*"] or (bool(own) and set(own) <= set(closed))


def placements(topics: Mapping[str, TopicDescription | ApiError]) -> tuple[Placement, ...] | None:
    """None when a topic could not be read whole."""
    found = []
    for name in sorted(topics):
        topic = topics[name]
        if isinstance(topic, ApiError):
            return None
        found += [
            Placement(name, each.index, tuple(each.replicas), tuple(each.isr), each.leader) for each in topic.partitions
        ]
    return tuple(found)


def held(topics: Mapping[str, TopicDescription | ApiError]) -> dict[int, tuple[str, ...]] | None:
    """Per broker a few topics it holds; None when a topic could not be read whole, because that one might
    be the one.
    """
    found: dict[int, list[str]] = {}
    for name in sorted(topics):
        topic = topics[name]
        if isinstance(topic, ApiError):
            return None
        for broker in sorted({each for partition in topic.partitions for each in partition.replicas}):
            told = found.setdefault(broker, [])
            if len(told) < TOPICS_SHOWN:
                told.append(name)
    return {broker: tuple(names) for broker, names in found.items()}


def at_risk(topics: Mapping[str, TopicDescription | ApiError]) -> dict[int, tuple[str, ...]] | None:
    """Per broker a few replicated partitions whose other replicas are not all in sync; None when a topic could not be
    read.
    """
    found: dict[int, list[str]] = {}
    for name in sorted(topics):
        topic = topics[name]
        if isinstance(topic, ApiError):
            return None
        for partition in topic.partitions:
            if len(partition.replicas) < 2:
                continue  # nothing keeps it available while its broker restarts
            for broker in partition.isr:
                others = set(partition.replicas) - {broker}
                held = found.setdefault(broker, [])
                if not others <= set(partition.isr) and len(held) < TOPICS_SHOWN:
                    held.append(f"{name}-{partition.index}")
    return {broker: tuple(names) for broker, names in found.items() if names}


async def answered(question: Coroutine[Any, Any, T], seconds: float = PROBE_SECONDS) -> T | None:
    """The answer, or None for whatever kept it from coming."""
    try:
        async with asyncio.timeout(seconds + 0.5):
            return await question
    except (ApiError, AdminError, OSError, TimeoutError):
        return None


def _ids(found: ClusterDescription | None) -> frozenset[int] | None:
    return frozenset(int(each.node_id) for each in found.nodes) if found is not None else None


def _levels(found: FeaturesDescription) -> Levels:
    return dict(found.supported)
