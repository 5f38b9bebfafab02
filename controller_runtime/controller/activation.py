"""What a new leader writes before anything else (KIP-868): the bootstrap records of an empty log, or the end of a torn
transaction.
"""

from __future__ import annotations

from controller_runtime.answers.refused import Refused
from controller_runtime.metadata.configs import ALL_BROKERS, BROKER
from controller_runtime.metadata.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    METADATA_TRANSACTIONS,
    METADATA_VERSION,
    VersionedRecord,
    metadata_version,
)
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.abort_transaction_record import AbortTransactionRecord
from controller_runtime.protocol.messages.begin_transaction_record import BeginTransactionRecord
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.end_transaction_record import EndTransactionRecord
from controller_runtime.protocol.messages.feature_level_record import FeatureLevelRecord

DEFAULT_MIN_INSYNC_REPLICAS = "1"


def activation_records(
    image: MetadataImage, bootstrap: tuple[VersionedRecord, ...], min_insync_replicas: str = DEFAULT_MIN_INSYNC_REPLICAS
) -> tuple[VersionedRecord, ...]:
    """The records of a new leadership, to be written as one batch; empty for a log that is in order."""
    if image.stable.features.metadata_version:
        return _abort(image, image.stable.features.metadata_version, "Controller failover")
    levels = {r.name: r.feature_level for r, _ in bootstrap if isinstance(r, FeatureLevelRecord)}
    assert METADATA_VERSION in levels, "the bootstrap records name no metadata.version"
    level = levels[METADATA_VERSION]
    aborted = _abort(image, level, "aborting partial bootstrap transaction")
    records = bootstrap
    if levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) >= 1:
        setting = ConfigRecord(
            resource_type=BROKER, resource_name=ALL_BROKERS, name="min.insync.replicas", value=min_insync_replicas
        )
        records = (*records, (setting, 0))
    if level < METADATA_TRANSACTIONS:
        return records
    begin, end = BeginTransactionRecord(name="Bootstrap records"), EndTransactionRecord()
    return (*aborted, (begin, 0), *records, (end, 0))


def _abort(image: MetadataImage, level: int, reason: str) -> tuple[VersionedRecord, ...]:
    if image.transaction is None:
        return ()
    if level < METADATA_TRANSACTIONS:
        raise Refused(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            f"Detected in-progress transaction, but the metadata.version {metadata_version(level).name} "
            "does not support transactions. Cannot continue.",
        )
    return ((AbortTransactionRecord(reason=reason), 0),)
