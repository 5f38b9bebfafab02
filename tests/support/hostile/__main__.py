"""Let all hostile clients loose and print what came of them: `PYTHONPATH=.:tests .venv/bin/python -m support.hostile
[java] [part of a case's name]`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from controller_runtime.protocol.api_keys import ListenerType
from support.hostile.field import Field, Javas, Ours, ports_of
from support.hostile.pack import asked_of


def main() -> int:
    java = "java" in sys.argv[1:]
    named = [word for word in sys.argv[1:] if word != "java"]
    (ports,) = ports_of()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="quorate-hostile-") as directory:
        node = Javas(Path(directory) / "java", ports) if java else Ours(Path(directory) / "ours", ports)
        with Field(node, ports) as field:
            for role in (ListenerType.BROKER, ListenerType.CONTROLLER):
                for case in asked_of(role):
                    if not named or any(word in case.name for word in named):
                        said = field.ask(case, role)
                        failed += said != "passes"
                        print(f"{role:10} {case.name:60} {said}", flush=True)
    print(f"{failed} fail")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
