"""kafka-python's own integration tests: from its source distribution, once a machine, kept outside the repository.

The distribution leaves two files out that its tests import. Written here instead: the package's mark, and the service
that stands for a broker which the tests did not start.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path
from typing import Final

from support.clients.programs import unavailable

SERVICE: Final = '''"""What the tests need of a broker that others started: nothing."""


class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port

    def stop(self):
        pass


class SpawnedService:
    def __init__(self, *arguments):
        raise RuntimeError("only for brokers that are there")
'''


def suite_of_kafka_python() -> Path:
    """The folder to run pytest in, of the version that is installed. Skips without the distribution; fails in CI."""
    root = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "quorate" / "clients"
    place = root / f"kafka_python-{version('kafka-python')}"
    if not place.exists():
        work = root / f".kafka-python.{os.getpid()}"
        work.mkdir(parents=True)
        try:
            _unpacked(work).rename(place)
        finally:
            shutil.rmtree(work)
    return place


def _unpacked(work: Path) -> Path:
    wanted = f"kafka-python=={version('kafka-python')}"
    command = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", wanted)
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        unavailable(f"the source distribution of {wanted} cannot be had: {done.stderr[-1000:]}")
    (archive,) = work.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(work, filter="data")
    (found,) = (each for each in work.iterdir() if each.is_dir())
    (found / "test" / "__init__.py").touch()
    (found / "test" / "service.py").write_text(SERVICE)
    return found
