"""librdkafka's own tests against three brokers of ours, number after number: by `make soak`, and by its name.

`suite_of_librdkafka.txt` says which have to pass, with which protocol of groups and on which brokers, and why others
do not apply.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from support.clients.librdkafka_suite import BROKERS, SCENARIOS, Suite, with_racks
from support.nodes.processes import Cluster

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.timeout(1200)]

LIST = Path(__file__).with_name("suite_of_librdkafka.txt")
WAYS = ("quick", "whole", "open", "out")


class Told(NamedTuple):
    scenario: str
    protocol: str
    name: str
    how: str


class Run(NamedTuple):
    """The program is asked for a number; all tests that have it run."""

    scenario: str
    protocol: str
    number: str
    is_quick: bool
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.scenario}-{self.protocol}-{self.number}"


def told(text: str) -> list[Told]:
    out: list[Told] = []
    scenario = protocol = ""
    for line in text.splitlines():
        if line.startswith("["):
            scenario, protocol = line.strip("[]").split()
        elif line and not line.startswith("#"):
            name, how = line.split()[:2]
            assert how in WAYS, line
            out.append(Told(scenario, protocol, name, how))
    return out


def runs(lines: list[Told]) -> list[Run]:
    numbers: dict[tuple[str, str, str], list[Told]] = {}
    for one in lines:
        if one.how in ("quick", "whole"):
            numbers.setdefault((one.scenario, one.protocol, one.name.partition("_")[0]), []).append(one)
    return [
        Run(*key, all(one.how == "quick" for one in same), tuple(one.name for one in same))
        for key, same in numbers.items()
    ]


@pytest.fixture(scope="module", params=SCENARIOS)
def suite(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    home, scenario = tmp_path_factory.mktemp("librdkafka-suite"), request.param
    settings = {**BROKERS, **SCENARIOS[scenario]}
    with with_racks(Cluster(home / "nodes", controllers=1, brokers=3, extra=settings)) as cluster:
        cluster.start()
        cluster.wait_until_unfenced(180.0)
        yield Suite.at(cluster, home / "suite", scenario)


@pytest.mark.parametrize(
    ("suite", "run"), [(run.scenario, run) for run in runs(told(LIST.read_text()))], ids=str, indirect=["suite"]
)
def test_its_own_tests_pass(suite: Suite, run: Run) -> None:
    found = suite.run(run.number, *(("-Q",) if run.is_quick else ()), protocol=run.protocol)
    missed = {name: found.states.get(name) for name in run.names if found.states.get(name) != "PASSED"}
    assert not missed, found.said[-4000:]
    assert found.ended == 0, found.said[-4000:]
