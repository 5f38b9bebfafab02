"""StandardAuthorizer's decisions (ACL-01 to ACL-11): beside a naive model, and rule by rule."""

from __future__ import annotations

from itertools import count
from random import Random

import pytest

from controller_runtime.identifiers import Uuid
from controller_runtime.metadata import acl_rights
from controller_runtime.metadata.acls import AclsImage, content_of, pattern_of
from controller_runtime.metadata.authorizer import AuthorizerRules, Client, Rule, host_of
from controller_runtime.metadata.security import AccessControlEntry
from controller_runtime.protocol.authorized_operations import Operation
from support.authorizer_worlds import (
    ALL,
    ALLOW,
    DENY,
    LITERAL,
    PREFIXED,
    TOPIC,
    image_of,
    naive,
    naive_for_any,
    some_acl,
    some_question,
)
from support.sampling import run_seed

pytestmark = pytest.mark.unit

_IDS = count(1)
ANN = Client("User:ann", "10.0.0.1")
RULES = AuthorizerRules(frozenset({"User:admin"}))
EVERYONE = AuthorizerRules(frozenset({"User:admin"}), allows_everyone=True)


def acl(
    name: str = "foo",
    operation: int = Operation.READ,
    permission: int = ALLOW,
    pattern: int = LITERAL,
    principal: str = "User:ann",
    host: str = "*",
) -> AccessControlEntry:
    return AccessControlEntry(Uuid.of(next(_IDS), 1), TOPIC, name, pattern, principal, host, operation, permission)


def allowed(
    *acls: AccessControlEntry,
    name: str = "foo",
    operation: Operation = Operation.READ,
    client: Client = ANN,
    rules: AuthorizerRules = RULES,
) -> bool:
    return rules.decide(image_of(list(acls)), client, operation, TOPIC, name).allowed


