"""What values of several names say together, with each other and with a node's file, is answered as Apache Kafka
answered it.
"""

from __future__ import annotations

import json

import pytest

from controller_runtime.configuration.settings import is_known
from controller_runtime.metadata import broker_configs
from controller_runtime.metadata.broker_configs import NodeRules
from support.config_questions import answer_of, shown
from support.config_rules import Story, recorded, stories
from support.config_world import ConfigWorld, agree

pytestmark = pytest.mark.conformance

TAKES_EVERYTHING = NodeRules(is_known)
"""What is without effect here is taken, too, so that what it says together with other values is compared."""


@pytest.mark.parametrize("story", list(stories()), ids=lambda story: story.name)
def test_what_values_say_together_is_answered_as_by_java(story: Story) -> None:
    broker_configs.specs.cache_clear()
    world, wrong = ConfigWorld(story.file, TAKES_EVERYTHING), []
    for question, java in zip(story.questions, recorded(story), strict=True):
        ours = json.loads(json.dumps(answer_of(world.ask(question))))
        if not agree(java, ours):
            wrong.append((question.listener, shown(question.body), "java:", java, "ours:", ours))
    assert wrong == []
