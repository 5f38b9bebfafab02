"""A log with a canary in every place where a secret can be, and a search for them in whatever was made of it.

path = log_directory(tmp_path, canary_log())
...
assert canaries_in(output_bytes) == []
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from controller_runtime.metadata.features import VersionedRecord
from controller_runtime.metadata.records import encode_record
from controller_runtime.protocol.compression import Compression
from controller_runtime.protocol.messages.config_record import ConfigRecord
from controller_runtime.protocol.messages.delegation_token_record import DelegationTokenRecord
from controller_runtime.protocol.messages.no_op_record import NoOpRecord
from controller_runtime.protocol.messages.remove_delegation_token_record import RemoveDelegationTokenRecord
from controller_runtime.protocol.messages.topic_record import TopicRecord
from controller_runtime.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from controller_runtime.protocol.record_batch import Record, encode_batch

OPEN: Final = "seen-604800000"
"""A value that is no secret and must be seen: a table that hid everything would pass, too."""
_made: list[bytes] = []


def canary(place: str) -> str:
    """A secret that names where it was planted."""
    text = f"canary-{len(_made):03d}-{place}-tweet"
    _made.append(text.encode())
    return text


def _config(kind: int, name: str, value: str) -> bytes:
    return encode_record(ConfigRecord(resource_type=kind, resource_name="r", name=name, value=value), 0)


def _scram() -> UserScramCredentialRecord:
    return UserScramCredentialRecord(
        name="user", mechanism=1, salt=canary("salt").encode(), stored_key=canary("stored").encode(),
        server_key=canary("server").encode(), iterations=4096,
    )  # fmt: skip


def secret_records() -> list[VersionedRecord]:
    """What a healthy log may hold: they can be committed, and so come into tables."""
    token = canary("committed-token")
    configs = (
        (2, "no.such.topic.config", canary("committed-topic")), (2, "retention.ms", OPEN),
        (4, "ssl.keystore.password", canary("committed-password")), (4, "my.plugin.secret", canary("committed-plugin")),
        (16, "unknown", canary("committed-metrics")), (32, "unknown", canary("committed-group")),
    )  # fmt: skip
    return [
        (_scram(), 0),
        (DelegationTokenRecord(owner="User:a", requester="User:a", token_id=token), 0),
        *(
            (ConfigRecord(resource_type=kind, resource_name="r", name=name, value=value), 0)
            for kind, name, value in configs
        ),
    ]


def _values() -> list[bytes]:
    scram = _scram()
    token = canary("token")
    noop = encode_record(NoOpRecord(), 0)
    return [
        encode_record(scram, 0),
        encode_record(DelegationTokenRecord(owner="User:a", requester="User:a", token_id=token), 0),
        encode_record(RemoveDelegationTokenRecord(token_id=token), 0),
        _config(2, "no.such.topic.config", canary("topic")),
        _config(2, "retention.ms", OPEN),
        _config(4, "ssl.keystore.password", canary("password")),
        _config(4, "listener.name.internal.ssl.key.password", canary("listener")),
        _config(4, "listener.name.x.scram-sha-256.sasl.jaas.config", canary("jaas")),
        _config(4, "my.plugin.secret", canary("plugin")),
        _config(16, "unknown", canary("metrics")),
        _config(32, "unknown", canary("group")),
        _config(99, "retention.ms", canary("resource")),
        encode_record(TopicRecord(name="t", unknown_tagged_fields=((60, canary("tag").encode()),)), 0),
        encode_record(NoOpRecord(unknown_tagged_fields=((60, canary("tag-noop").encode()),)), 0),
        b"\x01\x63\x00" + canary("type").encode(),
        b"\x01\x0b\x63" + canary("version").encode(),
        b"\x07\x0b\x00" + canary("frame").encode(),
        encode_record(scram, 0)[:-6] + canary("malformed").encode(),
        noop + canary("trailing").encode(),
        _config(4, "ssl.keystore.password", canary("cut"))[:-1],
        canary("value").encode(),
    ]


def canary_log() -> bytes:
    """Batches plain, compressed, of control records, and one whose checksum is wrong."""
    values = _values()
    parts = []
    offset = 0
    for codec in Compression:
        records = [Record(offset + index, 1_795_220_082_135, None, value) for index, value in enumerate(values)]
        parts.append(encode_batch(records, compression=codec))
        offset += len(values)
    control = [
        Record(offset, 5, b"\x00\x00\x00\x63", canary("control").encode()),
        Record(offset + 1, 5, b"\x00\x00\x00\x02", b"\x00\x09" + canary("leader").encode()),
    ]
    parts.append(encode_batch(control, is_control=True))
    offset += 2
    keyed = [
        Record(offset, 5, canary("key").encode(), values[0], ((canary("header"), canary("header-value").encode()),))
    ]
    parts.append(encode_batch(keyed))
    broken = bytearray(encode_batch([Record(offset + 1, 5, None, canary("broken").encode())]))
    broken[17] ^= 1
    parts.append(bytes(broken) + canary("tail").encode()[:15])
    return b"".join(parts)


def canaries_in(data: bytes) -> list[str]:
    """The canaries that can be found in bytes: as they are, in hex, or in base64 however it is aligned."""
    found = []
    for secret in _made:
        for form in _forms(secret):
            if form in data:
                found.append(secret.decode())
                break
    return found


def canaries_below(folder: Path) -> list[str]:
    """Those in any file, and in the rows of any Parquet file, which are compressed there."""
    found: set[str] = set()
    for path in folder.rglob("*"):
        if path.is_file():
            found.update(canaries_in(path.read_bytes()))
            if path.suffix == ".parquet":
                found.update(canaries_in(repr(pq.read_table(path, partitioning=None).to_pylist()).encode()))
    return sorted(found)


def _forms(secret: bytes) -> list[bytes]:
    core = secret[:16]
    forms = [core, core.hex().encode(), core.hex().upper().encode(), json.dumps(core.decode())[1:-1].encode()]
    for lead in range(3):
        whole = base64.b64encode(bytes(lead) + secret)
        forms.append(whole[4 if lead else 0 : 20])
    return forms
