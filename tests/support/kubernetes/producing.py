"""A producer in the network of the pods that writes while something is done to its cluster (`steady_producer`)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from support.kubernetes.cluster import ROOT
from support.kubernetes.operator_process import DEVCLUSTER


@contextmanager
def producing(
    folder: Path, properties: Mapping[str, str], server: str, topic: str = "steady"
) -> Iterator[Callable[[], tuple[int, ...]]]:
    """What is yielded ends it, and tells how many records were acknowledged, the longest time between two of them in
    milliseconds, and how many were read back.
    """
    path = folder / "prod.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    script = str(ROOT / "tests/support/kubernetes/steady_producer.py")
    command = [*DEVCLUSTER, "in", sys.executable, script, str(path), server, topic]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n", process.communicate(timeout=30)[1]

            def ended() -> tuple[int, ...]:
                told, complaint = process.communicate("end\n", timeout=120)
                assert process.returncode == 0, complaint[-4000:]
                return tuple(map(int, told.split()))

            yield ended
        finally:
            process.kill()
