"""Breaks one expression or statement after the other and says which breaks no test notices.

    python tools/mutate.py raft controller metadata broker        # all of them: an hour or two
    python tools/mutate.py raft --sample 200 --seed 7             # some of them
    python tools/mutate.py raft/election.py controller/configs.py # of files

Tests are collected once. Each mutant is a fork in which the function has the code of the mutant, and the tests that run
through its line are run, cheapest first, until one fails. tests/mutation/explained.txt says of survivors why no test
can tell them from what is right. Exit code 1: a survivor that is not explained, or an explanation of nothing.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import resource
import select
import signal
import sys
import tempfile
import time
import types
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "operator"), str(ROOT / "tests")]

from support.sampling import run_seed  # noqa: E402
from tools.mutations import Module, Mutation  # noqa: E402

PACKAGE: Final = ROOT / "controller_runtime"
FOLDERS: Final = ("raft", "controller", "metadata", "broker")
EXPLAINED: Final = ROOT / "tests" / "mutation" / "explained.txt"
LEFT_OUT: Final = {"controller_runtime/raft/render.py": "texts of traces"}
EVERYWHERE: Final = ("tests/unit/node", "tests/conformance/test_probes_controller.py")
TESTS: Final[dict[str, tuple[str, ...]]] = {
    "raft": ("tests/unit/raft", "tests/conformance/test_frames_of_java_voters.py"),
    "controller": ("tests/unit/controller", "tests/properties/controller", "tests/conformance/controller"),
    "metadata": (
        "tests/unit/metadata", "tests/unit/controller", "tests/unit/cli", "tests/properties/metadata",
        "tests/properties/controller", "tests/conformance/metadata", "tests/conformance/controller",
        "tests/conformance/storage/test_dump_log_golden.py",
    ),
    "broker": ("tests/unit/broker", "tests/unit/server", "tests/properties/broker",
        "tests/conformance/test_probes_wire.py"),
}  # fmt: skip
"""Who judges the mutants of a folder. The simulator is left out: it would notice more, but takes seconds for what these
do in milliseconds.
"""
LONGEST_TEST_S: Final = 1.0
"""A test that takes longer judges no mutant."""
PATIENCE_S: Final = 6.0
"""So much of the tests that cover a line, cheapest first, is run for each mutant of it."""
CALLS_WATCHED: Final = 200
WATCHED_AFTERWARDS: Final = 20
"""Of a function's calls within a test so many are looked at from the first on, and then one in so many."""
TIMES_USUAL: Final = 4
"""A mutant that takes so many times what its tests took is noticed: it does not end."""


