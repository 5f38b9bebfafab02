"""Who may do what: Apache Kafka's StandardAuthorizer, as a function of an image.

In its order: super users may everything; before the metadata log is known nobody else may anything; of the ACLs about
a resource (of its very name, of `*`, of the beginnings of its name) one that denies wins; else one that permits; a
resource that some ACL is about is then denied, and any other one is as `allow.everyone.if.no.acl.found` says.

A permission to read, write, delete or alter implies to describe, one to alter configurations implies to describe them;
what is denied implies nothing. The ACLs are the image's (`acls`), kept by its changes: nothing is built here.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from controller_runtime.metadata.acl_rights import DENIED, EVERY_NAME, LITERAL, PREFIXED
from controller_runtime.metadata.acls import AclsImage
from controller_runtime.protocol.authorized_operations import Operation
from controller_runtime.values import dataclass

CLASS_NAME: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
EVERY_HOST: Final = "*"

_ALL: Final = 1 << 2
_IMPLIED_BY: Final = {
    Operation.DESCRIBE: (Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER),
    Operation.DESCRIBE_CONFIGS: (Operation.ALTER_CONFIGS,),
}


def _permitting(operation: Operation) -> int:
    return _ALL | 1 << operation | sum(1 << each for each in _IMPLIED_BY.get(operation, ()))


_PERMIT: Final = tuple(_permitting(Operation(code)) if code in {*Operation} else 0 for code in range(16))
_DENY: Final = tuple((_ALL | 1 << code) << DENIED for code in range(16))
_EXACTLY: Final = tuple(_ALL | 1 << code for code in range(16))


class Rule(Enum):
    """Why; Kafka's words."""

    SUPER_USER = "SuperUser"
    MATCHING_ACL = "MatchingAcl"
    DEFAULT_DENY = "DefaultDeny"
    DEFAULT_ALLOW = "DefaultAllow"
    NOT_READY = "AuthorizerNotReady"


class Decision(NamedTuple):
    allowed: bool
    rule: Rule
    pattern: str = ""
    """Of the ACL that decided, as `AclsImage` names it."""


_MATCHING: Final = Rule.MATCHING_ACL
_by_acl: Final = tuple.__new__
"""Half of what `Decision(...)` costs, which is a tenth of a decision."""
_SUPER_USER: Final = Decision(True, Rule.SUPER_USER)
_NOT_READY: Final = Decision(False, Rule.NOT_READY)
_DEFAULT_DENY: Final = Decision(False, Rule.DEFAULT_DENY)
_DEFAULT_ALLOW: Final = Decision(True, Rule.DEFAULT_ALLOW)


class Client(NamedTuple):
    """Who asks, from where: the address as Java writes it."""

    principal: str
    host: str


@dataclass(frozen=True, slots=True)
class AuthorizerRules:
    """What the configuration says: `super.users`, `allow.everyone.if.no.acl.found`."""

    super_users: frozenset[str] = frozenset()
    allows_everyone: bool = False

    def decide(
        self, acls: AclsImage | None, client: Client, operation: Operation, resource_type: int, name: str
    ) -> Decision:
        """`acls` are None while the metadata log is not known."""
        if client.principal in self.super_users:
            return _SUPER_USER
        if acls is None:
            return _NOT_READY
        permit, deny, host = _PERMIT[operation], _DENY[operation], client.host
        by = ""
        for subject in acls.rights.subjects(client.principal, resource_type):
            for pattern, hosts in subject.about(name):
                bits = hosts.get(host, 0) | hosts.get(EVERY_HOST, 0)
                if bits & deny:
                    return _by_acl(Decision, (False, _MATCHING, pattern))
                if bits & permit and not by:
                    by = pattern
        if by:
            return _by_acl(Decision, (True, _MATCHING, by))
        everyone = self.allows_everyone and not acls.is_any_about(resource_type, name)
        return _DEFAULT_ALLOW if everyone else _DEFAULT_DENY

    def decide_for_any(
        self, acls: AclsImage | None, client: Client, operation: Operation, resource_type: int
    ) -> Decision:
        """Whether he may do it with some resource of the type: `Authorizer.authorizeByResourceType`, with its question
        about a resource called "hardcode", and without what operations imply.
        """
        probed = self.decide(acls, client, operation, resource_type, "hardcode")
        if probed.allowed or acls is None:
            return probed
        return _decide_for_any(acls, client, operation, resource_type)


def _shown(resource_type: int, kind: int, name: str) -> str:
    return f"{resource_type}:{kind}:{name}"


def _decide_for_any(acls: AclsImage, client: Client, operation: Operation, resource_type: int) -> Decision:
    allowed: list[tuple[int, str]] = []
    denied: set[tuple[int, str]] = set()
    for subject in acls.rights.subjects(client.principal, resource_type):
        for kind, name, hosts in subject.patterns():
            bits = hosts.get(client.host, 0) | hosts.get(EVERY_HOST, 0)
            if bits & _DENY[operation]:
                denied.add((kind, name))
            if bits & _EXACTLY[operation]:
                allowed.append((kind, name))
    if (LITERAL, EVERY_NAME) in denied:
        return Decision(False, Rule.MATCHING_ACL, _shown(resource_type, LITERAL, EVERY_NAME))
    for kind, name in allowed:
        everything = kind == LITERAL and name == EVERY_NAME
        if everything or not _is_covered(kind, name, denied):
            return Decision(True, Rule.MATCHING_ACL, _shown(resource_type, kind, name))
    return _DEFAULT_DENY


def _is_covered(kind: int, name: str, denied: set[tuple[int, str]]) -> bool:
    """Nothing is left of what is permitted."""
    if not denied:
        return False
    return (kind == LITERAL and (kind, name) in denied) or any(
        (PREFIXED, name[:end]) in denied for end in range(1, len(name) + 1)
    )


def host_of(address: bytes) -> str:
    """As Java's `getHostAddress`: IPv6 with all its groups, a mapped IPv4 address as IPv4."""
    if len(address) == 16 and address[:12] == b"\0" * 10 + b"\xff\xff":
        address = address[12:]
    if len(address) == 4:
        return ".".join(map(str, address))
    return ":".join(f"{int.from_bytes(address[at : at + 2]):x}" for at in range(0, len(address), 2))
