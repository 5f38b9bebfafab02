"""Cases that two tests show in two ways are shown in one of them by a run: the seed chooses, a soak shows both."""

from __future__ import annotations

import pytest

from support.sampling import one_way_each

MISTAKES = (
    "test_a_mistake_on_a_cluster_that_runs_is_over_once_it_is_corrected",
    "test_a_mistake_from_the_beginning_is_over_once_it_is_corrected",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    one_way_each(config, items, MISTAKES)
