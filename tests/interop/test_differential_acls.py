"""CreateAcls, DescribeAcls and DeleteAcls, as Apache Kafka's StandardAuthorizer answers them, and without one."""

from __future__ import annotations

import pytest

from controller_runtime.protocol.api_keys import ApiKey, ListenerType
from controller_runtime.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from controller_runtime.protocol.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from controller_runtime.protocol.messages.describe_acls_request import DescribeAclsRequest
from support.apache_kafka.differential import Case, Pair, Table, Unlike, judge

pytestmark = [pytest.mark.interop]

BOTH = (ListenerType.BROKER, ListenerType.CONTROLLER)
ANY, MATCH, LITERAL, PREFIXED = 1, 2, 3, 4
TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, TOKEN, USER = range(2, 8)
ALL, READ, WRITE = 2, 3, 4
DENY, ALLOW = 2, 3
ANN = "User:ann"


def _acl(
    kind: int = TOPIC,
    name: str = "orders",
    pattern: int = LITERAL,
    principal: str = ANN,
    host: str = "*",
    operation: int = READ,
    permission: int = ALLOW,
) -> AclCreation:
    return AclCreation(
        resource_type=kind,
        resource_name=name,
        resource_pattern_type=pattern,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission,
    )


def _create(*acls: AclCreation) -> CreateAclsRequest:
    return CreateAclsRequest(creations=acls)


OF_FILTERS = (
    "operation 1", "permission 1", "pattern 1", "pattern 2", "resource 1", "a bad and a good one", "a bad one twice",
)  # fmt: skip

CREATE = Table(
    ApiKey.CREATE_ACLS,
    BOTH,
    (
        Case("one", _create(_acl())),
        Case("none", _create()),
        Case("the same twice", _create(_acl(operation=WRITE), _acl(operation=WRITE))),
        Case("a prefix", _create(_acl(name="ord", pattern=PREFIXED), _acl(name="orders.eu", pattern=PREFIXED))),
        Case("every topic", _create(_acl(name="*"), _acl(name="*", permission=DENY, principal="User:eve"))),
        Case("the prefix *", _create(_acl(name="*", pattern=PREFIXED, principal="User:star"))),
        Case("a group", _create(_acl(GROUP, "shop", host="10.0.0.1"))),
        Case("the cluster", _create(_acl(CLUSTER, "kafka-cluster", operation=ALL))),
        Case("a transactional id", _create(_acl(TRANSACTIONAL_ID, "tx"))),
        Case("a token", _create(_acl(TOKEN, "token"))),
        Case("a user", _create(_acl(USER, "User:bob", operation=13))),
        *(Case(f"operation {code}", _create(_acl(name="ops", operation=code))) for code in (*range(1, 17), 99, -1)),
        *(Case(f"permission {code}", _create(_acl(name="perms", permission=code))) for code in (1, 2, 4, 99, -1)),
        *(Case(f"pattern {code}", _create(_acl(name="patterns", pattern=code))) for code in (1, 2, 5, 99, -1)),
        *(Case(f"resource {code}", _create(_acl(code, "kinds"))) for code in (1, 4, 8, 99, -1)),
        Case("an empty name", _create(_acl(name=""))),
        Case("an empty name of nothing", _create(_acl(99, "", 99))),
        Case("another cluster", _create(_acl(CLUSTER, "kafka"))),
        Case("a cluster without a name", _create(_acl(CLUSTER, ""))),
        Case("a cluster's prefix", _create(_acl(CLUSTER, "kafka-cluster", PREFIXED))),
        Case("every cluster", _create(_acl(CLUSTER, "*"))),
        Case("no principal", _create(_acl(principal=""))),
        Case("a principal without a type", _create(_acl(principal="ann"))),
        Case("a principal of no type", _create(_acl(principal=":ann"))),
        Case("a principal without a name", _create(_acl(principal="User:"))),
        Case("a principal of another type", _create(_acl(principal="Group:a:b:c"))),
        Case("everybody", _create(_acl(principal="User:*"))),
        Case("no host", _create(_acl(host=""))),
        Case("a host's name", _create(_acl(host="localhost"))),
        Case("a host's newer address", _create(_acl(host="fe80::1"))),
        Case("a network", _create(_acl(host="10.0.0.0/8"))),
        Case("a bad and a good one", _create(_acl(operation=1), _acl(name="good"))),
        Case("a bad one twice", _create(_acl(operation=1), _acl(operation=1), _acl(name=""), _acl(name=""))),
        Case("a long name", _create(_acl(name="n" * 2000))),
        Case("a strange name", _create(_acl(name="größe/ *", principal="User:CN=a,O=b c"))),
        Case("a bad principal of an unknown kind", _create(_acl(99, principal="ann"))),
        Case("a bad principal who does what nobody knows", _create(_acl(operation=99, principal="ann"))),
        Case("a bad principal of an unnamed topic", _create(_acl(name="", principal="ann"))),
        Case("an unknown and a good one", _create(_acl(operation=99), _acl(name="fine"))),
        Case("zero as a kind", _create(_acl(0))),
        Case("zero as a pattern", _create(_acl(pattern=0))),
        Case("zero as an operation", _create(_acl(operation=0))),
        Case("zero as a permission", _create(_acl(permission=0))),
    ),
    unlike=(
        Unlike("*: zero as *", "Codes that mean unknown"),
        *(
            Unlike(f"*: {case}", "Codes that mean unknown, or any", ("errorCode", "errorMessage"))
            for case in OF_FILTERS
        ),
    ),
)


