"""`python deploy/devcluster …`: the folder is run as a program, with nothing but the standard library."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[0] = str(ROOT)

from deploy.devcluster.cli import main  # noqa: E402  the path above makes this import work from anywhere

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
