"""Changing client quotas (AlterClientQuotas, KIP-546).

Each entity is judged alone, and what is granted is one atomic batch. Of an entity that is named again, or with one key
twice, the later change is refused; what came before it in the request stays, as in Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller_runtime.answers.refused import Refused
from controller_runtime.controller.decision import PIECE_RECORDS, Decision, Pieces
from controller_runtime.metadata.client_quotas import BadQuota, check_value, entity_of, keys_of
from controller_runtime.metadata.config_values import shown
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.security import QuotaEntity
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import alter_client_quotas_response as answered
from controller_runtime.protocol.messages.alter_client_quotas_request import AlterClientQuotasRequest
from controller_runtime.protocol.messages.client_quota_record import ClientQuotaRecord, EntityData

MAX_RECORDS: Final = 10_000
"""Kafka's bound for the records of one request."""
_Result = tuple[ErrorCode, str | None]
_DONE: Final[_Result] = (ErrorCode.NONE, None)


def alter_client_quotas(image: MetadataImage, request: AlterClientQuotasRequest) -> Pieces:
    """All or nothing of what is granted; the pieces are empty."""
    results: dict[QuotaEntity, _Result] = {}
    records: list[VersionedRecord] = []
    for place, entry in enumerate(request.entries, 1):
        entity = entity_of({part.entity_type: part.entity_name for part in entry.entity})
        values = {op.key: None if op.remove else op.value for op in entry.ops}
        if entity in results or len(values) < len(entry.ops):
            results[entity] = (ErrorCode.INVALID_REQUEST, f"Ignoring duplicate entity {_shown(entity)}")
        else:
            try:
                records += _changes(image, entity, values)
            except BadQuota as error:
                results[entity] = (ErrorCode.INVALID_REQUEST, str(error))
            else:
                results[entity] = _DONE
        if len(records) > MAX_RECORDS:
            raise Refused(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
        if place % PIECE_RECORDS == 0:
            yield ()
    answer = answered.AlterClientQuotasResponse(entries=tuple(_entry(*each) for each in results.items()))
    return Decision(answer, () if request.validate_only else tuple(records))


def _changes(image: MetadataImage, entity: QuotaEntity, values: Mapping[str, float | None]) -> list[VersionedRecord]:
    """What is not so already. Raises BadQuota."""
    keys, before = keys_of(entity), image.client_quotas.get(entity, {})
    parts = tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in entity)
    records: list[VersionedRecord] = []
    for key, value in values.items():
        if value is not None:
            check_value(keys, key, value)
        if value == before.get(key):
            continue
        removed = value is None
        records.append((ClientQuotaRecord(entity=parts, key=key, value=value or 0.0, remove=removed), 0))
    return records


def _entry(entity: QuotaEntity, result: _Result) -> answered.EntryData:
    code, message = result
    parts = tuple(answered.EntityData(entity_type=kind, entity_name=name) for kind, name in entity)
    return answered.EntryData(error_code=code, error_message=message, entity=parts)


def _shown(entity: QuotaEntity) -> str:
    parts = ", ".join(f"{kind}={'null' if name is None else shown(name)}" for kind, name in entity)
    return f"ClientQuotaEntity(entries={{{parts}}})"
