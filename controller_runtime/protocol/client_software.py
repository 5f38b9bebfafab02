"""What a client may call itself in ApiVersions (KIP-511)."""

from __future__ import annotations

import re
from typing import Final

from controller_runtime.protocol.messages.api_versions_request import ApiVersionsRequest

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def is_named(request: ApiVersionsRequest) -> bool:
    names = (request.client_software_name, request.client_software_version)
    return all(_SOFTWARE.fullmatch(name) for name in names)
