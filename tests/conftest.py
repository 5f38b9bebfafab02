"""What every layer of tests shares: markers by folder, the seed of the run, and the account of what was sampled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support import sampling

LAYERS = ("unit", "properties", "conformance", "simulation", "fuzz", "integration", "interop", "spark", "e2e")
TESTS = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite", action="store_true", help="write what was produced over what scripts and golden files expect"
    )


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be regenerated instead of compared; the difference is what reviewers read."""
    return bool(request.config.getoption("--rewrite"))


def pytest_configure(config: pytest.Config) -> None:
    config.stash[sampling.ACCOUNT] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        layer = item.path.relative_to(TESTS).parts[0]
        if layer in LAYERS:
            item.add_marker(layer)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in config.stash[sampling.ACCOUNT]:
        terminalreporter.write_line(f"sampled: {line}")


@pytest.fixture
def sampled(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Say what a test chose by chance (seeds, failpoints, mutants): printed at the end of the run."""
    return request.config.stash[sampling.ACCOUNT].append


@pytest.fixture(scope="session")
def run_seed() -> int:
    """The seed of this run: QUORATE_SEED, or one that changes with every commit."""
    return sampling.run_seed()
