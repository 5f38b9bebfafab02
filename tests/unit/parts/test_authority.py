"""What a role remembers of the authorizer's decisions: never one of other ACLs, and never more than it has room for."""

from __future__ import annotations

import tracemalloc
from random import Random

import pytest

from controller_runtime.metadata.acls import AclsImage
from controller_runtime.metadata.authorizer import AuthorizerRules
from controller_runtime.parts import authority as authority_of
from controller_runtime.parts.authority import Asking, Authority
from controller_runtime.parts.authorization import Resource
from controller_runtime.protocol.authorized_operations import Operation
from support.authorizer_worlds import (
    CLUSTER,
    GROUP,
    TOPIC,
    Question,
    image_of,
    naive,
    naive_for_any,
    some_acl,
    some_question,
)
from support.sampling import run_seed

pytestmark = pytest.mark.unit

LOCAL = bytes((127, 0, 0, 1))
KINDS = {TOPIC: Resource.TOPIC, GROUP: Resource.GROUP, CLUSTER: Resource.CLUSTER}


def answer(asking: Asking, question: Question) -> bool:
    return asking.could(Operation(question.operation), KINDS[question.resource_type], question.name)


@pytest.mark.parametrize("seed", range(20))
def test_a_question_asked_again_is_answered_by_the_acls_of_its_request(seed: int) -> None:
    """ACL-11: few questions, asked again and again while ACLs come and go, also by a request that was begun with older
    ACLs and asks its last after the next one has begun.
    """
    random = Random(f"{run_seed()} {seed}")
    questions = [some_question(random)._replace(host="127.0.0.1") for _ in range(12)]
    authority, image, older = Authority(AuthorizerRules()), AclsImage(), None
    for _ in range(30):
        builder = image.builder()
        for _ in range(random.randrange(3)):
            acl = some_acl(random)
            builder[acl.id] = acl
        if image and random.random() < 0.4:
            builder.pop(random.choice([*image]))
        image = builder.freeze()
        asked = random.choice(questions)
        now = authority.asking(image, asked.principal, LOCAL, 3)
        for judged, acls in ((now, image), *((older,) if older is not None else ())):
            for each in questions:
                mine = each._replace(principal=judged.client.principal)
                assert answer(judged, mine) == naive([*acls.values()], mine, False), mine
            whichever = asked._replace(resource_type=TOPIC, principal=judged.client.principal)
            expected = naive_for_any([*acls.values()], whichever, False)
            assert judged.could(Operation(asked.operation), Resource.ANY_TOPIC) == expected
        older = (now, image)


@pytest.mark.parametrize(("questions", "length"), [(20_000, 40), (300, 30_000)])
def test_what_is_remembered_is_bounded_whatever_names_are_asked_about(
    questions: int, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names are chosen by clients: neither many nor long ones stay."""
    monkeypatch.setattr(authority_of, "MAX_REMEMBERED", 500)
    authority = Authority(AuthorizerRules())
    asking = authority.asking(image_of([some_acl(Random(1))]), "User:ann", LOCAL, 3)
    tracemalloc.start()
    try:
        for number in range(questions):
            assert not asking.could(Operation.READ, Resource.TOPIC, f"{number}".zfill(length))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 500_000
