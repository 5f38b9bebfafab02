"""An S3 server in the network of the single-machine Kubernetes, behind TLS of an authority of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from deploy.devcluster.instance import Node
from support.kubernetes.cluster import ROOT
from support.kubernetes.operator_process import DEVCLUSTER, eventually
from support.kubernetes.outside import last_child
from support.object_store.s3_server import BUCKET, program
from support.security.authority import Authority

HOST: Final = Node(1).address
"""Of the bridge, on which every pod is."""
PLAIN, TLS = 19870, 19871
"""Of that network alone; nothing else of the tests is there at them."""


@dataclass(frozen=True, slots=True)
class ObjectStore:
    endpoint: str
    trusted: str
    bucket: str = BUCKET


@contextmanager
def object_store(folder: Path) -> Iterator[ObjectStore]:
    authority = Authority("store-ca")
    pem = authority.issue("store", [HOST]).write(folder, "store.pem")
    path = f"{ROOT}:{ROOT / 'operator'}:{ROOT / 'tests'}"
    with (folder / "store.log").open("ab") as log:

        def inside(*command: str) -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                [*DEVCLUSTER, "in", *command], stdout=log, stderr=log, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}
            )

        running = [
            inside(str(program()), "-host", f"127.0.0.1:{PLAIN}", "-backend", "memory", "-initialbucket", BUCKET),
            inside(sys.executable, "-m", "support.object_store.tls_front", HOST, str(TLS), str(pem), str(PLAIN)),
        ]
        try:
            for host, port in (("127.0.0.1", PLAIN), (HOST, TLS)):
                code = f"import socket; socket.create_connection(({host!r}, {port}), 3)"
                reach = [*DEVCLUSTER, "in", sys.executable, "-c", code]
                eventually(
                    "an object store",
                    lambda: subprocess.run(reach, capture_output=True, check=False).returncode == 0,  # noqa: B023
                )
            yield ObjectStore(f"https://{HOST}:{TLS}", authority.pem)
        finally:
            for each in running:
                if each.poll() is None:
                    os.kill(last_child(each.pid), signal.SIGTERM)  # the wrappers end with what they started
                each.wait(30)
