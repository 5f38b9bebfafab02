"""What a message is: its fields, and for each field its versions, nullability, tag and default, as data.

A message module declares its layout once, in the class body:

    class FetchPartition(Struct):
        partition: int = field("int32", "0+", default=0)
        replica_directory_id: Uuid = field("uuid", "17+", tag=0, tagged="17+", default=ZERO_UUID, ignorable=True)

`Struct` turns that into a frozen, keyword-only value class (`controller_runtime.values`) and keeps the layout in
`cls.FIELDS`, which the codec compiles. Every struct has `unknown_tagged_fields`, the tagged fields of a newer peer, so
that they survive a round trip. Callers may not assume that values are checked: types are the type checker's work,
ranges are checked by `codec.encode`.

    request = FetchRequest(max_wait_ms=500, topics=(FetchTopic(topic_id=METADATA_TOPIC_ID),))
    request.topics[0].topic_id
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar, dataclass_transform

from controller_runtime.values import Field, dataclass, lazy_init, methods_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Item = TypeVar("Item")

NO_HIGHEST: Final = 32767

FIXED_FORMATS: Final[Mapping[str, str]] = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "uint32": "I",
    "float64": "d",
    "uuid": "16s",
}
"""Types of fixed size, with their format in the `struct` module."""

FIXED_SIZES: Final[Mapping[str, int]] = {
    "bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint16": 2, "uint32": 4, "float64": 8, "uuid": 16,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Versions:
    """An inclusive range of versions; empty when `lowest > highest`."""

    lowest: int
    highest: int

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.lowest <= version <= self.highest

    def __bool__(self) -> bool:
        return self.lowest <= self.highest

    def __iter__(self) -> Any:
        return iter(range(self.lowest, self.highest + 1))

    def __str__(self) -> str:
        if not self:
            return "none"
        if self.highest == NO_HIGHEST:
            return f"{self.lowest}+"
        return f"{self.lowest}" if self.lowest == self.highest else f"{self.lowest}-{self.highest}"


NO_VERSIONS: Final = Versions(0, -1)


@lru_cache(maxsize=256)
def versions(text: str) -> Versions:
    """Read Kafka's notation: `3+`, `0-12`, `7`, `none`."""
    if text in ("", "none"):
        return NO_VERSIONS
    if text.endswith("+"):
        return Versions(int(text[:-1]), NO_HIGHEST)
    lowest, _, highest = text.partition("-")
    return Versions(int(lowest), int(highest or lowest))


class FieldSpec(Field):
    """One field of a layout. `kind` is a primitive's name, or "struct" with `struct` set; `array` says whether it
    repeats.
    """

    __slots__ = (
        "array", "ignorable", "json_name", "kind", "never_flexible", "nullable", "struct", "tag", "tagged", "versions",
    )  # fmt: skip

    json_name: str
    kind: str
    struct: type[Struct] | None
    array: bool
    versions: Versions
    nullable: Versions
    tag: int
    tagged: Versions
    ignorable: bool
    never_flexible: bool

    def is_tagged(self, version: int) -> bool:
        return self.tagged.lowest <= version <= self.tagged.highest

    def __repr__(self) -> str:
        shape = self.struct.__name__ if self.struct else self.kind
        return f"FieldSpec({self.name}: {'[]' if self.array else ''}{shape} {self.versions})"


def field(
    kind: str | type[Struct] | list[str] | list[Any],
    present: str,
    *,
    default: Any,
    nullable: str = "",
    tag: int = -1,
    tagged: str = "",
    ignorable: bool = False,
    never_flexible: bool = False,
    json_name: str = "",
) -> Any:
    """Declare a field. A list of one element (`["int32"]`, `[FetchTopic]`) is an array of it."""
    spec = FieldSpec(default=default)
    spec.array = isinstance(kind, list)
    element = kind[0] if isinstance(kind, list) else kind
    spec.kind, spec.struct = (element, None) if isinstance(element, str) else ("struct", element)
    spec.versions, spec.nullable, spec.tagged = versions(present), versions(nullable), versions(tagged)
    spec.tag = tag
    spec.ignorable = ignorable
    spec.never_flexible = never_flexible
    spec.json_name = json_name
    return spec


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


