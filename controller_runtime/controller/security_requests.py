"""What the controller answers about quotas, ACLs and credentials: records, all of them; nothing is enforced here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from controller_runtime.answers.describe_acls import NO_AUTHORIZER, describe_acls
from controller_runtime.answers.refused import Refused
from controller_runtime.answers.security_rules import SecurityRules
from controller_runtime.controller.acls import create_acls, delete_acls
from controller_runtime.controller.client_quotas import alter_client_quotas
from controller_runtime.controller.decision import Decision, Pieces, RequestContext
from controller_runtime.controller.delegation_tokens import DelegationTokens
from controller_runtime.controller.scram_credentials import alter_scram_credentials
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.chance import Chance
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.create_acls_request import CreateAclsRequest
from controller_runtime.protocol.messages.delete_acls_request import DeleteAclsRequest
from controller_runtime.protocol.messages.describe_acls_request import DescribeAclsRequest

SecurityHandler = Callable[[MetadataImage, RequestContext, Any], "Decision | Pieces"]
"""Each takes the request of its own API."""


class SecurityRequests:
    def __init__(self, rules: SecurityRules, chance: Chance) -> None:
        self._rules = rules
        self._chance = chance
        self.tokens = DelegationTokens(rules, chance.new_uuid)
        self.handlers: Mapping[int, SecurityHandler] = {
            ApiKey.ALTER_CLIENT_QUOTAS: lambda image, _, request: alter_client_quotas(image, request),
            ApiKey.ALTER_USER_SCRAM_CREDENTIALS: lambda image, _, request: alter_scram_credentials(image, request),
            ApiKey.CREATE_DELEGATION_TOKEN: self.tokens.create,
            ApiKey.RENEW_DELEGATION_TOKEN: self.tokens.renew,
            ApiKey.EXPIRE_DELEGATION_TOKEN: self.tokens.expire,
            ApiKey.DESCRIBE_ACLS: self._describe_acls,
            ApiKey.CREATE_ACLS: self._create_acls,
            ApiKey.DELETE_ACLS: self._delete_acls,
            ApiKey.DESCRIBE_DELEGATION_TOKEN: _asked_of_brokers,
            ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _asked_of_brokers,
        }

    def _describe_acls(self, image: MetadataImage, _: RequestContext, request: DescribeAclsRequest) -> Decision:
        return Decision(describe_acls(image, request, self._rules))

    def _create_acls(self, image: MetadataImage, _: RequestContext, request: CreateAclsRequest) -> Pieces:
        self._check_acls()
        return create_acls(image, request, self._chance.new_uuid)

    def _delete_acls(self, image: MetadataImage, _: RequestContext, request: DeleteAclsRequest) -> Pieces:
        self._check_acls()
        return delete_acls(image, request)

    def _check_acls(self) -> None:
        if not self._rules.serves_acls:
            raise Refused(ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)


def _asked_of_brokers(_image: MetadataImage, _context: RequestContext, _request: Any) -> Decision:
    """Apache Kafka's controllers advertise these, too, and have nothing that answers them."""
    raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
