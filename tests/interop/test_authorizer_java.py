"""ACLs by chance and questions about them, decided by Apache Kafka's own class StandardAuthorizer and by ours."""

from __future__ import annotations

import subprocess
from collections.abc import Collection
from pathlib import Path
from random import Random

import pytest

from controller_runtime.metadata.authorizer import AuthorizerRules, Client
from controller_runtime.protocol.authorized_operations import Operation
from support.apache_kafka import java_kafka
from support.authorizer_worlds import LITERAL, Question, image_of, some_acl, some_question
from support.sampling import run_seed

pytestmark = pytest.mark.interop

PROGRAM = Path(java_kafka.__file__).with_name("Authorizing.java")
ADMIN = Question("User:root", "10.0.0.1", 7, 4, "kafka-cluster")


def test_the_authorizer_decides_as_javas_class(java: str) -> None:
    """ACL-01, ACL-03 to ACL-10; `authorizeByResourceType` too, which asks for what a topic, a group can be asked."""
    random, lines, ours = Random(run_seed()), [], []
    for _ in range(300):
        everyone = random.random() < 0.5
        rules = AuthorizerRules(frozenset({"User:admin", "User:root"}), allows_everyone=everyone)
        acls = {(*_fields(acl),): acl for acl in (some_acl(random) for _ in range(random.randrange(12)))}
        image = image_of([*acls.values()])
        lines += [f"world\t{str(everyone).lower()}", *("\t".join(("acl", *fields)) for fields in acls)]
        for asked in [ADMIN, *(some_question(random) for _ in range(25))]:
            if _javas_asterisk(asked, acls):
                continue
            client, operation = Client(asked.principal, asked.host), Operation(asked.operation)
            lines.append("\t".join(("ask", *map(str, asked))))
            ours.append(rules.decide(image, client, operation, asked.resource_type, asked.name).allowed)
            lines.append("\t".join(("any", *map(str, asked))))
            ours.append(rules.decide_for_any(image, client, operation, asked.resource_type).allowed)
    said = _java(java, "\n".join(lines))
    assert len(said) == len(ours)
    asked_lines = [line for line in lines if line.startswith(("ask", "any"))]
    assert [line for line, a, b in zip(asked_lines, said, ours, strict=True) if a != b] == []
    assert any(ours)
    assert not all(ours)


def _javas_asterisk(asked: Question, acls: Collection[tuple[str, ...]]) -> bool:
    """Java takes an ACL about every name for one about a name that this one begins with, and skips it
    (docs/deviations.md).
    """
    every = any(fields[:3] == (str(asked.resource_type), "*", str(LITERAL)) for fields in acls)
    return every and asked.name.startswith("*") and asked.name != "*"


def _fields(acl: object) -> tuple[str, ...]:
    names = ("resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission_type")
    return tuple(str(getattr(acl, name)) for name in names)


def _java(class_path: str, text: str) -> list[bool]:
    command = ["java", *java_kafka.JVM_FLAGS, "-cp", class_path, str(PROGRAM)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [line == "1" for line in done.stdout.split()]
