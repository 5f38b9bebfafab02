"""One controller becomes three, five, three and one again on a real Kubernetes, while a client changes the metadata
without pause and operators die.

An operator ends before it calls, right after it has written down what it will do, and right after the call, for grants,
adds and removes; and the resource is edited back in the middle of the way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from support.clients.topic_client import nothing_is_lost, topic_client
from support.kubernetes.cluster import Kubernetes
from support.kubernetes.devcluster import why_not_here
from support.kubernetes.operator_process import Images, Story, default_spec, eventually, pool
from support.kubernetes.succession import Succession, succession

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(bool(why_not_here()), reason=why_not_here()),
]

GROWING = [
    f"{when}.{what}" for what in ("grant", "add_voter") for when in ("after_journal", "before_call", "after_call")
]
SHRINKING = [f"{when}.remove_voter" for when in ("after_journal", "before_call", "after_call")]


@pytest.fixture(scope="module")
def story(kubernetes: Kubernetes, resource_definition: None, images: Images) -> Iterator[Story]:
    with kubernetes.namespace("op-scales") as namespace:
        yield Story(kubernetes, namespace, images("runtime"))


@pytest.fixture(scope="module")
def operators(story: Story, images: Images, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Succession]:
    with succession(story.namespace, tmp_path_factory.mktemp("operators"), images, 19700) as found:
        controllers = {**default_spec(story.image)["controllers"], "replicas": 1}
        story.apply(controllers=controllers, brokerPools=[pool(1)])
        story.await_ready()
        yield found


@pytest.fixture(scope="module")
def acknowledged(story: Story, operators: Succession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    with topic_client(story, "scaled", tmp_path_factory.mktemp("client")) as names:
        yield names


def resize(story: Story, count: int) -> None:
    story.apply(controllers={**story.spec["controllers"], "replicas": count})


def await_voters(story: Story, operators: Succession, count: int) -> None:
    """All of them live; operators that die on the way are succeeded."""

    def there() -> bool:
        tended = operators.tend()
        now = story.voters()
        assert sorted(now) == list(range(count)), now
        assert {state for _, state in now.values()} == {"Live"}, now
        return tended

    eventually(f"{count} live voters", there)
    story.await_ready()
    eventually("nobody else runs", lambda: len(story.pods()) == count + 1)


def kept(before: dict[int, tuple[str, str]], after: dict[int, tuple[str, str]]) -> bool:
    """Who was a voter before and is one now has the same directory."""
    return all(after[each][0] == directory for each, (directory, _) in before.items() if each in after)


def test_one_becomes_three_and_operators_die_at_every_step_of_it(
    story: Story, operators: Succession, acknowledged: list[str], sampled: Callable[[str], None]
) -> None:
    before, count, began = story.voters(), len(acknowledged), time.monotonic()
    operators.die_at(GROWING)
    resize(story, 3)
    await_voters(story, operators, 3)
    assert operators.died_at == GROWING
    assert kept(before, story.voters())
    nothing_is_lost(story, acknowledged, count)
    sampled(f"1 -> 3 voters with {len(GROWING)} dead operators: {time.monotonic() - began:.0f} s")


def test_an_edit_in_the_middle_takes_the_voter_that_came_out_again(
    story: Story, operators: Succession, acknowledged: list[str]
) -> None:
    before, count = story.voters(), len(acknowledged)
    resize(story, 5)
    eventually("a fourth voter", lambda: len(story.voters()) >= 4)
    resize(story, 3)
    await_voters(story, operators, 3)
    assert kept(before, story.voters())
    nothing_is_lost(story, acknowledged, count)


def test_three_become_five(story: Story, operators: Succession, acknowledged: list[str]) -> None:
    before, count = story.voters(), len(acknowledged)
    resize(story, 5)
    await_voters(story, operators, 5)
    assert kept(before, story.voters())
    nothing_is_lost(story, acknowledged, count)


def test_five_become_three_and_operators_die_at_every_step_of_it(
    story: Story, operators: Succession, acknowledged: list[str], sampled: Callable[[str], None]
) -> None:
    before, count, began, dead = story.voters(), len(acknowledged), time.monotonic(), len(operators.died_at)
    operators.die_at(SHRINKING)
    resize(story, 3)
    await_voters(story, operators, 3)
    assert operators.died_at[dead:] == SHRINKING
    assert kept(before, story.voters())
    nothing_is_lost(story, acknowledged, count)
    sampled(f"5 -> 3 voters with {len(SHRINKING)} dead operators: {time.monotonic() - began:.0f} s")


def test_three_become_one_and_every_acknowledged_topic_is_there(
    story: Story, operators: Succession, acknowledged: list[str], sampled: Callable[[str], None]
) -> None:
    before, count = story.voters(), len(acknowledged)
    resize(story, 1)
    await_voters(story, operators, 1)
    assert kept(before, story.voters())
    nothing_is_lost(story, acknowledged, count)
    sampled(f"1 -> 3 -> 5 -> 3 -> 1 under a client: {len(acknowledged)} topics acknowledged, none missing")
