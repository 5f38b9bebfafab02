"""What fields are filled with, so that requests get past the first check, and what breaks who trusts them.

Ids of a running cluster that are not known beforehand stand in frames as placeholders of the same size; who sends them
puts the real ones in, so that a frame depends on its seed alone.
"""

from __future__ import annotations

from random import Random
from typing import Any, Final

from controller_runtime.identifiers import METADATA_TOPIC_ID, Uuid
from controller_runtime.protocol.schema import FieldSpec, Message, Struct
from support.fuzz import batches
from support.nodes.processes import CLUSTER_ID, _directory_id

CONTROLLERS: Final = (101, 102, 103)
BROKER: Final = 201
COMBINED: Final = 301
"""Ids that no recorded frame has, so that none of those speaks in the name of a living node."""
TOPICS: Final = tuple(f"fuzz-{number}" for number in range(6))
"""The fuzz's own. What is acknowledged to a canary is in topics of other names."""
TOPIC_IDS: Final = tuple(bytes.fromhex(f"f0220000000040008000a5a5a5a5a5{number:02x}") for number in range(len(TOPICS)))
"""Placeholders of their ids."""
DIRECTORIES: Final = tuple(bytes(Uuid.parse(_directory_id(number))) for number in CONTROLLERS)
STRANGERS: Final = (4711, 4712, 4713)
"""Node ids under which the fuzz registers nodes of its own."""

NUMBERS: Final = {
    "bool": (0, 1),
    "int8": (0, 1, -1, 2, 3, 4, 8, 16, 32, 127, -128),
    "int16": (0, 1, -1, 2, 3, 7, 25, 29, 58, 32767, -32768, -2),
    "uint16": (0, 1, 9092, 65535),
    "int32": (0, 1, -1, 2, 3, 10, 100, 1000, 2**31 - 1, -(2**31), 2**31 - 2, 65536, -2, -3),
    "uint32": (0, 1, 2**32 - 1, 2**31),
    "int64": (0, 1, -1, -2, -3, -4, -5, -6, 10, 1000, 2**63 - 1, -(2**63), 2**31, 2**31 - 1, 2**62, 1_795_000_000_000),
    "float64": (0.0, -1.0, 1.5, float("nan"), float("inf"), float("-inf"), 1e308, 5e-324),
}
TEXTS: Final = (
    b"", b"a", b".", b"..", b"a b", b"x" * 249, b"x" * 250, b"x" * 255, b"x" * 256, b"y" * 32766, b"y" * 32767,
    b"y" * 40000,
    b"__cluster_metadata", b"__consumer_offsets", b"\xff\xfe", b"\x00", b"\xed\xa0\x80", "ü\u2028\u202e".encode(),
    b"-1", b"1",
    b"2147483648", b"9" * 40, b"null", b"*", b"%s%n", b"/etc/passwd", b"../..", b"${env:HOME}", CLUSTER_ID.encode(),
)  # fmt: skip
CONFIGS: Final = (
    "retention.ms", "cleanup.policy", "min.insync.replicas", "max.message.bytes", "segment.bytes", "compression.type",
    "message.timestamp.type", "log.dirs", "num.io.threads", "no.such", "message.timestamp.after.max.ms",
    "unclean.leader.election.enable", "log.cleaner.threads", "authorizer.class.name",
)  # fmt: skip
FEATURES: Final = (
    "transaction.version",
    "group.version",
    "share.version",
    "eligible.leader.replicas.version",
    "no.such.feature",
)
"""Not metadata.version and kraft.version: who may change those, changes what all others may do."""
VALUES: Final = (
    "1",
    "-1",
    "delete",
    "compact",
    "1000000",
    "true",
    "abc",
    "",
    "9223372036854775808",
    "LogAppendTime",
    "gzip",
    "1.5",
)

