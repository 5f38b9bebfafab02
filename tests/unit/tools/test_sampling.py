"""What takes turns has exactly one in a round of seeds, and names do not all have the same."""

from __future__ import annotations

import pytest

from support.sampling import has_its_turn

pytestmark = pytest.mark.unit

NAMES = [f"test_worlds.py::test_a_story[{number}]" for number in range(60)]


@pytest.mark.parametrize("one_of", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", [0, 4454, 2**32 - 1])
def test_every_name_has_one_turn_in_a_round_and_every_seed_tells_some(one_of: int, seed: int) -> None:
    turns = {name: [has_its_turn(name, one_of, seed + step) for step in range(one_of)] for name in NAMES}
    assert {name: sum(each) for name, each in turns.items()} == dict.fromkeys(NAMES, 1)
    assert all(any(turns[name][step] for name in NAMES) for step in range(one_of))
