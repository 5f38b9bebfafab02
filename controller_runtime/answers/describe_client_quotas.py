"""The client quotas that a filter asks for, from the image (DescribeClientQuotas, KIP-546)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller_runtime.answers.refused import Refused
from controller_runtime.metadata.client_quotas import CLIENT_ID, IP, USER
from controller_runtime.metadata.config_values import shown
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.security import QuotaEntity
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.describe_client_quotas_request import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from controller_runtime.protocol.messages.describe_client_quotas_response import (
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from controller_runtime.values import dataclass

EXACT: Final = 0
DEFAULT: Final = 1
SPECIFIED: Final = 2
_WORDS: Final = {EXACT: "MATCH_TYPE_EXACT", DEFAULT: "MATCH_TYPE_DEFAULT", SPECIFIED: "MATCH_TYPE_SPECIFIED"}


def describe_client_quotas(image: MetadataImage, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    try:
        found = _Filter.of(request)
    except Refused as error:
        return DescribeClientQuotasResponse(error_code=error.code, error_message=error.message, entries=None)
    entries = tuple(_entry(entity, values) for entity, values in image.client_quotas.items() if found.matches(entity))
    return DescribeClientQuotasResponse(entries=entries)


@dataclass(frozen=True, slots=True)
class _Filter:
    """`names`: types whose name is asked for, None for the default entity. `types`: whatever their name."""

    names: Mapping[str, str | None]
    types: frozenset[str]
    is_strict: bool

    @classmethod
    def of(cls, request: DescribeClientQuotasRequest) -> _Filter:
        names: dict[str, str | None] = {}
        types: set[str] = set()
        for component in request.components:
            _check(component, names.keys() | types)
            if component.match_type == SPECIFIED:
                types.add(component.entity_type)
            else:
                names[component.entity_type] = component.match
        asked = names.keys() | types
        if IP in asked and len(asked) > 1:
            why = (
                "Invalid entity filter component combination. IP filter component should not be used with user or "
                "clientId filter component."
            )
            raise Refused(ErrorCode.INVALID_REQUEST, why)
        return cls(names, frozenset(types), request.strict)

    def matches(self, entity: QuotaEntity) -> bool:
        parts = dict(entity)
        asked = len(self.names) + len(self.types)
        if self.is_strict and (len(parts) != asked or not asked):
            return False
        named = all(kind in parts and parts[kind] == name for kind, name in self.names.items())
        return named and all(kind in parts for kind in self.types)


def _check(component: ComponentData, seen: set[str]) -> None:
    kind, how = component.entity_type, component.match_type
    if not kind:
        raise Refused(ErrorCode.INVALID_REQUEST, "Invalid empty entity type.")
    if kind in seen:
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"Entity type {shown(kind)} cannot appear more than once in the filter."
        )
    if kind not in (IP, USER, CLIENT_ID):
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {shown(kind)}")
    if how not in _WORDS:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Unknown match type {how}")
    if how == EXACT and component.match is None:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Request specified {_WORDS[how]}, but set match string to null.")
    if how != EXACT and component.match is not None:
        why = f"Request specified {_WORDS[how]}, but also specified a match string."
        raise Refused(ErrorCode.INVALID_REQUEST, why)


def _entry(entity: QuotaEntity, values: Mapping[str, float]) -> EntryData:
    return EntryData(
        entity=tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in entity),
        values=tuple(ValueData(key=key, value=value) for key, value in values.items()),
    )
