"""What a message is: its fields, and for each field its versions, nullability, tag and default, as data.

A message module declares its layout once, in the class body:

    class FetchPartition(Struct):
        partition: int = field("int32", "0+", default=0)
        replica_directory_id: Uuid = field("uuid", "17+", tag=0, tagged="17+", default=ZERO_UUID, ignorable=True)

`Struct` turns that into a frozen, slotted, keyword-only dataclass (`dataclasses.fields`, `replace` and `is_dataclass`
work on it) and keeps the layout in `cls.FIELDS`, which the codec compiles. Every struct has `unknown_tagged_fields`,
the tagged fields of a newer peer, so that they survive a round trip. The metaclass is ours, not `@dataclass`, because
hundreds of classes are declared and the standard decorator compiles five functions for each: here `__init__` is
compiled on first use. Callers may not assume that values are checked: types are the type checker's work, ranges are
checked by `codec.encode`.

    request = FetchRequest(max_wait_ms=500, topics=(FetchTopic(topic_id=METADATA_TOPIC_ID),))
    request.topics[0].topic_id
"""

from __future__ import annotations

from functools import lru_cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, cast, dataclass_transform

from controller_runtime.values import dataclass

if TYPE_CHECKING:
    import dataclasses
    from collections.abc import Callable, Mapping

type_setattr: Final = type.__setattr__
object_setattr: Final = object.__setattr__
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


class FieldSpec:
    """One field of a layout. `kind` is a primitive's name, or "struct" with `struct` set; `array` says whether it
    repeats.
    """

    __slots__ = (
        "array", "default", "ignorable", "json_name", "kind", "name", "never_flexible", "nullable", "struct", "tag", "tagged",
        "versions",
    )  # fmt: skip

    name: str
    json_name: str
    kind: str
    struct: type[Struct] | None
    array: bool
    versions: Versions
    nullable: Versions
    tag: int
    tagged: Versions
    default: Any
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
    spec = FieldSpec()
    spec.array = isinstance(kind, list)
    element = kind[0] if isinstance(kind, list) else kind
    spec.kind, spec.struct = (element, None) if isinstance(element, str) else ("struct", element)
    spec.versions, spec.nullable, spec.tagged = versions(present), versions(nullable), versions(tagged)
    spec.tag = tag
    spec.default = default
    spec.ignorable = ignorable
    spec.never_flexible = never_flexible
    spec.json_name = json_name
    return spec


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def _same(value: object) -> object:
    return value


class _DataclassFields:
    """`__dataclass_fields__`, made when someone asks: `dataclasses.replace` and `fields` then work as on
    any dataclass.
    """

    def __get__(self, instance: object, owner: type[Struct]) -> dict[str, dataclasses.Field[Any]]:
        import dataclasses

        members: list[tuple[str, Any, Any]] = [
            (spec.name, Any, dataclasses.field(default_factory=partial(_same, spec.default))) for spec in owner.FIELDS
        ]
        members.append(("unknown_tagged_fields", Any, dataclasses.field(default=())))
        twin = dataclasses.make_dataclass(owner.__name__, members, kw_only=True)
        made: dict[str, dataclasses.Field[Any]] = vars(twin)["__dataclass_fields__"]
        type_setattr(owner, "__dataclass_fields__", made)
        return made


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
        namespace.setdefault("__slots__", tuple(spec.name for spec in specs))
        if info:
            namespace |= _message_facts(**info)
        cls = super().__new__(mcs, name, bases, namespace)
        if bases:
            cls.__init__ = _first_init  # type: ignore[misc]
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


def writable_twin(cls: type[Struct]) -> type[Struct]:
    """A class with the same slots whose instances may be written, then turned into `cls` by assigning `__class__`.

    Filling a frozen object through `object.__setattr__` costs ten times as much; nobody sees an instance before it is
    whole.
    """
    twin: type[Struct] | None = cls.__dict__.get("_TWIN")
    if twin is None:
        # Both must be object's own, or CPython would look them up by name on every assignment.
        namespace = {
            "__slots__": cls.__dict__["__slots__"],
            "__setattr__": object_setattr,
            "__delattr__": object.__delattr__,
            "__init__": object.__init__,
        }
        twin = cast("type[Struct]", type.__new__(StructType, cls.__name__, cls.__bases__, namespace))
        type_setattr(cls, "_TWIN", twin)
    return twin


def _compile_init(cls: type[Struct]) -> Callable[..., None]:
    names = [spec.name for spec in cls.FIELDS]
    scope: dict[str, Any] = {"Frozen": cls, "Twin": writable_twin(cls), "set_class": object_setattr}
    scope |= {f"default_{spec.name}": spec.default for spec in cls.FIELDS}
    parameters = "".join(f", {name}=default_{name}" for name in names)
    lines = [f"def __init__(self, *{parameters}, unknown_tagged_fields=()):", " set_class(self, '__class__', Twin)"]
    lines += [f" self.{name} = {name}" for name in [*names, "unknown_tagged_fields"]]
    lines.append(" self.__class__ = Frozen")
    exec("\n".join(lines), scope)  # noqa: S102 - the source is made of our own field names
    made: Callable[..., None] = scope["__init__"]
    made.__qualname__ = f"{cls.__name__}.__init__"
    return made


def _first_init(self: Struct, **values: Any) -> None:
    """Stands in until the first instance: compiles the real `__init__` and calls it."""
    cls = type(self)
    made = _compile_init(cls)
    type_setattr(cls, "__init__", made)
    made(self, **values)


def default_of(cls: type[Struct]) -> Any:
    """The instance with all defaults, made without compiling anything: the default of a field that is a struct."""
    made = object.__new__(cls)
    for spec in cls.FIELDS:
        object_setattr(made, spec.name, spec.default)
    object_setattr(made, "unknown_tagged_fields", ())
    return made


class Struct(metaclass=StructType):
    """Base of every structure on the wire or in the log."""

    __slots__ = ("unknown_tagged_fields",)
    __dataclass_fields__: ClassVar[Any] = _DataclassFields()
    FIELDS: ClassVar[tuple[FieldSpec, ...]]

    if TYPE_CHECKING:
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()

    def __setattr__(self, name: str, value: object) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"{type(self).__name__}.{name} is frozen; use replace")

    def __delattr__(self, name: str) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"{type(self).__name__}.{name} is frozen")

    def __eq__(self, other: object) -> bool:
        if self.__class__ is not other.__class__:
            return NotImplemented
        values = values_of(type(self))
        return bool(values(self) == values(other))

    def __hash__(self) -> int:
        return hash((self.__class__, values_of(type(self))(self)))

    def __repr__(self) -> str:
        """Only what differs from the defaults: messages have dozens of fields."""
        shown = [
            (spec.name, getattr(self, spec.name)) for spec in self.FIELDS if getattr(self, spec.name) != spec.default
        ]
        if self.unknown_tagged_fields:
            shown.append(("unknown_tagged_fields", self.unknown_tagged_fields))
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        names = [*(spec.name for spec in self.FIELDS), "unknown_tagged_fields"]
        return _restore, (type(self), {name: getattr(self, name) for name in names})

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


def values_of(cls: type[Struct]) -> Callable[[object], Any]:
    """A function that reads all fields of an instance of `cls` at once."""
    getter: Callable[[object], Any] | None = cls.__dict__.get("_VALUES")
    if getter is None:
        getter = attrgetter(*(spec.name for spec in cls.FIELDS), "unknown_tagged_fields")
        type_setattr(cls, "_VALUES", getter)
    return getter


def _restore(cls: type[Struct], values: dict[str, Any]) -> Struct:
    return cls(**values)


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
