"""Messages as the JSON that Apache Kafka's tools print and its quorum-state file holds.

    to_json(PartitionRecord(...), 2)      # {"partitionId": 0, "topicId": "…", …}: plain dicts, for json.dumps
    from_json(QuorumStateData, {...}, 1)

The rules are those of Kafka's generated JsonConverters: camelCase names in wire order, only fields of the version,
tagged fields only when they differ from their default, uuids as text, bytes as base64, records as their size. Unknown
tagged fields are not shown.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any, TypeVar

from controller_runtime.identifiers import Uuid
from controller_runtime.protocol.errors import InvalidValue

if TYPE_CHECKING:
    from controller_runtime.protocol.schema import FieldSpec, Message, Struct

M = TypeVar("M", bound="Message")


def to_json(message: Struct, version: int) -> dict[str, Any]:
    """The message at a version, as plain dicts and lists."""
    shown: dict[str, Any] = {}
    for spec in message.FIELDS:
        if version not in spec.versions:
            continue
        value = getattr(message, spec.name)
        if spec.is_tagged(version) and value == spec.default:
            continue
        if spec.kind == "records" and value is not None:
            shown[f"{spec.json_name}SizeInBytes"] = len(value)
        else:
            shown[spec.json_name] = shown_field(spec, value, version)
    return shown


def shown_field(spec: FieldSpec, value: Any, version: int) -> Any:
    """One field's value in that form."""
    if value is None:
        return None
    if spec.array:
        return [_shown_element(spec, each, version) for each in value]
    return _shown_element(spec, value, version)


def _shown_element(spec: FieldSpec, value: Any, version: int) -> Any:
    if spec.struct is not None:
        return to_json(value, version)
    if spec.kind == "uuid":
        return str(value)
    if spec.kind == "bytes":
        return b64encode(value).decode()
    return value


def from_json(cls: type[M], shown: dict[str, Any], version: int) -> M:
    """Read `to_json`'s form. Raises InvalidValue naming the field; unknown names are refused as Kafka's converters
    ignore them not.
    """
    return _read_struct(cls, shown, version, cls.__name__, "")  # type: ignore[no-any-return]


def _read_struct(cls: type[Struct], shown: Any, version: int, message: str, path: str) -> Any:
    if not isinstance(shown, dict):
        raise InvalidValue(message, version, path or "the message", f"an object is needed, not {shown!r}")
    values: dict[str, Any] = {}
    for spec in cls.FIELDS:
        place = f"{path}.{spec.name}" if path else spec.name
        if version not in spec.versions:
            continue
        if spec.json_name in shown:
            values[spec.name] = _read_value(spec, shown[spec.json_name], version, message, place)
        elif not spec.is_tagged(version):
            raise InvalidValue(message, version, place, f"{spec.json_name} is missing")
    return cls(**values)


def _read_value(spec: FieldSpec, value: Any, version: int, message: str, place: str) -> Any:
    if value is None:
        if version in spec.nullable:
            return None
        raise InvalidValue(message, version, place, "null is not allowed here")
    if not spec.array:
        return _read_element(spec, value, version, message, place)
    if not isinstance(value, list):
        raise InvalidValue(message, version, place, f"a list is needed, not {value!r}")
    return tuple(_read_element(spec, each, version, message, f"{place}[{index}]") for index, each in enumerate(value))


def _read_element(spec: FieldSpec, value: Any, version: int, message: str, place: str) -> Any:
    if spec.struct is not None:
        return _read_struct(spec.struct, value, version, message, place)
    try:
        match spec.kind:
            case "uuid":
                return Uuid.parse(value)
            case "bytes" | "records":
                return b64decode(value, validate=True)
            case "string":
                wanted: type[Any] | tuple[type[Any], ...] = str
            case "bool":
                wanted = bool
            case "float64":
                wanted = (float, int)
            case _:
                wanted = int
    except (ValueError, TypeError) as error:
        raise InvalidValue(message, version, place, str(error)) from error
    if not isinstance(value, wanted) or (spec.kind != "bool" and isinstance(value, bool)):
        raise InvalidValue(message, version, place, f"{value!r} is not {spec.kind}")
    return value