@pytest.mark.parametrize("everyone", [False, True])
@pytest.mark.parametrize("few", [acl_rights.FEW, 2])
def test_every_decision_is_the_naive_one_while_acls_come_and_go(
    few: int, everyone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By deltas: the image is never made anew (ACL-04, ACL-05, ACL-06, ACL-09, ACL-10, ACL-11). `few`: also where much
    is said of each.
    """
    monkeypatch.setattr(acl_rights, "FEW", few)
    random, rules = Random(run_seed()), AuthorizerRules(allows_everyone=everyone)
    there: dict[Uuid, AccessControlEntry] = {}
    image = AclsImage()
    for _ in range(100):
        builder = image.builder()
        for _ in range(random.randrange(1, 4)):
            if there and random.random() < min(0.9, len(there) / 25):
                gone = random.choice(list(there))
                builder.pop(gone)
                del there[gone]
            else:
                new = some_acl(random)
                if any(
                    pattern_of(new) == pattern_of(each) and content_of(new) == content_of(each)
                    for each in there.values()
                ):
                    continue  # a controller makes none twice
                builder[new.id] = there[new.id] = new
        image = builder.freeze()
        for _ in range(10):
            asked = some_question(random)
            client, operation = Client(asked.principal, asked.host), Operation(asked.operation)
            decided = rules.decide(image, client, operation, asked.resource_type, asked.name)
            assert decided.allowed == naive([*there.values()], asked, everyone), (asked, [*there.values()])
            found = rules.decide_for_any(image, client, operation, asked.resource_type)
            assert found.allowed == naive_for_any([*there.values()], asked, everyone), (asked, [*there.values()])


def test_a_super_user_passes_every_deny_even_before_the_log_is_known() -> None:
    """ACL-01, ACL-02."""
    admin = Client("User:admin", "10.0.0.1")
    assert allowed(acl(permission=DENY, operation=ALL, principal="User:*"), client=admin)
    assert RULES.decide(None, admin, Operation.ALTER, 4, "kafka-cluster").rule is Rule.SUPER_USER
    assert RULES.decide(None, ANN, Operation.READ, TOPIC, "foo") == (False, Rule.NOT_READY, "")
    assert EVERYONE.decide(None, ANN, Operation.READ, TOPIC, "foo").rule is Rule.NOT_READY
    assert not EVERYONE.decide_for_any(None, ANN, Operation.READ, TOPIC).allowed


def test_without_any_acl_the_rule_for_everyone_counts_and_any_acl_ends_it() -> None:
    """ACL-03."""
    assert not allowed()
    assert allowed(rules=EVERYONE)
    assert not allowed(acl(principal="User:bob"), rules=EVERYONE)
    assert not allowed(acl("fo", pattern=PREFIXED, principal="User:bob"), rules=EVERYONE)
    assert not allowed(acl("*", principal="User:bob"), rules=EVERYONE)
    assert allowed(acl("bar", principal="User:bob"), rules=EVERYONE)


def test_who_decided_is_said() -> None:
    image = image_of([acl("fo", pattern=PREFIXED), acl("foobar", permission=DENY)])
    assert RULES.decide(image, ANN, Operation.READ, TOPIC, "foo") == (True, Rule.MATCHING_ACL, "2:4:fo")
    assert RULES.decide(image, ANN, Operation.READ, TOPIC, "foobar") == (False, Rule.MATCHING_ACL, "2:3:foobar")
    assert RULES.decide(image, ANN, Operation.READ, TOPIC, "f") == (False, Rule.DEFAULT_DENY, "")


def test_what_is_permitted_implies_to_describe_and_what_is_denied_implies_nothing() -> None:
    """ACL-06."""
    for operation in (Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER):
        assert allowed(acl(operation=operation), operation=Operation.DESCRIBE)
        assert allowed(
            acl(operation=operation, permission=DENY), acl(operation=Operation.DESCRIBE), operation=Operation.DESCRIBE
        )
    assert not allowed(acl(operation=Operation.CREATE), operation=Operation.DESCRIBE)
    assert allowed(acl(operation=Operation.ALTER_CONFIGS), operation=Operation.DESCRIBE_CONFIGS)
    assert not allowed(acl(operation=Operation.ALTER), operation=Operation.DESCRIBE_CONFIGS)


def test_the_prefix_asterisk_is_a_character_and_the_name_asterisk_every_name() -> None:
    assert allowed(acl("*"))
    assert not allowed(acl("*", pattern=PREFIXED))
    assert allowed(acl("*", pattern=PREFIXED), name="*x")


def test_principals_of_every_type_are_everybody_and_hosts_are_texts() -> None:
    """ACL-07, ACL-08."""
    group = Client("Group:ann", "0:0:0:0:0:0:0:1")
    assert allowed(acl(principal="User:*", host="0:0:0:0:0:0:0:1"), client=group)
    assert not allowed(acl(principal="User:*", host="::1"), client=group)
    assert not allowed(acl(), client=group)
    assert allowed(acl(principal="User:a:b"), client=Client("User:a:b", "10.0.0.1"))
    assert not allowed(acl(principal="Group:*"), client=group), "only User:* is everybody"


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (b"\x0a\x00\x00\x01", "10.0.0.1"),
        (bytes(15) + b"\x01", "0:0:0:0:0:0:0:1"),
        (bytes.fromhex("20010db8000000000000000000000abc"), "2001:db8:0:0:0:0:0:abc"),
        (bytes(10) + b"\xff\xff\x7f\x00\x00\x01", "127.0.0.1"),
    ],
)
def test_addresses_are_written_as_java_writes_them(address: bytes, text: str) -> None:
    """ACL-07."""
    assert host_of(address) == text


def test_a_changed_acl_moves_between_patterns_with_its_rights() -> None:
    first = acl("fo", pattern=PREFIXED)
    image = image_of([first])
    moved = AccessControlEntry(first.id, TOPIC, "bar", PREFIXED, "User:ann", "*", Operation.READ, ALLOW)
    after = image_of([moved], image)
    assert RULES.decide(after, ANN, Operation.READ, TOPIC, "barn").allowed
    assert not RULES.decide(after, ANN, Operation.READ, TOPIC, "foo").allowed
    assert RULES.decide(image, ANN, Operation.READ, TOPIC, "foo").allowed, "an image never changes"
    emptied = after.builder()
    emptied.pop(first.id)
    assert not emptied.freeze().is_any_about(TOPIC, "barn")