_BY_NAME: Final[dict[str, tuple[str, ...]]] = {
    "cluster_id": (CLUSTER_ID,),
    "host": ("127.0.0.1", "localhost"),
    "client_software_name": ("fuzz",),
    "client_software_version": ("1.0",),
    "security_protocol": ("0",),
    "feature": FEATURES,
    "value": VALUES,
}
_NODE_FIELDS: Final = {
    "broker_id",
    "node_id",
    "replica_id",
    "voter_id",
    "controller_id",
    "leader_id",
    "candidate_id",
    "broker_ids",
}
_SMALL: Final = {
    "partition", "partition_index", "index", "partitions", "partition_indexes", "num_partitions", "count", "session_id",
    "min_bytes", "current_leader_epoch", "leader_epoch", "replica_epoch", "last_fetched_epoch", "last_offset_epoch",
    "partition_limit", "response_partition_limit",
}  # fmt: skip
_WAITS: Final = {"max_wait_ms", "timeout_ms"}
_CHANGES_VOTERS: Final = {"AddRaftVoterRequest", "RemoveRaftVoterRequest", "UpdateRaftVoterRequest"}


class Words:
    """Values for one frame, all from one source of chance."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.depth = 0
        self.message = ""

    def of(self, cls: type[Message]) -> Words:
        self.message = cls.__name__
        return self

    def number(self, spec: FieldSpec, owner: type[Struct]) -> Any:
        rng, name, kind = self.rng, spec.name, spec.kind
        if kind == "uuid":
            return self._uuid(name)
        if rng.random() < 0.12:
            return rng.choice(NUMBERS[kind])
        if kind == "bool":
            return rng.random() < 0.3
        if kind == "float64":
            return rng.choice(NUMBERS[kind])
        if name in _NODE_FIELDS:
            return self._node()
        if name in _WAITS:
            return rng.choice((0, 0, 0, 1, 10, 1000))
        if name == "acks":
            return rng.choice((-1, -1, -1, 1, 0))
        if name == "replication_factor":
            return rng.choice((1, 1, -1, 2))
        if name in {"resource_type", "config_operation", "endpoint_type", "isolation_level", "mechanism"}:
            return rng.choice((0, 1, 2, 2, 4, 3, 8, 16, 32))
        if name in _SMALL or kind in ("int8", "uint16"):
            return rng.choice((0, 0, 0, 1, 2, 3, 9))
        if name.endswith(("max_bytes",)):
            return rng.choice((1, 1000, 1 << 20))
        return rng.choice((0, 0, 1, 2, 5, rng.randrange(200), rng.choice(NUMBERS[kind])))

    def _node(self) -> int:
        """Rarely one of those that live, and never for who could take it away by that."""
        if self.message in _CHANGES_VOTERS or self.rng.random() < 0.9:
            return self.rng.choice((*STRANGERS, 1, 2, 3, -1, 0))
        return self.rng.choice(CONTROLLERS)

    def _uuid(self, name: str) -> bytes:
        rng = self.rng
        if "director" in name:
            return (
                rng.choice((bytes(16), rng.randbytes(16), bytes(15) + b"\1"))
                if rng.random() < 0.9
                else rng.choice(DIRECTORIES)
            )
        if rng.random() < 0.75:
            return rng.choice(TOPIC_IDS)
        return rng.choice((bytes(16), bytes(METADATA_TOPIC_ID), rng.randbytes(16)))

    def text(self, spec: FieldSpec, owner: type[Struct]) -> bytes:
        rng = self.rng
        if spec.kind == "records":
            return batches.some(rng)
        if spec.kind == "bytes":
            return rng.randbytes(rng.choice((0, 1, 4, 16, 100)))
        if rng.random() < 0.08:
            return rng.choice(TEXTS)
        if known := _BY_NAME.get(spec.name):
            return rng.choice(known).encode()
        if owner.__name__ in (
            "AlterableConfig",
            "AlterConfigsResource",
            "DescribeConfigsResource",
            "CreatableTopicConfig",
        ):
            return rng.choice((*CONFIGS, *TOPICS, str(BROKER), "")).encode()
        if spec.name == "configuration_keys":
            return rng.choice(CONFIGS).encode()
        if owner.__name__ in ("Listener", "LeaderEndpoint", "CandidateEndpoint"):
            return rng.choice((b"CONTROLLER", b"PLAINTEXT"))
        return rng.choice(TOPICS).encode()

    def count(self, spec: FieldSpec) -> int:
        return self.rng.choice((0, 1, 1, 1, 1, 2, 3))

    def is_null(self) -> bool:
        return self.rng.random() < 0.15

    def is_set(self) -> bool:
        return self.rng.random() < 0.4
