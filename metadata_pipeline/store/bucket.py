"""An object store through obstore: S3 and what speaks like it, Google's, Azure's, or a directory.

Credentials and endpoint are the environment's (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, AWS_ALLOW_HTTP and so on), as every
tool of these stores takes them; also the file with the endpoint's own authority (AWS_CA_BUNDLE). Credentials may come
from a directory instead, as Kubernetes mounts a Secret: what is there when a bucket is opened counts.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from metadata_pipeline.problems import PipelineError

_RETRIES: Any = {"max_retries": 4, "retry_timeout": timedelta(seconds=20)}
_VARIES: Final = re.compile(r" in [0-9.]+(?:ns|µs|ms|s)\b|<(RequestId|HostId)>.*?</\1>")
"""What a store says otherwise each time: whoever tells it would tell it as new."""
_NEXT: Final = (
    "mend the address or what the environment says (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, ...), then run again"
)


CREDENTIALS: Final = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
AUTHORITY: Final = "AWS_CA_BUNDLE"


def _options() -> Any:
    insecure = os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true")
    found: dict[str, Any] = {"connect_timeout": "5s", "timeout": "120s", "allow_http": insecure}
    if bundle := os.environ.get(AUTHORITY):
        found["root_certificate"] = _authority(Path(bundle))
    return found


def _authority(path: Path) -> bytes:
    """Trusted beside the system's. Raises StoreError."""
    try:
        found = path.read_bytes()
    except OSError as error:
        what = f"the certificate of the store's authority cannot be read: {error}"
        raise StoreError(what, f"put it there, or take {AUTHORITY} away", refused=True) from error
    if b"-----BEGIN CERTIFICATE-----" not in found:
        what = f"{path} has no certificate in PEM"
        raise StoreError(what, f"put the certificate of the store's authority into {path}", refused=True)
    return found


def _credentials(directory: Path) -> dict[str, str]:
    """Of the files with these names. Raises StoreError, which never has what a file holds."""
    found: dict[str, str] = {}
    for name in CREDENTIALS:
        try:
            found[name.lower()] = (directory / name).read_text("ascii").strip()
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            what = f"{directory / name} cannot be read ({type(error).__name__})"
            raise StoreError(what, f"write {name} into {directory / name}, as ASCII", refused=True) from None
    missing = [name for name in CREDENTIALS[:2] if not found.get(name.lower())]
    if missing:
        what = f"{directory} has no {' and no '.join(missing)}"
        raise StoreError(what, f"put {' and '.join(missing)} there", refused=True)
    return found


class Exists(Exception):
    """Somebody has put it before."""


class Changed(Exception):
    """It is not what it was when its tag was taken."""


class StoreError(PipelineError):
    """The store does not do what it was asked for. `refused`: it does not let us; else it may pass."""

    def __init__(self, what: str, next_step: str, *, refused: bool) -> None:
        super().__init__(what, next_step)
        self.refused = refused


class Bucket:
    """Objects by name below one address. Every call raises StoreError for what the store refuses."""

    def __init__(self, url: str, credentials: Path | None = None) -> None:
        self.url = url.rstrip("/")
        try:
            from obstore.store import from_url
        except ImportError as missing:
            raise PipelineError(
                f"{url} needs a client of object stores ({missing})", "pip install 'quorate[pipeline,store]'"
            ) from missing
        options = _options()
        known: Any = {} if credentials is None else {"config": _credentials(credentials)}
        try:
            self._store: Any = from_url(self.url, client_options=options, retry_config=_RETRIES, **known)
        except Exception as error:
            raise self._failed(error) from error

    def get(self, name: str) -> bytes | None:
        """Its bytes; None where there is none."""
        from obstore.exceptions import NotFoundError

        try:
            return bytes(self._store.get(name).bytes())
        except (NotFoundError, FileNotFoundError):
            return None
        except Exception as error:
            raise self._failed(error) from error

    def get_tagged(self, name: str) -> tuple[bytes, str] | None:
        """Its bytes, and the tag by which it is known to be unchanged."""
        try:
            found = self._store.get(name)
            return bytes(found.bytes()), str(found.meta["e_tag"])
        except FileNotFoundError:
            return None
        except Exception as error:
            raise self._failed(error) from error

    def size(self, name: str) -> int | None:
        from obstore.exceptions import NotFoundError

        try:
            return int(self._store.head(name)["size"])
        except (NotFoundError, FileNotFoundError):
            return None
        except Exception as error:
            raise self._failed(error) from error

    def put(self, name: str, data: bytes | Path) -> None:
        """Whatever was there before. A large file goes in parts."""
        try:
            self._store.put(name, data)
        except Exception as error:
            raise self._failed(error) from error

    def put_new(self, name: str, data: bytes) -> None:
        """Raises Exists where there is one: of two at once, one succeeds (If-None-Match)."""
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        try:
            self._store.put(name, data, mode="create")
        except (AlreadyExistsError, PreconditionError, FileExistsError) as taken:
            raise Exists(name) from taken
        except Exception as error:
            raise self._failed(error) from error

    def put_if(self, name: str, data: bytes, tag: str) -> None:
        """Raises Changed unless it is what had this tag (If-Match)."""
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        try:
            self._store.put(name, data, mode={"e_tag": tag})
        except (AlreadyExistsError, PreconditionError, FileNotFoundError) as changed:
            raise Changed(name) from changed
        except Exception as error:
            raise self._failed(error) from error

    def names(self, prefix: str) -> list[str]:
        """Those below it that the store lists now: it may be late."""
        try:
            return [str(each["path"]) for chunk in self._store.list(prefix) for each in chunk]
        except Exception as error:
            raise self._failed(error) from error

    def delete(self, names: list[str]) -> None:
        """What is not there is as good as deleted."""
        try:
            for name in names:
                with suppress(FileNotFoundError):
                    self._store.delete(name)
        except Exception as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> StoreError:
        from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

        why = _VARIES.sub("", (str(error).strip().splitlines() or [type(error).__name__])[0])
        refused = isinstance(error, PermissionDeniedError | UnauthenticatedError)
        return StoreError(f"{self.url}: {why[:300]}", _NEXT, refused=refused)
