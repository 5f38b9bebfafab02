"""Values of configurations: their types and limits, checked as Kafka 4.3.1 checks them and refused in its words.

Numbers are what both Java and Python read as one: blanks around them are allowed, underscores are not. A list has no
empty items.
"""

from __future__ import annotations

import re
from enum import IntEnum
from math import isinf
from typing import Final, assert_never

from controller_runtime.values import dataclass


class ConfigType(IntEnum):
    """Kafka's numbers in DescribeConfigs."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class InvalidConfig(ValueError):
    """A value that Kafka refuses; the message is Kafka's."""


@dataclass(frozen=True, slots=True)
class ConfigSpec:
    name: str
    type: ConfigType
    default: str
    at_least: float | None = None
    at_most: float | None = None
    one_of: tuple[str, ...] = ()
    or_equal_to: int | None = None
    """A value outside of the limits that is allowed, too."""
    broker_names: tuple[str, ...] = ()
    """Under which a broker knows what topics call `name`."""
    items_not_empty: bool = False
    """Of lists."""


THROTTLED: Final = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
MAX_SHOWN: Final = 255
"""So much of what a client wrote is repeated in an error; Kafka repeats all of it."""
BLANKS: Final = "".join(map(chr, range(33)))
"""What Java trims."""
_WITHOUT_DIGITS: Final = dict.fromkeys(map(ord, "0123456789"))
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,20}")
_DECIMAL: Final = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)")
"""What Java reads as a number (hexadecimal ones aside); Python alone would also read 1_000."""
_BITS: Final = {ConfigType.SHORT: 15, ConfigType.INT: 31, ConfigType.LONG: 63}


def items_of(text: str) -> list[str]:
    """A list as Kafka reads it."""
    text = text.strip(BLANKS)
    return [item.strip(BLANKS) for item in text.split(",")] if text else []


def is_true(text: str) -> bool:
    return text.strip(BLANKS).lower() == "true"


def integer(text: str | None, size: ConfigType = ConfigType.INT) -> int | None:
    """The number, or nothing where there is none."""
    text = (text or "").strip(BLANKS)
    number = int(text) if _INTEGER.fullmatch(text) else None
    limit = 2 ** _BITS[size]
    return number if number is not None and -limit <= number < limit else None


def shown(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def check(config: ConfigSpec, text: str) -> None:
    """Raise InvalidConfig unless this is a value that the configuration may have."""
    match config.type:
        case ConfigType.BOOLEAN:
            if text.strip(BLANKS).lower() not in ("true", "false"):
                raise invalid(config.name, text, "Expected value to be either true or false")
        case ConfigType.LIST:
            _check_list(config, text)
        case ConfigType.STRING:
            if config.one_of and text.strip(BLANKS) not in config.one_of:
                raise invalid(config.name, text, f"String must be one of: {', '.join(config.one_of)}")
        case ConfigType.CLASS:
            if text.strip(BLANKS) != config.default:
                raise invalid(config.name, text, f"Class {shown(text)} could not be found.")
        case ConfigType.SHORT | ConfigType.INT | ConfigType.LONG | ConfigType.DOUBLE:
            _check_number(config, text)
        case ConfigType.PASSWORD:
            pass
        case _ as unknown:
            assert_never(unknown)


def invalid(name: str, value: object, why: str) -> InvalidConfig:
    return InvalidConfig(f"Invalid value {shown(str(value))} for configuration {name}: {why}")


def _check_list(config: ConfigSpec, text: str) -> None:
    if config.name in THROTTLED and _is_plain_throttled_list(text):
        return
    items = items_of(text)
    for item in items:
        if config.one_of and item not in config.one_of:
            raise invalid(config.name, item, f"String must be one of: {', '.join(config.one_of)}")
    if config.name in THROTTLED and items not in ([], ["*"]) and not all(map(_is_throttled_replica, items)):
        raise invalid(
            config.name,
            f"[{', '.join(items)}]",
            f"{config.name} must be the literal '*' or a list of replicas in the following format: "
            "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
        )
    if config.items_not_empty and "" in items:
        raise InvalidConfig(f"Configuration '{config.name}' values must not be empty.")


def _is_plain_throttled_list(text: str) -> bool:
    """Seen at one glance, as most are: `1:2,3:4`. Whatever is written otherwise is looked at item by item."""
    marks = text.translate(_WITHOUT_DIGITS)
    return (
        marks == ":," * (len(marks) // 2) + ":"  # digits, colon, digits, comma, ... and none of the digits missing:
        and not (":," in text or ",:" in text or text[0] == ":" or text[-1] == ":")
    )


def _is_throttled_replica(item: str) -> bool:
    partition, colon, broker = item.partition(":")
    return bool(colon) and partition.isdecimal() and broker.isdecimal()


def _check_number(config: ConfigSpec, text: str) -> None:
    number = _number(config.type, text)
    if number is None:
        raise invalid(config.name, text, f"Not a number of type {config.type.name}")
    written = f"{'-' * (number < 0)}Infinity" if isinf(number) else number
    if number == config.or_equal_to and config.or_equal_to is not None:
        return
    low, high = config.at_least, config.at_most
    if config.or_equal_to is not None and low is not None and high is not None and not low <= number <= high:
        raise invalid(config.name, written, f"Value must be between {low} and {high} or equal to {config.or_equal_to}")
    if low is not None and number < low:
        raise invalid(config.name, written, f"Value must be at least {low}")
    if high is not None and number > high:
        raise invalid(config.name, written, f"Value must be no more than {high}")


def _number(kind: ConfigType, text: str) -> float | None:
    if kind is not ConfigType.DOUBLE:
        return integer(text, kind)
    text = text.strip(BLANKS)
    return float(text.rstrip("fFdD")) if _DECIMAL.fullmatch(text) else None