def _filter(
    kind: int = ANY,
    name: str | None = None,
    pattern: int = ANY,
    principal: str | None = None,
    host: str | None = None,
    operation: int = ANY,
    permission: int = ANY,
) -> DeleteAclsFilter:
    return DeleteAclsFilter(
        resource_type_filter=kind,
        resource_name_filter=name,
        pattern_type_filter=pattern,
        principal_filter=principal,
        host_filter=host,
        operation=operation,
        permission_type=permission,
    )


def _describe(one: DeleteAclsFilter) -> DescribeAclsRequest:
    return DescribeAclsRequest(
        resource_type_filter=one.resource_type_filter,
        resource_name_filter=one.resource_name_filter,
        pattern_type_filter=one.pattern_type_filter,
        principal_filter=one.principal_filter,
        host_filter=one.host_filter,
        operation=one.operation,
        permission_type=one.permission_type,
    )


def _delete(*filters: DeleteAclsFilter) -> DeleteAclsRequest:
    return DeleteAclsRequest(filters=filters)


_FILTERS = {
    "everything": _filter(),
    "topics": _filter(TOPIC),
    "a topic": _filter(TOPIC, "orders"),
    "a topic literally": _filter(TOPIC, "orders", LITERAL),
    "a prefix": _filter(TOPIC, "ord", PREFIXED),
    "a name of a prefix, as a prefix": _filter(TOPIC, "orders", PREFIXED),
    "what concerns a topic": _filter(TOPIC, "orders", MATCH),
    "what concerns a longer name": _filter(TOPIC, "orders.eu.1", MATCH),
    "what concerns every topic": _filter(TOPIC, "*", MATCH),
    "what concerns nothing": _filter(TOPIC, "", MATCH),
    "what concerns a name in every kind": _filter(ANY, "orders", MATCH),
    "what concerns any": _filter(ANY, None, MATCH),
    "what concerns a long name": _filter(ANY, "orders" + "x" * 1000, MATCH),
    "all literal ones": _filter(pattern=LITERAL),
    "all prefixes": _filter(pattern=PREFIXED),
    "every topic literally": _filter(TOPIC, "*", LITERAL),
    "the prefix *": _filter(TOPIC, "*", PREFIXED),
    "a name in every kind": _filter(ANY, "shop"),
    "a principal": _filter(principal="User:eve"),
    "everybody": _filter(principal="User:*"),
    "an unknown principal": _filter(principal="User:nobody"),
    "an empty principal": _filter(principal=""),
    "a host": _filter(host="10.0.0.1"),
    "every host": _filter(host="*"),
    "an empty host": _filter(host=""),
    "reads": _filter(operation=READ),
    "all operations": _filter(operation=ALL),
    "what is denied": _filter(permission=DENY),
    "exactly one": _filter(TOPIC, "orders", LITERAL, ANN, "*", READ, ALLOW),
    "an empty name": _filter(TOPIC, ""),
    "a kind nobody knows": _filter(99),
    "a pattern nobody knows": _filter(pattern=5),
    "an operation nobody knows": _filter(operation=99),
    "a permission nobody knows": _filter(permission=-1),
    "two codes nobody knows": _filter(99, operation=99),
}
_ZEROES = {
    "zero as a kind": _filter(0),
    "zero as a pattern": _filter(pattern=0),
    "zero as an operation": _filter(operation=0),
    "zero as a permission": _filter(permission=0),
}

DESCRIBE = Table(
    ApiKey.DESCRIBE_ACLS,
    BOTH,
    tuple(Case(name, _describe(one)) for name, one in {**_FILTERS, **_ZEROES}.items()),
    unlike=(Unlike("*: zero as *", "Codes that mean unknown"),),
)
DELETE = Table(
    ApiKey.DELETE_ACLS,
    BOTH,
    (
        Case("nothing", _delete()),
        Case("what is not there", _delete(_FILTERS["an unknown principal"])),
        *(Case(name, _delete(one)) for name, one in _FILTERS.items() if "nobody knows" in name),
        Case("a bad filter and a good one", _delete(_FILTERS["a kind nobody knows"], _FILTERS["a host"])),
        Case("one by two filters", _delete(_FILTERS["exactly one"], _FILTERS["a topic literally"])),
        *(Case(name, _delete(one)) for name, one in _ZEROES.items()),
        Case("denied, and a topic", _delete(_FILTERS["what is denied"], _FILTERS["what concerns a longer name"])),
        Case("everything", _delete(_FILTERS["everything"])),
    ),
    unlike=(Unlike("*: zero as *", "Codes that mean unknown"),),
)


@pytest.mark.parametrize("table", [CREATE, DESCRIBE, DELETE], ids=lambda table: table.key.name)
def test_acls_are_changed_and_told_as_kafka_does(guarded_pair: Pair, table: Table) -> None:
    """CFG-06, ACL-13, ACL-14: what is described and deleted was set here before."""
    assert judge(guarded_pair, table) >= 40


WITHOUT = (
    Table(ApiKey.CREATE_ACLS, BOTH, (Case("two", _create(_acl(), _acl(99, ""))), Case("none", _create()))),
    Table(ApiKey.DESCRIBE_ACLS, BOTH, (Case("all", _describe(_filter())), Case("unknown", _describe(_filter(99))))),
    Table(ApiKey.DELETE_ACLS, BOTH, (Case("two", _delete(_filter(), _filter(99))), Case("none", _delete()))),
)


@pytest.mark.parametrize("table", WITHOUT, ids=lambda table: table.key.name)
def test_without_an_authorizer_there_are_no_acls(pair: Pair, table: Table) -> None:
    """ACL-15."""
    assert judge(pair, table) >= 20
