"""What decoding does not load: modules that take longer to import than a million records take to decode."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-4.3.1" / "cluster"
DUMP = """
import sys
from metadata_pipeline.dump import main
assert main([sys.argv[1], "--format", "parquet", "--output", sys.argv[2]]) == 0
print(",".join(name for name in ("pandas", "pyspark", "kopf", "asyncio") if name in sys.modules))
"""


def test_dump_loads_neither_pandas_nor_spark(tmp_path: Path) -> None:
    """pyarrow imports pandas, where it is installed, for the first Python value that it is given."""
    made = subprocess.run(
        [sys.executable, "-c", DUMP, str(GOLDEN), str(tmp_path / "all.parquet")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout.splitlines()[-1] == ""
