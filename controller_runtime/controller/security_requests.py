"""What the controller answers about quotas, ACLs and credentials: records, all of them; nothing is enforced here.

Each part is imported when it is asked for first: most quorums never need them, and they bring two dozen modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from controller_runtime.answers.refused import Refused
from controller_runtime.answers.security_rules import SecurityRules
from controller_runtime.controller.decision import Decision, Pieces, RequestContext
from controller_runtime.identifiers import WallClock
from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.chance import Chance
from controller_runtime.protocol.api_keys import ApiKey
from controller_runtime.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from controller_runtime.controller.delegation_tokens import DelegationTokens
    from controller_runtime.protocol.messages.create_acls_request import CreateAclsRequest
    from controller_runtime.protocol.messages.delete_acls_request import DeleteAclsRequest
    from controller_runtime.protocol.messages.describe_acls_request import DescribeAclsRequest

SecurityHandler = Callable[[MetadataImage, RequestContext, Any], "Decision | Pieces"]
"""Each takes the request of its own API."""


class SecurityRequests:
    def __init__(self, rules: SecurityRules, chance: Chance) -> None:
        self._rules = rules
        self._chance = chance
        self.handlers: Mapping[int, SecurityHandler] = {
            ApiKey.ALTER_CLIENT_QUOTAS: _alter_client_quotas,
            ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _alter_scram_credentials,
            ApiKey.CREATE_DELEGATION_TOKEN: self._create_token,
            ApiKey.RENEW_DELEGATION_TOKEN: self._renew_token,
            ApiKey.EXPIRE_DELEGATION_TOKEN: self._expire_token,
            ApiKey.DESCRIBE_ACLS: self._describe_acls,
            ApiKey.CREATE_ACLS: self._create_acls,
            ApiKey.DELETE_ACLS: self._delete_acls,
            ApiKey.DESCRIBE_DELEGATION_TOKEN: _asked_of_brokers,
            ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _asked_of_brokers,
        }

    @cached_property
    def tokens(self) -> DelegationTokens:
        from controller_runtime.controller.delegation_tokens import DelegationTokens

        return DelegationTokens(self._rules, self._chance.new_uuid)

    def _create_token(self, image: MetadataImage, context: RequestContext, request: Any) -> Decision:
        return self.tokens.create(image, context, request)

    def _renew_token(self, image: MetadataImage, context: RequestContext, request: Any) -> Decision:
        return self.tokens.renew(image, context, request)

    def _expire_token(self, image: MetadataImage, context: RequestContext, request: Any) -> Decision:
        return self.tokens.expire(image, context, request)

    def expired_tokens(self, image: MetadataImage, wall: WallClock) -> Iterable[VersionedRecord | None]:
        """The records that remove them. None: a piece may end here."""
        return self.tokens.swept(image, wall) if image.delegation_tokens else ()

    def _describe_acls(self, image: MetadataImage, _: RequestContext, request: DescribeAclsRequest) -> Decision:
        from controller_runtime.answers.describe_acls import describe_acls

        return Decision(describe_acls(image, request, self._rules))

    def _create_acls(self, image: MetadataImage, _: RequestContext, request: CreateAclsRequest) -> Pieces:
        from controller_runtime.controller.acls import create_acls

        self._check_acls()
        return create_acls(image, request, self._chance.new_uuid)

    def _delete_acls(self, image: MetadataImage, _: RequestContext, request: DeleteAclsRequest) -> Pieces:
        from controller_runtime.controller.acls import delete_acls

        self._check_acls()
        return delete_acls(image, request)

    def _check_acls(self) -> None:
        from controller_runtime.answers.describe_acls import NO_AUTHORIZER

        if not self._rules.serves_acls:
            raise Refused(ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)


def _alter_client_quotas(image: MetadataImage, _: RequestContext, request: Any) -> Decision | Pieces:
    from controller_runtime.controller.client_quotas import alter_client_quotas

    return alter_client_quotas(image, request)


def _alter_scram_credentials(image: MetadataImage, _: RequestContext, request: Any) -> Decision | Pieces:
    from controller_runtime.controller.scram_credentials import alter_scram_credentials

    return alter_scram_credentials(image, request)


def _asked_of_brokers(_image: MetadataImage, _context: RequestContext, _request: Any) -> Decision:
    """Apache Kafka's controllers advertise these, too, and have nothing that answers them."""
    raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)
