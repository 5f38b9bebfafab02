"""Requests at a controller's listeners are judged before they are served, in the name of who sent them; one that a
broker passes on in an Envelope in the name of its client. A request that names much is judged in pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from controller_runtime.answers.rights.guard import Guard, Question
from controller_runtime.answers.rights.verdict import Refused, Verdict
from controller_runtime.controller.rights import GATE
from controller_runtime.identifiers import Instant, WallClock
from controller_runtime.metadata.authorizer import AuthorizerRules
from controller_runtime.node.active.pending import ControllerRequest
from controller_runtime.node.quorum.effects import QuorumEffect
from controller_runtime.node.quorum.part import QuorumPart
from controller_runtime.parts import envelope as envelopes
from controller_runtime.parts.asker import Narrowed
from controller_runtime.parts.effects import Log
from controller_runtime.parts.long_answers import LongAnswers
from controller_runtime.parts.pieces import InPieces, whole
from controller_runtime.values import replace

Effects = list[QuorumEffect]
Serve = Callable[[ControllerRequest, Instant, WallClock], Effects]
"""Takes a request as far as it is served."""


class ControllerAdmission:
    def __init__(self, authorizer: AuthorizerRules, quorum: QuorumPart, long: LongAnswers[QuorumEffect]) -> None:
        self.guard = Guard(authorizer, GATE)
        self._quorum = quorum
        self._long = long

    def admit(self, call: ControllerRequest, serve: Serve, now: Instant, wall: WallClock) -> Effects:
        """Serve it, or what is left of it, now or a little later."""
        return self._long.first(
            call.asker,
            self._judging(call, now),
            lambda found, now, wall: self._served(call, serve, *found, now, wall),
            now,
            wall,
            doing="decided",
            outlives=True,
        )

    def admit_at_once(self, call: ControllerRequest, serve: Callable[[], Effects], now: Instant) -> Effects:
        """What needs rights on the cluster alone: it is served whole, or refused."""
        verdict, said = whole(self._judging(call, now))
        match verdict:
            case Refused(answer):
                return [*said, envelopes.respond(call.asker, answer)]
            case _:
                assert verdict is None, f"{call.key} is never served in part"
                return [*said, *serve()]

    def _served(
        self, call: ControllerRequest, serve: Serve, verdict: Verdict, said: list[Log], now: Instant, wall: WallClock
    ) -> Effects:
        match verdict:
            case None:
                return [*said, *serve(call, now, wall)]
            case Refused(answer):
                return [*said, envelopes.respond(call.asker, answer)]
            case Narrowed():
                left = replace(call, asker=replace(call.asker, request=verdict.rest, narrowed=verdict))
                return [*said, *serve(left, now, wall)]
            case _:
                assert_never(verdict)

    def _judging(self, call: ControllerRequest, now: Instant) -> InPieces[QuorumEffect, tuple[Verdict, list[Log]]]:
        guard = self.guard
        guard.is_ready = guard.is_ready or self._quorum.is_known
        asker = call.asker
        question = Question(
            call.principal,
            call.connection.peer_address if call.address is None else call.address,
            call.key,
            call.version,
            asker.request,
            may_use_tokens=(asker.envelope is not None or call.connection.authenticated)
            and not call.token_authenticated,
        )
        return guard.judge(question, self._quorum.image, now)
