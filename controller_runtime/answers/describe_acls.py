"""The ACLs that a filter asks for, from the image (DescribeAcls), by the resources that they are about."""

from __future__ import annotations

from typing import Final

from controller_runtime.answers.refused import Refused
from controller_runtime.answers.security_rules import SecurityRules
from controller_runtime.metadata.acls import (
    ALLOW,
    ANY,
    DENY,
    MATCH,
    OPERATIONS,
    PATTERN_TYPES,
    RESOURCE_TYPES,
    UNKNOWN,
    AclFilter,
    Pattern,
    pattern_of,
)
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.delete_acls_request import DeleteAclsFilter
from controller_runtime.protocol.messages.describe_acls_request import DescribeAclsRequest
from controller_runtime.protocol.messages.describe_acls_response import (
    AclDescription,
    DescribeAclsResource,
    DescribeAclsResponse,
)

NO_AUTHORIZER: Final = "No Authorizer is configured."
_NO_AUTHORIZER_HERE: Final = "No Authorizer is configured on the broker"


def describe_acls(image: MetadataImage, request: DescribeAclsRequest, rules: SecurityRules) -> DescribeAclsResponse:
    if not rules.serves_acls:
        return DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=_NO_AUTHORIZER_HERE)
    wanted = filter_of(request)
    try:
        check_meant(wanted)
    except Refused as error:
        return DescribeAclsResponse(error_code=error.code, error_message=error.message)
    found: dict[Pattern, list[AclDescription]] = {}
    for acl in image.acls.candidates(wanted):
        if acl is not None and wanted.matches(acl):
            said = AclDescription(
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission_type,
            )
            found.setdefault(pattern_of(acl), []).append(said)
    resources = (
        DescribeAclsResource(
            resource_type=pattern.resource_type,
            resource_name=pattern.name,
            pattern_type=pattern.pattern_type,
            acls=tuple(said),
        )
        for pattern, said in found.items()
    )
    return DescribeAclsResponse(resources=tuple(resources))


def filter_of(asked: DescribeAclsRequest | DeleteAclsFilter) -> AclFilter:
    return AclFilter(
        resource_type=asked.resource_type_filter,
        name=asked.resource_name_filter,
        pattern_type=asked.pattern_type_filter,
        principal=asked.principal_filter,
        host=asked.host_filter,
        operation=asked.operation,
        permission_type=asked.permission_type,
    )


def check_meant(wanted: AclFilter) -> None:
    """That it has no code of nothing at all, which spoils the whole request. Raises Refused."""
    if UNKNOWN in (wanted.resource_type, wanted.pattern_type, wanted.operation, wanted.permission_type):
        why = "A filter names a resource type, pattern type, operation and permission, or ANY: UNKNOWN is none."
        raise Refused(ErrorCode.INVALID_REQUEST, why)


def check_filter(wanted: AclFilter) -> None:
    """That it has no codes that nobody knows. Raises Refused."""
    if wanted.resource_type not in (ANY, *RESOURCE_TYPES) or wanted.pattern_type not in (ANY, MATCH, *PATTERN_TYPES):
        raise Refused(ErrorCode.INVALID_REQUEST, "Unknown patternFilter.")
    if wanted.operation not in (ANY, *OPERATIONS) or wanted.permission_type not in (ANY, DENY, ALLOW):
        raise Refused(ErrorCode.INVALID_REQUEST, "Unknown entryFilter.")
