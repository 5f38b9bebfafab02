"""What stands in for `docker compose` where sarama's tests stop and start the brokers that they test: `stop kafka-3`,
`start kafka-3`, `logs --since TIME kafka-3`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from support.nodes.processes import NodeProcess

_PROGRAM: Final = """#!{python}
import sys
from urllib.request import urlopen
verb, service = sys.argv[2], sys.argv[-1]
assert sys.argv[1] == "compose", sys.argv
with urlopen(f"http://127.0.0.1:{port}/{{verb}}/{{service}}", data=b"", timeout=120) as answer:
    sys.stdout.write(answer.read().decode())
"""


@contextmanager
def compose_stand_in(folder: Path, services: Mapping[str, NodeProcess]) -> Iterator[Path]:
    """The folder for PATH in which there is a program `docker`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            _, verb, service = self.path.split("/")
            said = perform(verb, services[service]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - its name there
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        program = folder / "docker"
        program.write_text(_PROGRAM.format(python=sys.executable, port=server.server_address[1]))
        program.chmod(0o755)
        yield folder
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def perform(verb: str, service: NodeProcess) -> str:
    """What it prints."""
    match verb:
        case "stop":
            service.stop(60.0)
        case "start":
            if not service.is_running:
                service.start()
        case "logs":
            return service.log()
        case _:
            raise ValueError(f"compose {verb}")
    return ""
