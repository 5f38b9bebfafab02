"""Who reads the committed log: from the beginning, in order, once, whenever it comes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controller_runtime.identifiers import Offset
from controller_runtime.node.quorum.image_feed import ImageFeed
from controller_runtime.protocol.record_batch import batch_headers
from support.nodes.lone_controller import LoneController

pytestmark = pytest.mark.unit


def positions(feed: ImageFeed) -> list[Offset]:
    """Where it stands after each piece."""
    seen = [feed.position]
    while feed.advance():
        seen.append(feed.position)
    return [*seen, feed.position]


def segments(controller: LoneController) -> Iterator[bytes]:
    """The whole log, as it is read: a segment at a time."""
    position = controller.log.start_offset
    while data := controller.log.read(position, 1 << 30):
        yield data
        position = Offset(list(batch_headers(data))[-1].next_offset)


def test_whoever_listens_late_hears_everything_once_and_in_order() -> None:
    """FET-20, IMG-04."""
    controller = LoneController()
    controller.run(20)
    node = controller.node
    late = ImageFeed(node.meta, controller.log)
    seen = positions(late)
    assert seen == sorted(seen)
    assert late.position == node.meta.high_watermark > 20
    assert late.image == node.image
    assert late.replayed_bytes == sum(len(data) for data in segments(controller)), "every byte, once"


def test_whoever_listens_again_begins_again() -> None:
    """FET-20."""
    controller = LoneController()
    controller.run(5)
    first = ImageFeed(controller.node.meta, controller.log)
    positions(first)
    again = ImageFeed(controller.node.meta, controller.log)
    assert again.position == controller.log.start_offset < first.position
    positions(again)
    assert (again.position, again.image) == (first.position, first.image)


def test_nothing_that_is_not_committed_is_heard() -> None:
    """FET-20, IMG-04: and what is committed later, is."""
    controller = LoneController()
    controller.run(5)
    feed = ImageFeed(controller.node.meta, controller.log)
    positions(feed)
    before = feed.position
    assert before == controller.node.meta.high_watermark
    controller.run(5)
    positions(feed)
    assert before < feed.position == controller.node.meta.high_watermark
