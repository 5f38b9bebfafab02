"""An object store through obstore: S3 and what speaks like it, Google's, Azure's, or a directory.

Credentials and endpoint are the environment's (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, AWS_ALLOW_HTTP and so on), as every
tool of these stores takes them.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from metadata_pipeline.problems import PipelineError

_RETRIES: Any = {"max_retries": 4, "retry_timeout": timedelta(seconds=20)}
_NEXT: Final = (
    "mend the address or what the environment says (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, ...), then run again"
)


def _options() -> Any:
    insecure = os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true")
    return {"connect_timeout": "5s", "timeout": "120s", "allow_http": insecure}


class Exists(Exception):
    """Somebody has put it before."""


class Bucket:
    """Objects by name below one address. Every call raises PipelineError for what the store refuses."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        try:
            from obstore.store import from_url
        except ImportError as missing:
            raise PipelineError(
                f"{url} needs a client of object stores ({missing})", "pip install 'quorate[pipeline,store]'"
            ) from missing
        try:
            self._store: Any = from_url(self.url, client_options=_options(), retry_config=_RETRIES)
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

    def _failed(self, error: Exception) -> PipelineError:
        why = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return PipelineError(f"{self.url}: {why[:300]}", _NEXT)
