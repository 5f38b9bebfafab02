"""`python deploy/images [IMAGE …]`: builds images without Docker."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[2])

from deploy.images.build import main  # noqa: E402  the path above makes this import work from anywhere

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
