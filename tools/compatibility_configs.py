"""The part of `docs/compatibility.md` about configuration: every name of Kafka's, and what a node does with it."""

from __future__ import annotations

from collections.abc import Iterator

from controller_runtime.server.config_names import (
    ACTED,
    CONFIG_NAMES,
    EXTRA_REFUSED,
    IGNORED,
    OWN_NAMES,
    REFUSED,
    REFUSED_PREFIXES,
    ConfigName,
)


def config_section() -> Iterator[str]:
    """Lines of Markdown."""
    counts = {standing: sum(row.standing == standing for row in CONFIG_NAMES) for standing in (ACTED, REFUSED, IGNORED)}
    yield "## Configuration names of a node"
    yield ""
    yield (
        f"Of {len(CONFIG_NAMES)} names of Apache Kafka 4.3.1, {counts[ACTED]} are acted on, {counts[REFUSED]} are refused "
        f"and {counts[IGNORED]} are ignored."
    )
    yield "A refused name stops the start, with its line, unless it is set to Kafka's default: ignoring it would weaken security or durability."
    yield "An ignored name is listed at start with its reason. A name that Kafka does not have is a warning."
    yield ""
    yield "| name | default | standing | why |"
    yield "|---|---|---|---|"
    for row in sorted(CONFIG_NAMES):
        yield f"| `{row.name}` | {_default(row)} | {row.standing} | {_why(row)} |"
    for name, why in EXTRA_REFUSED.items():
        yield f"| `{name}` | | refused | without it {why} |"
    for prefix in REFUSED_PREFIXES:
        yield f"| any other `{prefix}*` | | refused | without it the security it asks for would be missing |"
    yield "| `listener.name.*` | | refused | without it the settings of that listener would not be in force |"
    yield ""
    yield "Names of our own:"
    yield ""
    for name, meaning in OWN_NAMES.items():
        yield f"- `{name}`: {meaning}"


def _why(row: ConfigName) -> str:
    return f"without it {row.reason}" if row.standing == REFUSED else row.reason


def _default(row: ConfigName) -> str:
    return "" if row.default in {"", "null", "REQUIRED"} else f"`{row.default}`"
