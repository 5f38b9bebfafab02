"""What a role of a node keeps to judge requests by: its gate, its authority, and whether the metadata log is known yet.

A node without an authorizer has no guard.
"""

from __future__ import annotations

from typing import NoReturn

from controller_runtime.answers.rights.gate import Gate
from controller_runtime.answers.rights.verdict import Judged, Verdict
from controller_runtime.identifiers import Instant
from controller_runtime.metadata.authorizer import AuthorizerRules
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.parts.authority import Authority
from controller_runtime.parts.effects import Log
from controller_runtime.parts.pieces import InPieces
from controller_runtime.protocol.schema import Message
from controller_runtime.values import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """A request, and in whose name it is served: for a forwarded one that of the client, with his address."""

    principal: str
    address: bytes
    api_key: int
    version: int
    request: Message
    may_use_tokens: bool = False
    """He may ask for delegation tokens: he comes neither with one nor without protection."""


class Guard:
    def __init__(self, rules: AuthorizerRules, gate: Gate, makes_topics: bool = False) -> None:
        self.authority = Authority(rules)
        self._gate = gate
        self._makes_topics = makes_topics
        self.is_ready = False
        """The image has come as far as the log was committed when this node first knew how far that is."""

    def judge(
        self, question: Question, image: MetadataImage, now: Instant
    ) -> InPieces[NoReturn, tuple[Verdict, list[Log]]]:
        """The verdict, and what the audit log says; all of it by the ACLs of this image."""
        acls = image.acls if self.is_ready else None
        asking = self.authority.asking(acls, question.principal, question.address, question.api_key)
        judged = Judged(asking, question.version, image, self._makes_topics, question.may_use_tokens)
        verdict = yield from self._gate.judge(judged, question.request)
        return verdict, self.authority.audit(asking, now) if asking.denials else []
