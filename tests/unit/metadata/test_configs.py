"""Dynamic configurations by resource: what is changed, what is seen of it before the image is frozen, and what changed
since.
"""

from __future__ import annotations

import pytest

from controller_runtime.metadata.configs import BROKER, GROUP, TOPIC, ConfigsBuilder, ConfigsImage

pytestmark = pytest.mark.unit


def image(*values: tuple[int, str, str, str]) -> ConfigsImage:
    builder = ConfigsBuilder(ConfigsImage())
    for kind, name, key, value in values:
        builder.set(kind, name, key, value)
    return builder.freeze()


def test_a_view_is_what_freeze_would_give_after_every_write() -> None:
    builder = ConfigsBuilder(image((BROKER, "1", "a", "x")))
    builder.set(BROKER, "2", "a", "y")
    before = builder.view()
    assert before is builder.view(), "nothing was written: whoever compares images sees it at once"
    builder.set(TOPIC, "t", "b", "z")
    assert builder.view() == image((TOPIC, "t", "b", "z"), (BROKER, "1", "a", "x"), (BROKER, "2", "a", "y"))
    frozen = builder.freeze()
    builder.set(BROKER, "3", "a", "w")
    assert len(builder.view().by_type[BROKER]) == 3
    assert len(frozen.by_type[BROKER]) == 2


def test_a_resource_without_values_is_gone_and_so_is_a_type_without_resources() -> None:
    builder = ConfigsBuilder(image((BROKER, "1", "a", "x"), (GROUP, "g", "b", "y"), (GROUP, "g", "c", "z")))
    builder.set(BROKER, "1", "a", None)
    builder.set(GROUP, "g", "b", None)
    assert builder.freeze() == image((GROUP, "g", "c", "z"))
    assert builder.freeze().of(BROKER, "1") == {}


def test_what_changed_since_an_older_image_is_told_with_the_values_now() -> None:
    before = image((BROKER, "1", "a", "x"), (BROKER, "2", "a", "x"), (GROUP, "g", "b", "y"))
    builder = ConfigsBuilder(before)
    builder.set(BROKER, "1", "a", "changed")
    builder.set(GROUP, "g", "b", None)
    builder.set(TOPIC, "t", "c", "z")
    changes = list(builder.freeze().changes_since(before))
    assert changes == [(TOPIC, "t", {"c": "z"}), (BROKER, "1", {"a": "changed"}), (GROUP, "g", {})]
