"""What values of several names say together, with each other and with a node's file, is answered as Apache Kafka
answered it.
"""

from __future__ import annotations

import json

import pytest

from controller_runtime.configuration.settings import RULES
from controller_runtime.metadata import broker_config_specs
from controller_runtime.metadata.broker_configs import NodeRules
from support.configs.questions import answer_of, shown
from support.configs.rules import Story, recorded, stories
from support.configs.world import ConfigWorld, agree

pytestmark = pytest.mark.conformance

TAKES_EVERYTHING = NodeRules(RULES.names, RULES.hidden)
"""What is without effect here is taken, too, so that what it says together with other values is compared."""


@pytest.mark.parametrize("story", list(stories()), ids=lambda story: story.name)
def test_what_values_say_together_is_answered_as_by_java(story: Story) -> None:
    broker_config_specs.specs.cache_clear()
    world, wrong = ConfigWorld(story.file, TAKES_EVERYTHING), []
    for question, java in zip(story.questions, recorded(story), strict=True):
        ours = json.loads(json.dumps(answer_of(world.ask(question))))
        if not agree(java, ours):
            wrong.append((question.listener, shown(question.body), "java:", java, "ours:", ours))
    assert wrong == []
