"""What the archive's pod needs for its copy in an object store. Credentials, keys and the endpoint's authority are
mounted, never in the environment or in arguments; what the store's client reads of the environment is no secret.

Each mount is optional: a Secret that is missing keeps the copy from being made, and the page says so, but keeps no
archive that has begun from following the quorum.
"""

from __future__ import annotations

from typing import Final

from kraft_operator.api.object_store import ObjectStore
from kraft_operator.manifests.context import Manifest

CREDENTIALS_PATH: Final = "/etc/kafka/store-credentials"
KEYS_PATH: Final = "/etc/kafka/store-keys"
AUTHORITY_PATH: Final = "/etc/kafka/store-ca"
AUTHORITY_KEY: Final = "ca.crt"
DEFAULT_MODE: Final = 0o440


def store_arguments(store: ObjectStore) -> list[str]:
    found = ["--store", store.url, "--store-credentials", CREDENTIALS_PATH]
    return found if store.encryption is None else [*found, "--store-keys", KEYS_PATH]


def store_environment(store: ObjectStore) -> list[Manifest]:
    found = {"AWS_REGION": store.region, "AWS_ENDPOINT_URL": store.endpoint}
    if store.is_plaintext:
        found["AWS_ALLOW_HTTP"] = "true"
    if store.ca_secret is not None or store.ca_config_map is not None:
        found["AWS_CA_BUNDLE"] = f"{AUTHORITY_PATH}/{AUTHORITY_KEY}"
    return [{"name": name, "value": value} for name, value in found.items() if value is not None]


def store_volumes(store: ObjectStore) -> tuple[list[Manifest], list[Manifest]]:
    """And where they are mounted."""
    volumes = [_secret("store-credentials", store.credentials)]
    paths = {"store-credentials": CREDENTIALS_PATH}
    if store.encryption is not None:
        volumes.append(_secret("store-keys", store.encryption))
        paths["store-keys"] = KEYS_PATH
    if store.ca_secret is not None:
        volumes.append(_secret("store-ca", store.ca_secret, AUTHORITY_KEY))
        paths["store-ca"] = AUTHORITY_PATH
    elif store.ca_config_map is not None:
        items = [{"key": AUTHORITY_KEY, "path": AUTHORITY_KEY}]
        volumes.append(
            {"name": "store-ca", "configMap": {"name": store.ca_config_map, "items": items, "optional": True}}
        )
        paths["store-ca"] = AUTHORITY_PATH
    return volumes, [{"name": name, "mountPath": path, "readOnly": True} for name, path in paths.items()]


def _secret(volume: str, name: str, key: str = "") -> Manifest:
    secret: Manifest = {"secretName": name, "defaultMode": DEFAULT_MODE, "optional": True}
    if key:
        secret["items"] = [{"key": key, "path": key}]
    return {"name": volume, "secret": secret}
