"""Files that config providers read, within the paths that they are allowed.

A path counts as allowed if it is below one of them as it is written, as in Kafka, and also where its links lead: a link
out of an allowed directory is no way out. Links that stay within, such as those of a Secret's volume in Kubernetes, are
followed. Only regular files are read, and none of more than MAX_BYTES. No error shows what is in a file.
"""

from __future__ import annotations

import os
import stat
from typing import Final

from controller_runtime.configuration.properties import BadProperties, parse_properties

MAX_BYTES: Final = 1024 * 1024

Allowed = tuple[str, ...]


class BadProvider(ValueError):
    """A provider cannot be made, or cannot read what it is asked for; names the culprit."""


def allowed_paths(text: str) -> Allowed | None:
    """None: everything is. Raises BadProvider."""
    if not text:
        return None
    found = []
    for one in text.rstrip(",").split(","):
        path = _normalised(one)
        if not os.path.isabs(path):
            raise BadProvider(f"Path {path} is not absolute")
        if not _exists(path):
            raise BadProvider(f"Path {path} does not exist")
        found.append(path)
    return tuple(found)


def property_of(path: str, key: str, allowed: Allowed | None) -> str | None:
    """The value of a key in a properties file. Raises BadProvider."""
    if not _may_read(path, allowed):
        return None
    try:
        found = parse_properties(_text(path), path).get(key)
    except (OSError, ValueError) as error:
        raise _unreadable(f"Could not read properties from file {path}", error) from None
    return None if found is None else found.value


def file_of(path: str, key: str, allowed: Allowed | None) -> str | None:
    """What the regular file `key` of a directory holds, to the letter. Raises BadProvider."""
    if not _may_read(path, allowed):
        return None
    try:
        if key not in os.listdir(path) or not os.path.isfile(os.path.join(path, key)):
            return None
    except (OSError, ValueError):
        return None
    whole = os.path.join(path, key)
    if not _may_read(whole, allowed):
        return None
    try:
        return _text(whole)
    except (OSError, ValueError) as error:
        raise _unreadable(f"Could not read file {whole}", error) from None


def _may_read(path: str, allowed: Allowed | None) -> bool:
    if allowed is None:
        return True
    try:
        real = os.path.realpath(path)
        return any(_is_below(_normalised(path), one) and _is_below(real, os.path.realpath(one)) for one in allowed)
    except (OSError, ValueError):
        return False


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _normalised(path: str) -> str:
    """Without `.`, `..` and doubled slashes; links are left alone."""
    text = os.path.normpath(path)
    return f"/{text.lstrip('/')}" if text.startswith("/") else text


def _exists(path: str) -> bool:
    try:
        return os.path.exists(path)
    except ValueError:
        return False


def _text(path: str) -> str:
    """Raises OSError or ValueError."""
    with open(path, "rb", opener=_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "no regular file")
        read = file.read(MAX_BYTES + 1)
    if len(read) > MAX_BYTES:
        raise OSError(0, f"more than {MAX_BYTES} bytes")
    return read.decode("utf-8")


def _without_waiting(path: str, flags: int) -> int:
    """A pipe would wait for who writes."""
    return os.open(path, flags | os.O_NONBLOCK)


def _unreadable(what: str, error: OSError | ValueError) -> BadProvider:
    match error:
        case OSError():
            return BadProvider(f"{what}: {error.strerror}")
        case UnicodeDecodeError():
            return BadProvider(f"{what}: it is not UTF-8")
        case BadProperties():
            return BadProvider(f"{what}: {error}")
        case _:
            return BadProvider(what)
