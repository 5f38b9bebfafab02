"""What Apache Kafka's classes say of themselves in one line, and the names of quota entities and their way back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from controller_runtime.cli.acl_words import OPERATIONS, PATTERN_TYPES, PERMISSION_TYPES, RESOURCE_TYPES
from controller_runtime.metadata.cluster import BrokerRegistration, ControllerRegistration, Listener, VersionRange
from controller_runtime.metadata.partitions import RECOVERED, Partition
from controller_runtime.metadata.security import AccessControlEntry, DelegationToken, QuotaEntity, ScramCredential

_SECURITY_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_QUOTA_TYPES: Final = {"client-id": "clientId", "ip": "ip", "user": "user"}
_QUOTA_ENTRY: Final = re.compile(r"(clientId|ip|user)\(((?:\\.|[^\\)])*)\)(?:_(?=.)|\Z)", re.DOTALL)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def parse_int(text: str) -> int | None:
    """As Integer.parseInt: None for what is no number of 32 bits."""
    if not re.fullmatch(r"[+-]?[0-9]{1,20}", text):
        return None
    number = int(text)
    return number if -(1 << 31) <= number < 1 << 31 else None


def provenance(offset: int, epoch: int, time_ms: int) -> str:
    moment = _EPOCH + timedelta(milliseconds=time_ms)
    text = moment.strftime("%Y-%m-%dT%H:%M:%S") + (f".{moment.microsecond // 1000:03d}" if time_ms % 1000 else "")
    return f"offset {offset}, epoch {epoch}, time {text}Z[UTC]"


def broker(one: BrokerRegistration) -> str:
    cordoned = "null" if one.cordoned_directories is None else _list(one.cordoned_directories)
    return (
        f"BrokerRegistration(id={one.id}, epoch={one.epoch}, incarnationId={one.incarnation_id}, "
        f"listeners=[{_listeners(one.listeners)}], supportedFeatures={{{_features(one.features)}}}, "
        f"rack={'Optional.empty' if one.rack is None else f'Optional[{one.rack}]'}, fenced={_java(one.fenced)}, "
        f"inControlledShutdown={_java(one.in_controlled_shutdown)}, "
        f"isMigratingZkBroker={_java(one.is_migrating_zk_broker)}, directories={_list(one.directories)}, "
        f"cordonedDirectories={cordoned})"
    )


def controller(one: ControllerRegistration) -> str:
    return (
        f"ControllerRegistration(id={one.id}, incarnationId={one.incarnation_id}, "
        f"zkMigrationReady={_java(one.zk_migration_ready)}, listeners=[{_listeners(one.listeners)}], "
        f"supportedFeatures={{{_features(one.features)}}})"
    )


def partition(one: Partition) -> str:
    state = "RECOVERED" if one.leader_recovery_state == RECOVERED else "RECOVERING"
    return (
        f"PartitionRegistration(replicas={_list(one.replicas)}, directories={_list(one.directories)}, "
        f"isr={_list(one.isr)}, removingReplicas={_list(one.removing_replicas)}, "
        f"addingReplicas={_list(one.adding_replicas)}, elr={_list(one.elr)}, lastKnownElr={_list(one.last_known_elr)}, "
        f"leader={one.leader}, leaderRecoveryState={state}, leaderEpoch={one.leader_epoch}, "
        f"partitionEpoch={one.partition_epoch})"
    )


def acl(one: AccessControlEntry) -> str:
    return (
        f"StandardAcl[resourceType={_word(RESOURCE_TYPES, one.resource_type)}, resourceName={one.resource_name}, "
        f"patternType={_word(PATTERN_TYPES, one.pattern_type)}, principal={one.principal}, host={one.host}, "
        f"operation={_word(OPERATIONS, one.operation)}, "
        f"permissionType={_word(PERMISSION_TYPES, one.permission_type)}]"
    )


def scram(one: ScramCredential) -> str:
    return (
        f"ScramCredentialData(salt={one.salt.hex()}, storedKey={one.stored_key.hex()}, "
        f"serverKey={one.server_key.hex()}, iterations={one.iterations})"
    )


def delegation_token(one: DelegationToken) -> str:
    return (
        f"DelegationTokenDatatokenId={one.token_id}(owner={one.owner}(tokenRequester={one.requester}"
        f"(renewers={' '.join(one.renewers)}, issueTimestamp={one.issue_timestamp}, maxTimestamp={one.max_timestamp})"
        f", expiryTimestamp={one.expiration_timestamp}"
    )


def quota_entity(entity: QuotaEntity) -> str:
    """The default entities have no name in Kafka's tree: theirs is empty, and nothing is found by it."""
    named = {kind: name for kind, name in entity if name is not None}
    return "_".join(f"{word}({_escaped(named[kind])})" for kind, word in _QUOTA_TYPES.items() if kind in named)


def parse_quota_entity(text: str) -> QuotaEntity | None:
    kinds = {word: kind for kind, word in _QUOTA_TYPES.items()}
    found: dict[str, str | None] = {}
    position = 0
    while position < len(text):
        match = _QUOTA_ENTRY.match(text, position)
        if match is None:
            return None
        found[kinds[match[1]]] = re.sub(r"\\(.)", r"\1", match[2], flags=re.DOTALL)
        position = match.end()
    return tuple(sorted(found.items())) if found else None


def _escaped(name: str) -> str:
    return re.sub(r"([\\()])", r"\\\1", name)


def _listeners(listeners: Mapping[str, Listener]) -> str:
    return ", ".join(
        f"Endpoint(listenerName='{name}', securityProtocol={_word(_SECURITY_PROTOCOLS, one.security_protocol)}, "
        f"host='{one.host}', port={one.port})"
        for name, one in sorted(listeners.items())
    )


def _features(features: Mapping[str, VersionRange]) -> str:
    return ", ".join(f"{name}: {one}" for name, one in sorted(features.items()))


def _list(values: Iterable[object]) -> str:
    return f"[{', '.join(map(str, values))}]"


def _word(words: tuple[str, ...], number: int) -> str:
    return words[number] if 0 <= number < len(words) else "UNKNOWN"


def _java(value: bool) -> str:
    return "true" if value else "false"
