# Generated from ZkMigrationStateRecord in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""ZkMigrationStateRecord: metadata, key 21, versions 0, flexible 0+."""

from __future__ import annotations

from controller_runtime.protocol.schema import Message, field


class ZkMigrationStateRecord(Message, kind="metadata", valid="0", flexible="0+", key=21):
    zk_migration_state: int = field("int8", "0+", default=0)
