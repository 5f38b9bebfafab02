# Generated from AlterReplicaLogDirsRequest in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""AlterReplicaLogDirsRequest: request, key 34, versions 1-2, flexible 2+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, Struct, field


class AlterReplicaLogDirTopic(Struct):
    name: str = field("string", "0+", default="")
    partitions: tuple[int, ...] = field(["int32"], "0+", default=())


class AlterReplicaLogDir(Struct):
    path: str = field("string", "0+", default="")
    topics: tuple[AlterReplicaLogDirTopic, ...] = field([AlterReplicaLogDirTopic], "0+", default=())


class AlterReplicaLogDirsRequest(Message, kind="request", valid="1-2", flexible="2+", key=34, listeners=("broker",)):
    dirs: tuple[AlterReplicaLogDir, ...] = field([AlterReplicaLogDir], "0+", default=())