UNKNOWN_TAGGED_FIELDS: Final = Field(default=())
UNKNOWN_TAGGED_FIELDS.name = "unknown_tagged_fields"


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class StructType(type):
    """Makes a slotted class of the declared fields. The declarations move to `FIELDS`."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **info: Any) -> StructType:
        specs = []
        for attribute, value in list(namespace.items()):
            if isinstance(value, FieldSpec):
                del namespace[attribute]
                value.name = attribute
                value.json_name = value.json_name or _camel(attribute)
                specs.append(value)
        namespace["FIELDS"] = tuple(specs)
        namespace.setdefault("__slots__", tuple([spec.name for spec in specs]))
        if info:
            namespace |= _message_facts(**info)
        namespace |= methods_of((*specs, UNKNOWN_TAGGED_FIELDS), namespace, frozen=True)
        cls = super().__new__(mcs, name, bases, namespace)
        lazy_init(cls, frozen=True, keyword_only=True)
        return cls


def _message_facts(
    *, kind: str, valid: str, flexible: str, key: int | None = None, listeners: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The class keywords of a message: `class FetchRequest(Message, kind="request", valid="4-18", flexible="12+",
    key=1)`.
    """
    return {
        "KIND": kind,
        "KEY": key,
        "VERSIONS": versions(valid),
        "FLEXIBLE": versions(flexible),
        "LISTENERS": listeners,
        "DECODERS": {},
        "ENCODERS": {},
        "SURVEYS": {},
    }


def default_of(cls: type[Struct]) -> Any:
    """The instance with all defaults, made without compiling anything: the default of a field that is a struct."""
    made = object.__new__(cls)
    for each in (*cls.FIELDS, UNKNOWN_TAGGED_FIELDS):
        object.__setattr__(made, each.name, each.default)
    return made


class Struct(metaclass=StructType):
    """Base of every structure on the wire or in the log."""

    __slots__ = ("unknown_tagged_fields",)
    FIELDS: ClassVar[tuple[FieldSpec, ...]]

    if TYPE_CHECKING:
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()

        def __eq__(self, other: object) -> bool: ...
        def __hash__(self) -> int: ...

    def __repr__(self) -> str:
        """Only what differs from the defaults: messages have dozens of fields."""
        shown = [
            (spec.name, getattr(self, spec.name)) for spec in self.FIELDS if getattr(self, spec.name) != spec.default
        ]
        if self.unknown_tagged_fields:
            shown.append(("unknown_tagged_fields", self.unknown_tagged_fields))
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown)})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class Shared(tuple[Item, ...]):  # noqa: SLOT001 - tuples cannot have slots
    """An array of structures that many messages have alike: its bytes are made once for each version of the message.
    It belongs to one field of one message (`encoder_source.SHARED_ARRAYS`), and is equal to any tuple of its items.
    """

    written: dict[int, bytes]

    def __init__(self, items: Iterable[Item]) -> None:
        del items  # `tuple` has taken them
        self.written = {}


class Message(Struct):
    """A structure that stands alone: it has a name, versions and, mostly, an API or record key."""

    __slots__ = ()
    KIND: ClassVar[str]
    """request, response, header, metadata, data, coordinator-key, coordinator-value"""
    KEY: ClassVar[int | None]
    """The API key of a request or response, the record type of a metadata or coordinator record."""
    VERSIONS: ClassVar[Versions]
    FLEXIBLE: ClassVar[Versions]
    LISTENERS: ClassVar[tuple[str, ...]]
    DECODERS: ClassVar[dict[int, Callable[[bytes, int, int], tuple[Any, int]]]]
    ENCODERS: ClassVar[dict[int, Callable[[Any, Callable[[bytes], None]], None]]]
    SURVEYS: ClassVar[dict[int, Callable[[bytes, int, int, int], tuple[int, int]]]]
    """The compiled codecs by version; `codec` fills them on first use."""


def spec_of(cls: type[Struct], name: str) -> FieldSpec:
    """The declaration of one field."""
    return next(spec for spec in cls.FIELDS if spec.name == name)