@dataclass(slots=True)
class Measured:
    """What one run of all tests without any mutant showed."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[tuple[str, int], list[str]] = field(default_factory=lambda: defaultdict(list))
    """(file, line) to the tests that run through it, of those that pass and are quick enough."""


class Watch:
    """Which lines of the watched files run. Of a function that is called often only some calls are looked at."""

    def __init__(self, files: set[str]) -> None:
        self._files = files
        self._calls: Counter[types.CodeType] = Counter()
        self.seen: set[tuple[str, int]] = set()

    def __call__(self, frame: types.FrameType, _event: str, _arg: object) -> Any:
        code = frame.f_code
        if code.co_filename not in self._files:
            return None
        self._calls[code] += 1
        return self._line if self._calls[code] < CALLS_WATCHED or not self._calls[code] % WATCHED_AFTERWARDS else None

    def _line(self, frame: types.FrameType, event: str, _arg: object) -> Any:
        if event == "line":
            self.seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line


class Listener:
    """Whether the test that just ran has passed."""

    failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    def judge(self, item: pytest.Item) -> bool:
        """True when it failed; everything that it set up is torn down."""
        self.failed = False
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        return self.failed


def hush() -> None:
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)


def measure(items: Sequence[pytest.Item], listener: Listener, files: set[str]) -> Measured:
    """In a child of its own, so that no test leaves anything behind."""
    with tempfile.TemporaryFile() as results:
        child = os.fork()
        if child == 0:
            hush()
            found = Measured()
            for item in items:
                watch = Watch(files)
                began = time.process_time()
                sys.settrace(watch)
                failed = listener.judge(item)
                sys.settrace(None)
                seconds = time.process_time() - began
                if not failed and seconds < 3 * LONGEST_TEST_S:
                    found.seconds[item.nodeid] = seconds
                    for place in watch.seen:
                        found.lines[place].append(item.nodeid)
            results.write(
                json.dumps([found.seconds, [[*place, tests] for place, tests in found.lines.items()]]).encode()
            )
            results.flush()
            os._exit(0)
        os.waitpid(child, 0)
        results.seek(0)
        seconds, lines = json.loads(results.read())
    return Measured(seconds, {(file, line): tests for file, line, tests in lines})


def functions(files: set[str]) -> dict[tuple[str, str, int], list[types.FunctionType]]:
    """Every function object of these files, wherever a class, a property or a cache holds it."""
    found: dict[tuple[str, str, int], list[types.FunctionType]] = defaultdict(list)
    for one in gc.get_objects():
        if isinstance(one, types.FunctionType) and one.__code__.co_filename in files:
            found[one.__code__.co_filename, one.__code__.co_qualname, one.__code__.co_firstlineno].append(one)
    return found


class Arena:
    """The pytest plugin: takes the collected tests and judges mutants with them."""

    def __init__(self, modules: Sequence[Module], chosen: Sequence[tuple[Module, Mutation]]) -> None:
        self._modules = modules
        self._chosen = chosen
        self._listener = Listener()
        self._killers: dict[str, list[str]] = defaultdict(list)
        self.survivors: list[tuple[Mutation, str]] = []
        self.killed: Counter[str] = Counter()
        self.judged: Counter[str] = Counter()

    def pytest_configure(self) -> None:
        """Properties say only whether they hold: the same examples each time, and none made small."""
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutation", derandomize=True, database=None, deadline=None, phases=phases)
        settings.load_profile("mutation")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("a test module cannot be imported")
        session.config.pluginmanager.register(self._listener)
        files = {module.file for module in self._modules}
        items = {item.nodeid: item for item in session.items}
        began = time.monotonic()
        seen = measure(session.items, self._listener, files)
        print(
            f"\n{len(seen.seconds)} of {len(items)} tests judge, measured in {time.monotonic() - began:.0f} s",
            flush=True,
        )
        defined = functions(files)
        gc.collect()
        gc.freeze()
        for number, (module, mutation) in enumerate(self._chosen, 1):
            self._note(mutation, self._judge(module, mutation, seen, items, defined))
            if number % 200 == 0:
                killed = sum(self.killed.values())
                print(
                    f"... {number} of {len(self._chosen)}, {killed} killed, {time.monotonic() - began:.0f} s",
                    flush=True,
                )
        return True

    def _note(self, mutation: Mutation, why: str | None) -> None:
        folder = Path(mutation.path).parts[1]
        self.judged[folder] += 1
        if why is None:
            self.killed[folder] += 1
            return
        self.survivors.append((mutation, why))
        print(
            f"{mutation.path}:{mutation.line} {mutation.function} ({why}): {mutation.before} -> {mutation.after}",
            flush=True,
        )

    def _judge(
        self,
        module: Module,
        mutation: Mutation,
        seen: Measured,
        items: dict[str, pytest.Item],
        defined: dict[tuple[str, str, int], list[types.FunctionType]],
    ) -> str | None:
        """None when a test noticed it, else why none did."""
        lines = range(mutation.line, mutation.end_line + 1)
        covering = {name for line in lines for name in seen.lines.get((module.file, line), ())}
        if not covering:  # of a function that is called all the time some calls were not looked at
            near = range(mutation.first_line + 1, mutation.end_line + 100)
            covering = {name for line in near for name in seen.lines.get((module.file, line), ())}
        if not covering:
            return "no test comes here"
        targets = defined[module.file, mutation.function, mutation.first_line]
        if not targets:
            return "not found in memory"
        try:
            code = module.code(mutation)
        except SyntaxError:
            return None
        if len(code.co_freevars) != len(targets[0].__code__.co_freevars):
            return None
        tests = list(self._in_order(mutation, covering, seen))
        killer = _duel(
            targets, code, [items[name] for name in tests], self._listener, sum(seen.seconds[t] for t in tests)
        )
        if killer is None:
            return f"{len(tests)} tests pass"
        if killer < len(tests):
            favourites = self._killers[mutation.function]
            favourites[:] = [tests[killer], *(each for each in favourites if each != tests[killer])][:5]
        return None

    def _in_order(self, mutation: Mutation, covering: set[str], seen: Measured) -> Iterator[str]:
        """What killed a neighbour first, then the cheapest."""
        first = [name for name in self._killers[mutation.function] if name in covering]
        spent = 0.0
        for name in [*first, *sorted(covering - set(first), key=lambda each: (seen.seconds[each], each))]:
            spent += seen.seconds[name]
            if spent > PATIENCE_S:
                return
            yield name


def _duel(
    targets: Sequence[types.FunctionType],
    code: types.CodeType,
    tests: Sequence[pytest.Item],
    listener: Listener,
    usual_s: float,
) -> int | None:
    """The place of the test that failed; one behind the last if the mutant hung or died; None: all passed."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.close(read)
        hush()
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        limit = int(3 + TIMES_USUAL * usual_s)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        for target in targets:
            target.__code__ = code
        try:
            killer = next((at for at, item in enumerate(tests) if listener.judge(item)), None)
        except BaseException:
            killer = len(tests)
        os.write(write, json.dumps(killer).encode())
        os._exit(0)
    os.close(write)
    ready, _, _ = select.select([read], [], [], 60 + 10 * TIMES_USUAL * usual_s)
    said = os.read(read, 1000) if ready else b""
    os.close(read)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return json.loads(said) if said else len(tests)


