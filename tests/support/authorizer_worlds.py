"""ACLs and questions by chance, of few names that begin alike, and what StandardAuthorizer says written naively."""

from __future__ import annotations

from random import Random
from typing import Final, NamedTuple

from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.acls import AclsImage
from controller_runtime.metadata.security import AccessControlEntry

TOPIC, GROUP, CLUSTER = 2, 3, 4
LITERAL, PREFIXED = 3, 4
DENY, ALLOW = 2, 3
ALL, DESCRIBE, DESCRIBE_CONFIGS = 2, 8, 10
IMPLIED: Final = {DESCRIBE: (3, 4, 6, 7), DESCRIBE_CONFIGS: (11,)}

PRINCIPALS: Final = ("User:ann", "User:bob", "Group:ann", "User:a:b", "User:*", "User:CN=x,O=y")
HOSTS: Final = ("10.0.0.1", "127.0.0.1", "0:0:0:0:0:0:0:1", "*")
NAMES: Final = ("f", "fo", "foo", "foobar", "fooz", "hard", "hardcode", "*", "**", "b")
OPERATIONS: Final = range(2, 16)


class Question(NamedTuple):
    principal: str
    host: str
    operation: int
    resource_type: int
    name: str


def some_acl(random: Random) -> AccessControlEntry:
    return AccessControlEntry(
        Uuid.of(random.getrandbits(63), random.getrandbits(63)),
        random.choice((TOPIC, TOPIC, TOPIC, GROUP, CLUSTER)),
        random.choice(NAMES),
        random.choice((LITERAL, PREFIXED)),
        random.choice(PRINCIPALS),
        random.choice((*HOSTS, "*", "*")),
        random.choice(OPERATIONS),
        random.choice((DENY, ALLOW, ALLOW, ALLOW)),
    )


def some_question(random: Random) -> Question:
    return Question(
        random.choice([each for each in PRINCIPALS if each != "User:*"]),
        random.choice([each for each in HOSTS if each != "*"]),
        random.choice(range(3, 16)),
        random.choice((TOPIC, TOPIC, GROUP, CLUSTER)),
        random.choice((*NAMES, "other", "")) or "none",
    )


def image_of(acls: list[AccessControlEntry], before: AclsImage | None = None) -> AclsImage:
    builder = (before or AclsImage()).builder()
    for acl in acls:
        builder[acl.id] = acl
    return builder.freeze()


def _is_about(acl: AccessControlEntry, asked: Question) -> bool:
    if acl.resource_type != asked.resource_type:
        return False
    if acl.pattern_type == PREFIXED:
        return asked.name.startswith(acl.resource_name)
    return acl.resource_name in (asked.name, "*")


def _is_said_to(acl: AccessControlEntry, asked: Question) -> bool:
    return acl.principal in (asked.principal, "User:*") and acl.host in (asked.host, "*")


def naive(acls: list[AccessControlEntry], asked: Question, allows_everyone: bool) -> bool:
    about = [acl for acl in acls if _is_about(acl, asked)]
    mine = [acl for acl in about if _is_said_to(acl, asked)]
    if any(acl.permission_type == DENY and acl.operation in (ALL, asked.operation) for acl in mine):
        return False
    enough = (ALL, asked.operation, *IMPLIED.get(asked.operation, ()))
    if any(acl.permission_type == ALLOW and acl.operation in enough for acl in mine):
        return True
    return allows_everyone and not about


def naive_for_any(acls: list[AccessControlEntry], asked: Question, allows_everyone: bool) -> bool:
    """Each name that some ACL permits is tried, and one that none is about."""
    if naive(acls, asked._replace(name="hardcode"), allows_everyone):
        return True
    of_type = [
        acl
        for acl in acls
        if acl.resource_type == asked.resource_type
        and _is_said_to(acl, asked)
        and acl.operation in (2, asked.operation)
    ]
    denied = [acl for acl in of_type if acl.permission_type == DENY]
    if any(acl.pattern_type == LITERAL and acl.resource_name == "*" for acl in denied):
        return False
    return any(not _is_taken_back(acl, denied) for acl in of_type if acl.permission_type == ALLOW)


def _is_taken_back(allowed: AccessControlEntry, denied: list[AccessControlEntry]) -> bool:
    if allowed.pattern_type == LITERAL and allowed.resource_name == "*":
        return False
    return any(
        allowed.resource_name.startswith(each.resource_name)
        if each.pattern_type == PREFIXED
        else allowed.pattern_type == LITERAL and each.resource_name == allowed.resource_name
        for each in denied
    )
