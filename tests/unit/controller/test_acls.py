"""ACLs as records (CFG-06): what `tests/interop/test_differential_acls.py` cannot see on the wire."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from controller_runtime.answers.security_rules import SecurityRules
from controller_runtime.controller import acls
from controller_runtime.controller.decision import RequestContext
from controller_runtime.identifiers import Offset, WallClock
from controller_runtime.metadata.acl_rights import LITERAL, PREFIXED
from controller_runtime.metadata.acls import ANY, MATCH, AclFilter, Pattern
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.replay import replay
from controller_runtime.metadata.snapshot import snapshot_records
from controller_runtime.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from controller_runtime.protocol.messages.create_acls_response import CreateAclsResponse
from controller_runtime.protocol.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from controller_runtime.protocol.messages.delete_acls_response import DeleteAclsResponse
from controller_runtime.protocol.messages.describe_acls_request import DescribeAclsRequest
from controller_runtime.protocol.messages.describe_acls_response import DescribeAclsResponse
from support.nodes.controller_world import World
from support.sampling import run_seed

pytestmark = pytest.mark.unit

TOPIC, GROUP, READ, ALLOW = 2, 3, 3, 3
EVERYTHING = DeleteAclsFilter(
    resource_type_filter=ANY,
    resource_name_filter=None,
    pattern_type_filter=ANY,
    principal_filter=None,
    host_filter=None,
    operation=ANY,
    permission_type=ANY,
)


def acl(name: str, pattern: int = LITERAL, principal: str = "User:ann", kind: int = TOPIC) -> AclCreation:
    return AclCreation(
        resource_type=kind,
        resource_name=name,
        resource_pattern_type=pattern,
        principal=principal,
        host="*",
        operation=READ,
        permission_type=ALLOW,
    )


def keeping() -> World:
    return World(security=SecurityRules(keeps_acls=True))


def create(world: World, *wanted: AclCreation) -> list[int]:
    return [each.error_code for each in world.ask(CreateAclsRequest(creations=wanted), CreateAclsResponse).results]


def delete(world: World, *filters: DeleteAclsFilter) -> list[tuple[int, int]]:
    answer = world.ask(DeleteAclsRequest(filters=filters), DeleteAclsResponse)
    return [(each.error_code, len(each.matching_acls)) for each in answer.filter_results]


def test_an_acl_that_is_there_is_granted_and_not_written_again() -> None:
    """CFG-06: nor one that is named twice."""
    world = keeping()
    assert create(world, acl("orders"), acl("orders"), acl("orders", PREFIXED)) == [0, 0, 0]
    end = world.offset
    assert len(world.image.acls) == 2
    assert create(world, acl("orders", PREFIXED), acl("orders")) == [0, 0]
    assert world.offset == end


def test_what_two_filters_find_is_removed_once() -> None:
    """CFG-06: both answers name it."""
    world = keeping()
    create(world, acl("orders"), acl("payments"))
    end = world.offset
    assert delete(world, EVERYTHING, EVERYTHING) == [(0, 2), (0, 2)]
    assert (len(world.image.acls), world.offset - end) == (0, 2)


def test_a_filter_removes_what_it_matches_and_nothing_else() -> None:
    """CFG-06: by name and pattern, by principal, by kind."""
    world = keeping()
    every = (acl("orders"), acl("orders", PREFIXED), acl("payments", principal="User:bob"), acl("orders", kind=GROUP))
    assert create(world, *every) == [0] * 4
    bob, group = replace(EVERYTHING, principal_filter="User:bob"), replace(EVERYTHING, resource_type_filter=GROUP)
    literal = replace(
        EVERYTHING, resource_name_filter="orders", pattern_type_filter=LITERAL, resource_type_filter=TOPIC
    )
    nobody = replace(EVERYTHING, principal_filter="User:eve")
    assert delete(world, nobody) == [(0, 0)]
    assert len(world.image.acls) == 4
    assert delete(world, bob, literal) == [(0, 1), (0, 1)]
    assert {(each.resource_type, each.pattern_type) for each in world.image.acls.values()} == {
        (TOPIC, PREFIXED),
        (GROUP, LITERAL),
    }
    assert delete(world, group) == [(0, 1)]


def test_limits_of_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """CFG-06, ACL-13, ACL-14: nothing is done beyond them."""
    assert acls.MAX_RECORDS == 10_000, "as Kafka's: asked with 10,001 ACLs"
    monkeypatch.setattr(acls, "MAX_RECORDS", 100)
    world = keeping()
    many = tuple(acl(f"t{number}") for number in range(101))
    assert set(create(world, *many)) == {44}
    assert len(world.image.acls) == 0
    assert set(create(world, *many[1:])) == {0}
    assert set(create(world, many[0])) == {0}
    assert delete(world, EVERYTHING) == [(42, 0)]
    assert len(world.image.acls) == 101


def test_a_few_bytes_of_filters_do_not_make_an_answer_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acls, "MAX_LISTED", 100)
    world = keeping()
    create(world, *(acl(f"t{number}") for number in range(20)))
    filters = (EVERYTHING,) * 6
    assert set(delete(world, *filters)) == {(44, 0)}
    assert set(delete(world, *filters[1:])) == {(0, 20)}


def test_many_filters_that_find_nothing_are_judged_in_pieces() -> None:
    world = keeping()
    create(world, *(acl(f"t{number}") for number in range(10)))
    nothing = DeleteAclsFilter(
        resource_type_filter=ANY,
        resource_name_filter="x" * 200,
        pattern_type_filter=MATCH,
        principal_filter=None,
        host_filter=None,
        operation=ANY,
        permission_type=ANY,
    )
    request = DeleteAclsRequest(filters=(nothing,) * 10)
    pieces = world.service.plan(world.image, request, RequestContext(3, Offset(world.offset), WallClock(0)), world.now)
    assert sum(1 for _ in pieces) == 2


def test_an_image_finds_what_concerns_a_name_as_a_look_at_every_acl_does() -> None:
    """The index against the rule, over small random sets that are changed and frozen again and again."""
    rng = Random(run_seed())
    names = ("a", "ab", "abc", "b", "*", "abcd")
    world = keeping()
    for _ in range(30):
        one = acl(rng.choice(names), rng.choice((LITERAL, PREFIXED)), rng.choice(("User:a", "User:b")))
        if rng.random() < 0.6:
            create(world, one)
        else:
            found = rng.choice(names)
            delete(world, DeleteAclsFilter(
                resource_type_filter=TOPIC,
                resource_name_filter=found,
                pattern_type_filter=rng.choice((LITERAL, PREFIXED)),
                principal_filter=None,
                host_filter=None,
                operation=ANY,
                permission_type=ANY,
            ))  # fmt: skip
        image = world.image.acls
        for name in (*names, None):
            for kind in (ANY, MATCH, LITERAL, PREFIXED):
                wanted = AclFilter(rng.choice((ANY, TOPIC)), name, kind, None, None, ANY, ANY)
                by_index = {each.id for each in image.candidates(wanted) if each and wanted.matches(each)}
                assert by_index == {each.id for each in image.values() if wanted.matches(each)}
        assert sum(len(image.about(Pattern(TOPIC, kind, name))) for kind in (3, 4) for name in names) == len(image)


def test_a_snapshot_makes_the_same_acls_again() -> None:
    world = keeping()
    create(world, acl("orders"), acl("ord", PREFIXED), acl("g", kind=GROUP))
    builder = MetadataImage.empty().builder()
    for record, _ in snapshot_records(world.image):
        replay(builder, record)
    again = builder.freeze().acls
    assert again == world.image.acls
    assert again.about(Pattern(TOPIC, PREFIXED, "ord")) == world.image.acls.about(Pattern(TOPIC, PREFIXED, "ord"))


def test_a_node_that_keeps_none_says_so_for_each() -> None:
    world = World()
    assert create(world, acl("a"), acl("")) == [54, 54]
    assert delete(world, EVERYTHING) == [(54, 0)]
    assert world.ask(DescribeAclsRequest(), DescribeAclsResponse).error_code == 54
