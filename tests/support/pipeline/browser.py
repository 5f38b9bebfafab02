"""A real Chromium without a screen, asked over its debugging protocol: pictures of a page, and what its script tells.

async with Browser() as browser:
    await browser.open(path, width=390, height=800)
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import struct
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import pytest

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")


def program() -> str:
    """The test is skipped where there is none; CI has one (tools/prerequisites.py)."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        assert not os.environ.get("CI"), "CI installs chromium (tools/prerequisites.py)"
        pytest.skip("no chromium on PATH: apt-get install chromium")
    return found


class Browser:
    def __init__(self) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="quorate-chromium-", ignore_cleanup_errors=True)
        self._process: asyncio.subprocess.Process | None = None
        self._session: aiohttp.ClientSession | None = None
        self._socket: Any = None
        self._asked = 0

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--remote-debugging-port=0", f"--user-data-dir={self._home.name}", "about:blank",
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        port = await self._port()
        self._session = aiohttp.ClientSession()
        async with self._session.get(f"http://127.0.0.1:{port}/json/list") as answer:
            (page, *_) = [one for one in await answer.json() if one["type"] == "page"]
        self._socket = await self._session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=1 << 28)
        return self

    async def _port(self) -> int:
        told = Path(self._home.name) / "DevToolsActivePort"
        async with asyncio.timeout(90):
            while not (told.exists() and told.read_text().strip()):
                await asyncio.sleep(0.1)
        return int(told.read_text().split()[0])

    async def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._asked += 1
        number = self._asked
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        async with asyncio.timeout(90):
            while True:
                told = json.loads((await self._socket.receive()).data)
                if told.get("id") == number:
                    assert "error" not in told, told
                    result: dict[str, Any] = told["result"]
                    return result

    async def open(self, page: Path, width: int, height: int, *, dark: bool = False, media: str = "screen") -> None:
        await self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.ask("Emulation.setEmulatedMedia", media=media, features=[scheme])
        await self.ask("Page.navigate", url=page.as_uri())
        async with asyncio.timeout(90):
            while (
                await self.tells("document.readyState") != "complete"
                or await self.tells("location.protocol") != "file:"
            ):
                await asyncio.sleep(0.05)

    async def tells(self, expression: str) -> Any:
        """The value of an expression of JavaScript."""
        found = await self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def picture(self, scale: float = 1) -> Picture:
        """What is seen."""
        seen = await self.tells("[scrollX, scrollY, innerWidth, innerHeight]")
        clip = dict(zip(("x", "y", "width", "height"), seen, strict=True), scale=scale)
        taken = await self.ask("Page.captureScreenshot", format="png", clip=clip)
        return Picture.decoded(base64.b64decode(taken["data"]))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._socket is not None:
            await self._socket.close()
        if self._session is not None:
            await self._session.close()
        assert self._process is not None
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()
        self._home.cleanup()


@dataclass(frozen=True, slots=True)
class Picture:
    """Pixels as (red, green, blue), by row."""

    width: int
    height: int
    rows: tuple[bytes, ...]
    depth: int
    png: bytes

    @classmethod
    def decoded(cls, png: bytes) -> Picture:
        width, height, bits, kind = struct.unpack(">IIBB", png[16:26])
        assert (bits, kind in (2, 6)) == (8, True), "colours of eight bits"
        depth, at, packed = 3 if kind == 2 else 4, 8, b""
        while at < len(png):
            (length,) = struct.unpack(">I", png[at : at + 4])
            if png[at + 4 : at + 8] == b"IDAT":
                packed += png[at + 8 : at + 8 + length]
            at += length + 12
        raw, before, rows = zlib.decompress(packed), bytes(width * depth), []
        for number in range(height):
            start = number * (width * depth + 1)
            before = _unfiltered(raw[start], raw[start + 1 : start + 1 + width * depth], before, depth)
            rows.append(before)
        return cls(width, height, tuple(rows), depth, png)

    def at(self, x: int, y: int) -> tuple[int, int, int]:
        red, green, blue = self.rows[y][x * self.depth : x * self.depth + 3]
        return red, green, blue

    def count(self, colour: tuple[int, int, int], every: int = 2) -> int:
        """Pixels of nearly this colour, of a sample."""
        return sum(
            all(abs(a - b) <= 6 for a, b in zip(self.at(x, y), colour, strict=True))
            for y in range(0, self.height, every)
            for x in range(0, self.width, every)
        )


def _unfiltered(kind: int, line: bytes, above: bytes, depth: int) -> bytes:
    if kind == 0:
        return line
    done = bytearray(line)
    for at in range(len(done)):
        left = done[at - depth] if at >= depth else 0
        up, corner = above[at], above[at - depth] if at >= depth else 0
        match kind:
            case 1:
                guess = left
            case 2:
                guess = up
            case 3:
                guess = (left + up) // 2
            case _:
                near = left + up - corner
                guess = min((left, up, corner), key=lambda one: abs(near - one))
        done[at] = (done[at] + guess) & 255
    return bytes(done)
