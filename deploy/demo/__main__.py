"""`python deploy/demo` (or `python -m deploy.demo`): the demo of `make demo`."""

import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path[0] = ROOT

from deploy.demo.story import main  # noqa: E402  the path above makes this import work from anywhere

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
