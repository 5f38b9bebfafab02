"""What the authorizer costs: `python -m benchmarks.authorizer --acls 10000`.

So many ACLs of five hundred principals about literal names and prefixes, of which each question meets several, most of
them denied or allowed by the last it looks at. Microseconds, the middle one and the one that 99 of 100 do not exceed:
of a decision (each the best of five, so that other programs do not count), of a question that was never asked and of
one that was, and of a change.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from random import Random

from controller_runtime.identifiers import Uuid
from controller_runtime.metadata.acls import AclsImage
from controller_runtime.metadata.authorizer import AuthorizerRules, Client
from controller_runtime.metadata.security import AccessControlEntry
from controller_runtime.parts.authority import Authority
from controller_runtime.parts.authorization import Resource
from controller_runtime.protocol.authorized_operations import Operation

TEAMS, TOPICS, PRINCIPALS = 300, 40, 500
ADDRESS = bytes((10, 0, 0, 1))


def some_acl(random: Random, number: int) -> AccessControlEntry:
    kind, team = random.choice((3, 3, 4)), f"team-{random.randrange(TEAMS)}"
    name = f"{team}.topic-{random.randrange(TOPICS)}" if kind == 3 else f"{team}."[: random.randrange(4, 10)]
    return AccessControlEntry(
        id=Uuid.of(number + 1, 1),
        resource_type=2,
        resource_name=name,
        pattern_type=kind,
        principal=f"User:svc-{random.randrange(PRINCIPALS)}",
        host=random.choice(("*", "*", "10.0.0.1")),
        operation=random.choice((Operation.READ, Operation.WRITE, Operation.DESCRIBE)),
        permission_type=random.choice((3, 3, 3, 2)),
    )


def times_of(calls: list[Callable[[], object]], best_of: int = 1) -> dict[str, float]:
    found = sorted(min(_time_of(call) for _ in range(best_of)) for call in calls)
    return {"p50": found[len(found) // 2], "p99": found[len(found) * 99 // 100]}


def _time_of(call: Callable[[], object]) -> float:
    began = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - began) / 1000


def measure(acls: int, questions: int) -> dict[str, dict[str, float]]:
    random = Random(1)
    builder = AclsImage().builder()
    for number in range(acls):
        acl = some_acl(random, number)
        builder[acl.id] = acl
    image = builder.freeze()
    authority = Authority(AuthorizerRules(frozenset({"User:admin"})))

    def question() -> Callable[[], object]:
        name = f"team-{random.randrange(TEAMS)}.topic-{random.randrange(TOPICS)}"
        asking = authority.asking(image, f"User:svc-{random.randrange(PRINCIPALS)}", ADDRESS, 1)
        return lambda: asking.could(Operation.READ, Resource.TOPIC, name)

    def decision() -> Callable[[], object]:
        name = f"team-{random.randrange(TEAMS)}.topic-{random.randrange(TOPICS)}"
        client = Client(f"User:svc-{random.randrange(PRINCIPALS)}", "10.0.0.1")
        return lambda: authority.rules.decide(image, client, Operation.READ, 2, name)

    def change(number: int) -> Callable[[], object]:
        acl = some_acl(random, acls + number)

        def changed() -> None:
            one = image.builder()
            one[acl.id] = acl
            one.freeze()

        return changed

    def admin() -> object:
        return authority.asking(image, "User:admin", ADDRESS, 1).could(Operation.READ, Resource.TOPIC, "team-1.topic-1")

    asked = [question() for _ in range(questions)]
    return {
        "a decision, the best of 5": times_of([decision() for _ in range(questions)], best_of=5),
        "a new question": times_of(asked),
        "a question again": times_of(asked),
        "a super user": times_of([admin] * questions),
        "one ACL more": times_of([change(number) for number in range(200)]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--acls", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=10_000)
    options = parser.parse_args()
    for name, found in measure(options.acls, options.questions).items():
        print(json.dumps({"what": name, "us": {key: round(value, 2) for key, value in found.items()}}))


if __name__ == "__main__":
    main()
