"""What a started controller has loaded, and what it weighs. Prints the figures; bounds are generous, they catch a
slide, not a race.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.processes import ENVIRONMENT, Cluster

pytestmark = pytest.mark.integration

NEVER_NEEDED = {
    "aiohttp", "kopf", "kubernetes", "pyspark", "cramjam", "lz4", "zstandard", "argparse", "importlib.metadata", "email",
    "multiprocessing", "unittest", "controller_runtime.admin", "controller_runtime.broker.lifecycle", "controller_runtime.cli.storage",
}  # fmt: skip


def test_a_started_controller_has_loaded_only_what_it_uses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Cluster(tmp_path) as cluster:
        cluster.format()
        node = cluster.nodes[1]
        node.environment = {**ENVIRONMENT, "PYTHONPROFILEIMPORTTIME": "1"}
        node.start()
        cluster.wait_for_leader()
        lines = re.findall(r"^import time: +(\d+) \| +\d+ \| +(\S+)$", node.log(), re.MULTILINE)
        status = Path(f"/proc/{node.pid}/status").read_text()
    loaded = {name for _, name in lines}
    messages = {name for name in loaded if name.startswith("controller_runtime.protocol.messages.")}
    resident_mib = int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024  # type: ignore[index]
    seconds = sum(int(micros) for micros, _ in lines) / 1e6
    with capsys.disabled():
        print(
            f" [{len(loaded)} modules, {len(messages)} messages, {seconds:.2f} s of imports, {resident_mib:.1f} MiB]",
            end="",
        )
    assert loaded & NEVER_NEEDED == set()
    assert 0 < len(messages) < 120, "272 are declared; one is imported when it is first used"
    assert resident_mib < 48
