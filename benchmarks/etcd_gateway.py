"""etcd through its HTTP gateway: what a benchmark asks beside the load. Errors are OSError, as those of sockets."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen


def _post(address: str, path: str, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    request = Request(f"http://{address}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=timeout_s) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
    except HTTPError as refused:
        with refused:
            raise OSError(refused.read().decode()) from refused


def version(address: str) -> str:
    with urlopen(f"http://{address}/version", timeout=2) as answer:
        return str(json.load(answer)["etcdserver"])


def put(address: str, key: str, value: str, *, timeout_s: float = 1.0) -> None:
    encoded = {"key": base64.b64encode(key.encode()).decode(), "value": base64.b64encode(value.encode()).decode()}
    _post(address, "/v3/kv/put", encoded, timeout_s)


def put_many(address: str, values: dict[str, str], *, timeout_s: float = 30.0) -> None:
    """In one transaction; etcd allows 128 operations in one by default."""
    puts = [
        {
            "requestPut": {
                "key": base64.b64encode(key.encode()).decode(),
                "value": base64.b64encode(value.encode()).decode(),
            }
        }
        for key, value in values.items()
    ]
    _post(address, "/v3/kv/txn", {"success": puts}, timeout_s)


def is_leader(address: str) -> bool:
    status = _post(address, "/v3/maintenance/status", {}, 2.0)
    return bool(status.get("leader")) and status["leader"] == status["header"]["member_id"]


def syncs(address: str) -> int:
    """Of the write-ahead log, by etcd's own counter."""
    with urlopen(f"http://{address}/metrics", timeout=5) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith("etcd_disk_wal_fsync_duration_seconds_count"):
                return int(float(line.split()[-1]))
    raise OSError("etcd shows no count of syncs")
