"""Whom the authorizer lets do what, asked for one request: the rules of `metadata.authorizer` on the ACLs of an image.

An Authority is what a role of a node remembers: decisions of the newest ACLs (bounded), and how many it allowed and
denied. Without an authorizer there is none. What is denied is a line of the audit log, of which a second has a bounded
number; names in it are escaped, because clients choose them.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import Final

from controller_runtime.identifiers import Instant
from controller_runtime.metadata.acls import AclsImage
from controller_runtime.metadata.authorizer import AuthorizerRules, Client, Decision, host_of
from controller_runtime.parts.authorization import Resource, Right
from controller_runtime.parts.effects import Log
from controller_runtime.parts.failed_requests import name_of
from controller_runtime.protocol.authorized_operations import Operation

MAX_REMEMBERED: Final = 20_000
MAX_NAME: Final = 300
"""Characters of a name that is remembered: a client chooses names, which may have 32,767, and names of topics are
shorter.
"""
MAX_AUDIT_LINES: Final = 20
"""In a second; what is more is counted."""
MAX_SHOWN: Final = 300
"""Characters of a name."""
CLUSTER_NAME: Final = "kafka-cluster"

_TYPES: Final = {
    Resource.TOPIC: 2,
    Resource.GROUP: 3,
    Resource.CLUSTER: 4,
    Resource.TRANSACTIONAL_ID: 5,
    Resource.DELEGATION_TOKEN: 6,
    Resource.USER: 7,
    Resource.ANY_TOPIC: 2,
}

_Question = tuple[Client, Operation, Resource, str]


class Authority:
    def __init__(self, rules: AuthorizerRules) -> None:
        self.rules = rules
        self.allowed: dict[int, int] = {}
        """How often, by the key of the API."""
        self.denied: dict[int, int] = {}
        self._acls: AclsImage | None = None
        self._found: dict[_Question, Decision] = {}
        self._second = -1
        self._lines = 0
        self._unwritten = 0

    @property
    def counts(self) -> dict[tuple[str, str], int]:
        """By the API and what was said; for metrics."""
        said = {"allowed": self.allowed, "denied": self.denied}
        return {(name_of(key), word): count for word, counts in said.items() for key, count in counts.items()}

    def asking(self, acls: AclsImage | None, principal: str, address: bytes, api_key: int) -> Asking:
        """`acls`: None while the metadata log is not known."""
        if acls is not self._acls:
            self._acls, self._found = acls, {}
        return Asking(self, acls, Client(principal, host_of(address)), api_key)

    def decide(self, acls: AclsImage | None, question: _Question) -> Decision:
        is_newest = acls is self._acls  # A long request is judged to its end by the ACLs that it was begun with.
        found = self._found.get(question) if is_newest else None
        if found is None:
            client, operation, resource, name = question
            if resource is Resource.ANY_TOPIC:
                found = self.rules.decide_for_any(acls, client, operation, _TYPES[resource])
            else:
                found = self.rules.decide(acls, client, operation, _TYPES[resource], name)
            if is_newest and len(question[3]) <= MAX_NAME:
                if len(self._found) >= MAX_REMEMBERED:
                    self._found.clear()
                self._found[question] = found
        return found

    def audit(self, asking: Asking, now: Instant) -> list[Log]:
        """The lines for what was denied."""
        second = int(now)
        if second != self._second:
            self._second, self._lines = second, 0
        written = [*islice(asking.denials.items(), max(0, MAX_AUDIT_LINES - self._lines))]
        out = []
        if written and self._unwritten:
            out.append(Log("info", f"denied: {self._unwritten} more requests, not written one by one"))
            self._unwritten = 0
        out += [Log("info", _line(question, decision, asking.api_key)) for question, decision in written]
        self._lines += len(written)
        self._unwritten += len(asking.denials) - len(written)
        return out


class Asking:
    """The questions of one request, in the name of who sent it."""

    __slots__ = ("_acls", "_authority", "api_key", "client", "denials")

    def __init__(self, authority: Authority, acls: AclsImage | None, client: Client, api_key: int) -> None:
        self._authority = authority
        self._acls = acls
        self.client = client
        self.api_key = api_key
        self.denials: dict[_Question, Decision] = {}
        """In the order of the questions; what was only probed is not among them."""

    @property
    def is_ready(self) -> bool:
        """Whether anybody but a super user can be judged: the metadata log is known."""
        return self._acls is not None

    @property
    def is_super_user(self) -> bool:
        return self.client.principal in self._authority.rules.super_users

    def may(self, operation: Operation, resource: Resource, name: str = CLUSTER_NAME) -> bool:
        """A denial is told to who reads the audit log."""
        question = (self.client, operation, resource, name)
        decision = self._authority.decide(self._acls, question)
        self.count(allowed=decision.allowed)
        if not decision.allowed:
            self.denials[question] = decision
        return decision.allowed

    def count(self, *, allowed: bool) -> None:
        counts = self._authority.allowed if allowed else self._authority.denied
        counts[self.api_key] = counts.get(self.api_key, 0) + 1

    def could(self, operation: Operation, resource: Resource, name: str = CLUSTER_NAME) -> bool:
        """Only probed: a list is filtered, or something else would do as well."""
        return self._authority.decide(self._acls, (self.client, operation, resource, name)).allowed

    def has(self, right: Right) -> bool:
        """Of those that name no resource but the cluster."""
        return self.may(right.operation, right.resource)

    def operations(self, all_of_them: int, resource: Resource, name: str = CLUSTER_NAME) -> int:
        """A bit for each of these that he may do (KIP-430)."""
        wanted = (operation for operation in Operation if all_of_them >> operation & 1)
        return sum(1 << operation for operation in wanted if self.could(operation, resource, name))


def _line(question: _Question, decision: Decision, api_key: int) -> str:
    client, operation, resource, name = question
    rule = f"{decision.rule.value}({_shown(decision.pattern)})" if decision.pattern else decision.rule.value
    kind = "Topic" if resource is Resource.ANY_TOPIC else resource.value
    return (
        f"denied: principal={_shown(client.principal)} host={client.host} operation={operation.shown} "
        f"resource={kind}:LITERAL:{_shown(name)} api={name_of(api_key)} rule={rule}"
    )


def _shown(text: str) -> str:
    return json.dumps(text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "...")
