"""A busy broker with an authorizer: half of what is asked is allowed, and the rights on it are asked for, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from controller_runtime.metadata.authorizer import AuthorizerRules
from controller_runtime.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from controller_runtime.protocol.messages.metadata_request import MetadataRequest
from controller_runtime.protocol.schema import Message
from controller_runtime.values import replace
from support.nodes.busy_broker import SECURITY, BusyBroker, Kind

ALLOWED = "t-1"
"""What the names of topics begin with that anybody may do anything with."""


class GuardedBroker(BusyBroker):
    SECURITY_OF_BROKER = replace(SECURITY, authorizer=AuthorizerRules())

    def run(self) -> Iterator[Kind]:
        self._controller.decide(CreateAclsRequest(creations=(_everything(ALLOWED),)))
        self._broker.start()
        yield self._done("topics come", self._create)
        for name, request in self.requests().items():
            yield self._done(name, lambda request=request: self._ask(request))  # type: ignore[misc]

    def requests(self) -> Mapping[str, Message]:
        found = dict(super().requests())
        for name, request in found.items():
            if isinstance(request, MetadataRequest):
                found[name] = replace(request, include_topic_authorized_operations=True)
        return found


def _everything(prefix: str) -> AclCreation:
    return AclCreation(
        resource_type=2,
        resource_name=prefix,
        resource_pattern_type=4,
        principal="User:ANONYMOUS",
        host="*",
        operation=2,
        permission_type=3,
    )
