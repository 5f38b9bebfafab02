"""Runs the layers of tests in order of speed, each in its own pytest, and says what ran, how long, and what could not
run.

Two layers that leave each other room run beside each other (`BESIDE`); what the second one prints comes when both have
ended.

A layer that cannot run here (no Java, no root, no Go) is named in the last line; with CI set it fails the run. Exit
status 0 means that every layer that could run has passed.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).parent.parent


def needs_nothing() -> str:
    return ""


def needs_java() -> str:
    if shutil.which("java") is None:
        return "no java (Debian: openjdk-17-jre-headless)"
    return "" if shutil.which("mvn") else "no mvn (Debian: maven)"


def needs_spark() -> str:
    if importlib.util.find_spec("pyspark") is None:
        return "no pyspark (pip install 'quorate[pipeline]')"
    return "" if shutil.which("java") else "no java (Debian: openjdk-17-jre-headless)"


def needs_kubernetes() -> str:
    if os.environ.get("QUORATE_E2E_CONTEXT"):
        return ""
    if os.geteuid() != 0:
        return "not root, and no QUORATE_E2E_CONTEXT names a Kubernetes to use"
    return "" if shutil.which("go") else "no go >= 1.26 on PATH to build the single-machine Kubernetes"


@dataclass(frozen=True, slots=True)
class Layer:
    """One folder of tests. `budget_s` is what `make test` may spend on it with warm caches; it is reported, not
    enforced.
    """

    name: str
    budget_s: int
    missing: Callable[[], str] = needs_nothing


LAYERS = (
    Layer("unit", 120),
    Layer("properties", 120),
    Layer("conformance", 120),
    Layer("simulation", 360),
    Layer("fuzz", 180),
    Layer("integration", 180),
    Layer("interop", 360, needs_java),
    Layer("spark", 240, needs_spark),
    Layer("e2e", 600, needs_kubernetes),
)
FAST = ("unit", "conformance")
BESIDE = {"properties": "unit", "integration": "interop"}
"""Layers that run at the same time as another one. Unit tests and properties take one processor each; integration tests
wait for most of their time, and interop for Java. The simulator takes all there are."""
LONGEST_S = 2_400
"""In CI, which ends everything after ninety minutes: a layer stops here by itself, and says what failed until then."""
PORTS = range(20_000, 30_000)
"""On which tests' nodes listen; layers that run at the same time share them out (tests/support/nodes/processes.py)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    layer: Layer
    status: str
    seconds: float
    summary: str

    def __str__(self) -> str:
        return (
            f"{self.layer.name:<12} {self.status:<8} {self.seconds:6.0f} s of {self.layer.budget_s} s   {self.summary}"
        )


def groups(layers: list[Layer]) -> Iterator[list[Layer]]:
    """Those that run at the same time, together."""
    names = {layer.name for layer in layers}
    for layer in layers:
        if BESIDE.get(layer.name) not in names:
            yield [layer, *(other for other in layers if BESIDE.get(other.name) == layer.name)]


def run_beside(layers: list[Layer], extra: list[str]) -> list[Outcome]:
    """The first one is seen while it runs."""
    outputs: list[TextIO] = [sys.stdout, *(io.StringIO() for _ in layers[1:])]
    outcomes = []
    with ThreadPoolExecutor(len(layers)) as pool:
        for future, output in [
            (pool.submit(run_layer, layer, extra, to, PORTS[at :: len(layers)]), to)
            for at, (layer, to) in enumerate(zip(layers, outputs, strict=True))
        ]:
            outcomes.append(future.result())
            if isinstance(output, io.StringIO):
                print(output.getvalue(), end="", flush=True)
    return outcomes


def run_layer(layer: Layer, extra: list[str], output: TextIO, ports: range) -> Outcome:
    missing = layer.missing()
    if missing:
        return Outcome(layer, "absent", 0.0, missing)
    if not any((ROOT / "tests" / layer.name).rglob("test_*.py")):
        return Outcome(layer, "absent", 0.0, "it has no tests")
    print(f"\n== {layer.name} ==", file=output, flush=True)
    started = time.monotonic()
    limit = [f"--session-timeout={LONGEST_S}"] if os.environ.get("CI") else []
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", f"tests/{layer.name}",
         *limit, *extra],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1,
        env=os.environ | {"QUORATE_PORTS": f"{ports.start} {ports.stop} {ports.step}"})  # fmt: skip
    assert process.stdout is not None
    last, sampled, line = "", [], ""
    while character := process.stdout.read(1):
        print(character, end="", file=output, flush=True)  # a dot is seen when its test has ended
        line += character
        if character != "\n":
            continue
        if line.startswith("sampled: "):
            sampled.append(line.removeprefix("sampled: ").strip())
        elif line.strip():
            last = line.strip()
        line = ""
    passed = process.wait() == 0
    summary = "; ".join([last.strip("= "), *sampled])
    return Outcome(layer, "passed" if passed else "FAILED", time.monotonic() - started, summary)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("layers", nargs="*", help="layers to run, in order of speed; all when none is named")
    parser.add_argument("--fast", action="store_true", help="only what takes under a minute")
    options, extra = parser.parse_known_args(argv)
    unknown = set(options.layers) - {layer.name for layer in LAYERS}
    if unknown:
        parser.error(f"no such layer: {', '.join(sorted(unknown))} (there are {', '.join(x.name for x in LAYERS)})")
    chosen = [
        x for x in LAYERS if (not options.layers or x.name in options.layers) and (not options.fast or x.name in FAST)
    ]
    if options.fast:
        extra += ["-m", "not slow"]
    began = time.monotonic()
    outcomes = [outcome for group in groups(chosen) for outcome in run_beside(group, extra)]
    print("\n" + "\n".join(map(str, outcomes)))
    absent = [outcome for outcome in outcomes if outcome.status == "absent"]
    failed = [outcome for outcome in outcomes if outcome.status == "FAILED"]
    if os.environ.get("CI"):
        failed += absent
    verdict = f"FAILED: {', '.join(x.layer.name for x in failed)}" if failed else "all that ran passed"
    left = "; not run: " + ", ".join(f"{x.layer.name} ({x.summary})" for x in absent) if absent else ""
    print(f"{time.monotonic() - began:.0f} s in all; {verdict}{left}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
