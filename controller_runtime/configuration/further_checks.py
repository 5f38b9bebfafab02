"""What is asked of settings beside what shapes a node: each in a module of its own, all of them from here."""

from __future__ import annotations

from controller_runtime.configuration import connection_bounds
from controller_runtime.configuration.cordoned import check_cordoned
from controller_runtime.configuration.replica_selectors import check_selector
from controller_runtime.configuration.security import Problem
from controller_runtime.configuration.settings import Settings


def check_further(settings: Settings, problem: Problem) -> None:
    for name, why in connection_bounds.problems(settings.values()):
        problem(name, why)
    check_selector(settings, problem)
    check_cordoned(settings, problem)
