"""What a started node has loaded, and what it weighs. Prints the figures; bounds are generous, they catch a
slide, not a race.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.nodes.processes import ENVIRONMENT, Cluster, eventually

pytestmark = pytest.mark.integration

NEVER_NEEDED = {
    "aiohttp", "kopf", "kubernetes", "pyspark", "cramjam", "lz4", "zstandard", "argparse", "importlib.metadata",
    "email", "multiprocessing", "unittest", "controller_runtime.admin", "controller_runtime.cli.storage",
    "controller_runtime.answers.rights.guard", "controller_runtime.coordinator.coordinator",
}  # fmt: skip
OF_THE_OTHER_ROLE = {
    "controller": {"controller_runtime.node.broker_part", "controller_runtime.broker.lifecycle"},
    "broker": {"controller_runtime.node.controller_part", "controller_runtime.controller.service"},
}


@pytest.mark.parametrize("role", ["controller", "broker"])
def test_a_started_node_has_loaded_only_what_its_role_uses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], role: str
) -> None:
    with Cluster(tmp_path, brokers=int(role == "broker")) as cluster:
        node = cluster.nodes[1 if role == "controller" else 11]
        node.environment = {**ENVIRONMENT, "PYTHONPROFILEIMPORTTIME": "1"}
        cluster.start()
        eventually("it is ready", lambda: node.http("/readyz")[0] == 200)
        lines = re.findall(r"^import time: +(\d+) \| +\d+ \| +(\S+)$", node.log(), re.MULTILINE)
        status = Path(f"/proc/{node.pid}/status").read_text()
    loaded = {name for _, name in lines}
    messages = {name for name in loaded if name.startswith("controller_runtime.protocol.messages.")}
    resident_mib = int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024  # type: ignore[index]
    seconds = sum(int(micros) for micros, _ in lines) / 1e6
    with capsys.disabled():
        print(
            f" [{role}: {len(loaded)} modules, {len(messages)} messages, {seconds:.2f} s of imports, "
            f"{resident_mib:.1f} MiB]",
            end="",
        )
    assert loaded & (NEVER_NEEDED | OF_THE_OTHER_ROLE[role]) == set()
    assert 0 < len(messages) < 120, "272 are declared; one is imported when it is first used"
    assert resident_mib < 48
