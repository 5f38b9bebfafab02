"""The nodes that the tests of this layer share. The long run has its own, because it starts them anew after
a finding.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.fuzz.bench import Bench


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with Bench(tmp_path_factory.mktemp("fuzz")) as made:
        yield made
