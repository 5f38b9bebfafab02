"""Who is admitted, imported where there is an authorizer: it brings some twenty modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controller_runtime.broker.long_answers import LongAnswers

if TYPE_CHECKING:
    from controller_runtime.broker.admission import Admission
    from controller_runtime.metadata.authorizer import AuthorizerRules


def admission(authorizer: AuthorizerRules | None, makes_topics: bool, long: LongAnswers) -> Admission | None:
    """Without an authorizer nobody is asked."""
    if authorizer is None:
        return None
    from controller_runtime.broker.admission import Admission

    return Admission(authorizer, makes_topics, long)