# What was looked at and is right.


def explanations(text: str) -> dict[str, str]:
    """Mutation to reason: a line with the name of the mutation, and below it, indented, why no test can tell it."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(" "):
            found[name] = f"{found[name]} {line.strip()}".strip()
        else:
            name = line.strip()
            found[name] = ""
    return found


def modules_of(places: Iterable[str]) -> list[Module]:
    """Of these folders and files below `controller_runtime`."""
    roots = [PACKAGE / place for place in places]
    paths = [path for root in roots for path in ([root] if root.is_file() else sorted(root.rglob("*.py")))]
    return [Module(ROOT, path) for path in paths if str(path.relative_to(ROOT)) not in LEFT_OUT]


def stale(explained: Iterable[str], modules: Iterable[Module]) -> list[str]:
    """Explanations of mutations that there are not any more."""
    there = {mutation.name for module in modules for mutation in module.mutations}
    return [name for name in explained if name not in there]


def run(modules: Sequence[Module], chosen: Sequence[tuple[Module, Mutation]]) -> Arena:
    arena = Arena(modules, chosen)
    options = ["-q", "--no-header", "-p", "no:cacheprovider", "-s", "--tb=no", "-o", "tmp_path_retention_policy=none",
               "-o", "timeout=0"]  # fmt: skip
    folders = sorted({Path(module.path).parts[1] for module in modules})
    present = list(dict.fromkeys([*EVERYWHERE, *(test for folder in folders for test in TESTS[folder])]))
    with tempfile.TemporaryDirectory() as scratch:
        pytest.main([*options, f"--basetemp={scratch}/tests", *present], plugins=[arena])
    return arena


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("places", nargs="*", default=list(FOLDERS), help="folders and files of controller_runtime")
    parser.add_argument("--sample", type=int, help="so many, chosen by the seed")
    parser.add_argument("--seed", type=int, help="of the sample; by default that of the run, from the commit")
    parser.add_argument("--report", action="store_true", help="print what survived, and do not fail for it")
    parser.add_argument("--function", default="", help="only of functions with this in their name")
    options = parser.parse_args(argv)
    modules = modules_of(options.places)
    every = [(module, one) for module in modules for one in module.mutations if options.function in one.function]
    explained = explanations(EXPLAINED.read_text()) if EXPLAINED.exists() else {}
    chosen = [pair for pair in every if pair[1].name not in explained]
    if options.sample is not None:
        seed = run_seed() if options.seed is None else options.seed
        print(f"sampled: {options.sample} of {len(chosen)} mutants: seed {seed}")
        chosen = random.Random(seed).sample(chosen, min(options.sample, len(chosen)))
    arena = run(modules, chosen)
    old = stale((name for name in explained if any(name.startswith(f"{module.path}::") for module in modules)), modules)
    for name in old:
        print(f"{EXPLAINED.name} explains what is not there any more: {name}")
    for folder in sorted({Path(module.path).parts[1] for module in modules}):
        judged, killed = arena.judged[folder], arena.killed[folder]
        why = sum(1 for name in explained if name.startswith(f"controller_runtime/{folder}/"))
        print(f"{folder}: {judged} mutants, {killed} killed, {judged - killed} survived; {why} explained besides")
    unjudged = sum(arena.judged.values()) < len(chosen)
    return int(bool(old or unjudged or (arena.survivors and not options.report)))


if __name__ == "__main__":
    sys.exit(main())
