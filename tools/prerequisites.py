"""Names the Debian packages that a make target needs and installs what is missing when root; else says what to install
and stops.

Runs with the system's Python alone, before there is a virtual environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

# command that shows the package is there -> package; "" where only dpkg knows.
NEEDS: dict[str, dict[str, str]] = {
    "venv": {},
    "test": {
        "java": "openjdk-17-jre-headless",
        "mvn": "maven",
        "npm": "npm",
        "openssl": "openssl",
        "ip": "iproute2",
        "iptables": "iptables",
        "chromium": "chromium",
    },
    "demo-pipeline": {"java": "openjdk-17-jre-headless"},
    "demo": {"openssl": "openssl", "ip": "iproute2"},
}

PATIENT = ("-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3")
"""A fresh machine often still installs its own updates, and a mirror may fail once."""


def missing_packages(target: str) -> list[str]:
    missing = [package for program, package in NEEDS[target].items() if shutil.which(program) is None]
    probe = subprocess.run([sys.executable, "-c", "import ensurepip, venv"], capture_output=True, check=False)
    if probe.returncode != 0:
        missing.append(f"python{sys.version_info.major}.{sys.version_info.minor}-venv")
    return missing


def main() -> int:
    target = sys.argv[1]
    missing = missing_packages(target)
    if not missing:
        return 0
    if os.geteuid() != 0:
        print(f"missing Debian packages for 'make {target}': {' '.join(missing)}", file=sys.stderr)
        print(f"install them: sudo apt-get install {' '.join(missing)}", file=sys.stderr)
        return 1
    print(f"installing Debian packages: {' '.join(missing)}", flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-q", *PATIENT], check=True, env=environment)
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *PATIENT, *missing]
    subprocess.run(install, check=True, env=environment)
    return 0


if __name__ == "__main__":
    sys.exit(main())
