"""Creating and deleting ACLs (CreateAcls, DeleteAcls): records only, nobody is held to them here.

Each is judged alone, and what is granted is one atomic batch. An ACL that is there already is granted and not written
again. What one request may create, delete, list and look at is bounded, so a decision ends.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final

from controller_runtime.answers.describe_acls import check_filter, check_meant, filter_of
from controller_runtime.answers.refused import Refused
from controller_runtime.controller.decision import PIECE_RECORDS, Decision, Pieces
from controller_runtime.identifiers import Offset, Uuid
from controller_runtime.metadata.acls import (
    ALLOW,
    ANY,
    CLUSTER,
    DENY,
    MATCH,
    OPERATIONS,
    PATTERN_TYPES,
    RESOURCE_TYPES,
    UNKNOWN,
    AclFilter,
    Content,
    Pattern,
)
from controller_runtime.metadata.config_values import shown
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.security import AccessControlEntry
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages import create_acls_response as created
from controller_runtime.protocol.messages import delete_acls_response as deleted
from controller_runtime.protocol.messages.access_control_entry_record import AccessControlEntryRecord
from controller_runtime.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from controller_runtime.protocol.messages.delete_acls_request import DeleteAclsRequest
from controller_runtime.protocol.messages.remove_access_control_entry_record import RemoveAccessControlEntryRecord

MAX_RECORDS: Final = 10_000
"""Kafka's bound for the records of one request."""
MAX_LISTED: Final = 100_000
"""So many ACLs the answer to DeleteAcls names at most; several filters may match the same ones."""
MAX_LOOKED_AT: Final = 5_000_000
"""So many ACLs and names of resources all filters of a request may look at."""
CLUSTER_NAME: Final = "kafka-cluster"
_PIECE_LOOKED_AT: Final = 5_000


def create_acls(image: MetadataImage, request: CreateAclsRequest, new_uuid: Callable[[], Uuid]) -> Pieces:
    for acl in request.creations:
        _check_meant(acl)
    records: list[VersionedRecord] = []
    results: list[created.AclCreationResult] = []
    made: set[tuple[Pattern, Content]] = set()
    for place, acl in enumerate(request.creations, 1):
        pattern = Pattern(acl.resource_type, acl.resource_pattern_type, acl.resource_name)
        content = (acl.principal, acl.host, acl.operation, acl.permission_type)
        try:
            _check_new(acl)
        except Refused as error:
            results.append(created.AclCreationResult(error_code=error.code, error_message=error.message))
        else:
            results.append(created.AclCreationResult())
            if content not in image.acls.about(pattern) and (pattern, content) not in made:
                made.add((pattern, content))
                records.append((_record(acl, _unused(image, new_uuid)), 0))
        if len(records) > MAX_RECORDS:
            raise Refused(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
        if place % PIECE_RECORDS == 0:
            yield ()
    return Decision(created.CreateAclsResponse(results=tuple(results)), tuple(records))


def _unused(image: MetadataImage, new_uuid: Callable[[], Uuid]) -> Uuid:
    while (found := new_uuid()) in image.acls:
        pass
    return found


def _record(acl: AclCreation, acl_id: Uuid) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(
        id=acl_id,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.resource_pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )


def _check_meant(acl: AclCreation) -> None:
    """Codes that can only be meant in filters, or are none, spoil the whole request. Raises Refused."""
    codes = (acl.resource_type, acl.resource_pattern_type, acl.operation, acl.permission_type)
    if not {UNKNOWN, ANY}.isdisjoint(codes) or acl.resource_pattern_type == MATCH:
        raise _invalid(
            "An ACL names one resource type, pattern type, operation and permission: UNKNOWN, ANY and MATCH are none."
        )


def _check_new(acl: AclCreation) -> None:
    """In Kafka's order. Raises Refused."""
    if acl.resource_type == CLUSTER and acl.resource_name != CLUSTER_NAME:
        raise _invalid(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not acl.resource_name:
        raise _invalid("Invalid empty resource name")
    if acl.resource_type not in RESOURCE_TYPES:
        raise _invalid("Invalid resourceType UNKNOWN")
    if acl.resource_pattern_type not in PATTERN_TYPES:
        raise _invalid("Invalid patternType UNKNOWN")
    if acl.operation not in OPERATIONS:
        raise _invalid("Invalid operation UNKNOWN")
    if acl.permission_type not in (DENY, ALLOW):
        raise _invalid("Invalid permissionType UNKNOWN")
    if ":" not in acl.principal:
        why = "(no colon is present separating the principal type from the principal name)"
        raise _invalid(f"Could not parse principal from `{shown(acl.principal)}` {why}")


def _invalid(why: str) -> Refused:
    return Refused(ErrorCode.INVALID_REQUEST, why)


def delete_acls(image: MetadataImage, request: DeleteAclsRequest) -> Pieces:
    filters = [filter_of(asked) for asked in request.filters]
    for wanted in filters:
        check_meant(wanted)
    deletion = _Deletion(image)
    results: list[deleted.DeleteAclsFilterResult] = []
    for place, wanted in enumerate(filters, 1):
        try:
            check_filter(wanted)
        except Refused as error:
            results.append(deleted.DeleteAclsFilterResult(error_code=error.code, error_message=error.message))
        else:
            matching = yield from deletion.matching(wanted)
            results.append(deleted.DeleteAclsFilterResult(error_message=None, matching_acls=matching))
        if place % PIECE_RECORDS == 0:
            yield ()
    return Decision(deleted.DeleteAclsResponse(filter_results=tuple(results)), tuple(deletion.records.values()))


class _Deletion:
    """What the filters of one request have found so far."""

    def __init__(self, image: MetadataImage) -> None:
        self.records: dict[Uuid, VersionedRecord] = {}
        self._image = image
        self._looked_at = self._listed = 0

    def matching(
        self, wanted: AclFilter
    ) -> Generator[tuple[VersionedRecord, ...], Offset, tuple[deleted.DeleteAclsMatchingAcl, ...]]:
        found: list[deleted.DeleteAclsMatchingAcl] = []
        for acl in self._image.acls.candidates(wanted):
            self._looked_at += 1
            if acl is not None and wanted.matches(acl):
                found.append(_matching(acl))
                self.records.setdefault(acl.id, (RemoveAccessControlEntryRecord(id=acl.id), 0))
                self._listed += 1
            self._check_bounds()
            if self._looked_at % _PIECE_LOOKED_AT == 0:
                yield ()
        return tuple(found)

    def _check_bounds(self) -> None:
        if len(self.records) > MAX_RECORDS:
            raise _invalid(f"Cannot remove more than {MAX_RECORDS} acls in a single delete operation.")
        if self._listed > MAX_LISTED or self._looked_at > MAX_LOOKED_AT:
            raise Refused(ErrorCode.POLICY_VIOLATION, "Ask with fewer filters: so many look at too many ACLs.")


def _matching(acl: AccessControlEntry) -> deleted.DeleteAclsMatchingAcl:
    return deleted.DeleteAclsMatchingAcl(
        error_message=None,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )
