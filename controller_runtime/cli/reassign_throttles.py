"""How fast replicas may move: limits of brokers, and the replicas of topics to which they apply (KIP-73)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from controller_runtime.admin.client import AdminClient
from controller_runtime.admin.connections import EndpointKind
from controller_runtime.admin.results import ConfigChange, ConfigResource, Reassignment
from controller_runtime.cli import config_resources
from controller_runtime.cli.reassign_files import Proposal, Replica, TopicPartition
from controller_runtime.metadata.configs import TOPIC
from controller_runtime.protocol.api_errors import ApiError

_BROKER_RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
_DIRECTORY_RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
_TOPIC_REPLICAS: Final = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
_DELETE: Final = 1

Moves = dict[TopicPartition, tuple[set[int], set[int]]]
"""From which brokers to which."""


def moves(
    under_way: Iterable[Reassignment],
    proposed: Mapping[TopicPartition, Sequence[int]],
    current: Mapping[TopicPartition, Sequence[int]],
) -> Moves:
    found: Moves = {
        (one.topic, one.partition): (set(one.replicas) - set(one.adding), set(one.adding)) for one in under_way
    }
    for partition, replicas in proposed.items():
        sources = found[partition][0] if partition in found else set(current[partition])
        found[partition] = (sources, set(replicas) - sources)
    return found


def throttled_replicas(found: Moves) -> dict[str, tuple[str, str]]:
    """Of each topic: leaders and followers, `partition:broker` with commas between them."""
    leaders: dict[str, set[str]] = {}
    followers: dict[str, set[str]] = {}
    for (topic, index), (sources, destinations) in found.items():
        leaders.setdefault(topic, set()).update(f"{index}:{one}" for one in sources)
        followers.setdefault(topic, set()).update(f"{index}:{one}" for one in destinations)
    return {topic: (",".join(sorted(leaders[topic])), ",".join(sorted(followers[topic]))) for topic in leaders}


async def throttle_between_brokers(admin: AdminClient, found: Moves, bytes_per_second: int) -> None:
    """Raises ApiError."""
    changes = {
        ConfigResource(TOPIC, topic): [
            ConfigChange(name, value) for name, value in zip(_TOPIC_REPLICAS, texts, strict=True)
        ]
        for topic, texts in throttled_replicas(found).items()
    }
    await _alter(admin, changes)
    brokers = sorted({one for sources, destinations in found.values() for one in (*sources, *destinations)})
    await _alter_brokers(admin, brokers, dict.fromkeys(_BROKER_RATES, str(bytes_per_second)))
    print(f"The inter-broker throttle limit was set to {bytes_per_second} B/s")


async def throttle_directories(admin: AdminClient, moved: Iterable[Replica], bytes_per_second: int) -> None:
    """Raises ApiError."""
    brokers = sorted({broker for broker, _, _ in moved})
    await _alter_brokers(admin, brokers, {_DIRECTORY_RATE: str(bytes_per_second)})
    print(f"The replica-alter-dir throttle limit was set to {bytes_per_second} B/s")


async def clear(admin: AdminClient, proposal: Proposal) -> None:
    """All limits of all brokers, and those of the topics. Raises ApiError."""
    there = {int(one.node_id) for one in (await admin.describe_cluster()).nodes}
    brokers = sorted(there | {one for _, replicas in proposal.partitions for one in replicas})
    print(f"Clearing broker-level throttles on broker{_s(brokers)} {','.join(map(str, brokers))}")
    await _alter_brokers(admin, brokers, {}, (*_BROKER_RATES, _DIRECTORY_RATE))
    topics = proposal.topics
    print(f"Clearing topic-level throttles on topic{_s(topics)} {','.join(topics)}")
    gone = [ConfigChange(name, None, _DELETE) for name in _TOPIC_REPLICAS]
    await _alter(admin, {ConfigResource(TOPIC, one): gone for one in topics})


async def _alter_brokers(
    admin: AdminClient, brokers: Iterable[int], added: Mapping[str, str], deleted: Sequence[str] = ()
) -> None:
    """Each broker is asked itself. One that is not there keeps what it has."""
    there = {int(one.node_id) for one in (await admin.describe_cluster()).nodes}
    for broker in brokers:
        if broker in there or admin.kind is EndpointKind.CONTROLLER:
            await config_resources.alter(admin, "brokers", str(broker), added, deleted)
        else:
            again = "run --verify again when it is back"
            print(f"Broker {broker} is not there, its throttles stay as they are: {again}", file=sys.stderr)


async def _alter(admin: AdminClient, changes: Mapping[ConfigResource, Sequence[ConfigChange]]) -> None:
    if changes:
        for error in (await admin.incremental_alter_configs(changes)).values():
            if isinstance(error, ApiError):
                raise error


def _s(values: Sequence[object]) -> str:
    return "" if len(values) == 1 else "s"
