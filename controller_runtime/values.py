"""Value classes: `dataclass`, `field` and `replace` of the standard library, made cheaply.

The standard decorator compiles five functions for every class and reads its signature, half a millisecond each; a
controller declares two hundred. Here a class is made with its slots at once, and only `__init__` is compiled, when the
first instance is made. What is offered is what the runtime uses: slots always, equality, hashing, order, repr, `match`,
freezing, and `__post_init__`. Type checkers see the standard decorator; `dataclasses.fields`, `replace` and
`is_dataclass` work on the classes. Fields are not inherited.

Messages (`protocol.schema`) are value classes too: their metaclass declares fields in another way, and takes the rest
from here: `Field`, `methods_of`, `lazy_init` and `writable_twin`.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Field", "dataclass", "field", "lazy_init", "methods_of", "replace", "writable_twin"]

_MISSING: Final = object()
_FEW_FIELDS: Final = 4
"""Up to this many are faster written one by one through their slots than in a writable twin."""


class Field:
    """What `field()` declares; `name` is set when its class is made."""

    __slots__ = ("compare", "default", "default_factory", "init", "name", "repr")

    def __init__(
        self,
        *,
        default: Any = _MISSING,
        default_factory: Any = _MISSING,
        init: bool = True,
        compare: bool = True,
        repr: bool = True,  # noqa: A002 - the standard name
    ) -> None:
        self.name = ""
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.compare = compare
        self.repr = repr


def _value_class(*, frozen: bool = False, slots: bool, eq: bool = True, order: bool = False) -> Callable[[type], type]:
    """The decorator behind the name `dataclass`."""
    assert slots, "value classes have slots"

    def decorate(declared: type) -> type:
        return _made(declared, frozen, eq, order)

    return decorate


def _made(declared: type, frozen: bool, eq: bool, order: bool) -> type:
    namespace = dict(declared.__dict__)
    fields = _take_fields(declared, namespace)
    for gone in ("__dict__", "__weakref__"):
        namespace.pop(gone, None)
    namespace["__slots__"] = tuple([each.name for each in fields])
    namespace.setdefault("__match_args__", tuple([each.name for each in fields if each.init]))
    namespace.setdefault("__repr__", _repr)
    namespace |= methods_of(fields, namespace, frozen=frozen, eq=eq, order=order)
    made: type = type(declared)(declared.__name__, declared.__bases__, namespace)
    lazy_init(made, frozen=frozen)
    return made


def _take_fields(declared: type, namespace: dict[str, Any]) -> tuple[Field, ...]:
    """Remove the declarations: a slot and a class attribute of one name exclude each other."""
    assert not any(hasattr(base, "_VALUE_FIELDS") for base in declared.__bases__), "fields are not inherited"
    fields = []
    for name, annotation in namespace.get("__annotations__", {}).items():
        if str(annotation).startswith(("ClassVar", "typing.ClassVar")):
            continue
        value = namespace.pop(name, _MISSING)
        each = value if isinstance(value, Field) else Field(default=value)
        each.name = name
        fields.append(each)
    return tuple(fields)


def methods_of(
    fields: tuple[Field, ...], declared: dict[str, Any], *, frozen: bool, eq: bool = True, order: bool = False
) -> dict[str, Any]:
    """What a class of these fields gets beside its slots and `__init__`. What it declared itself stays."""
    made: dict[str, Any] = {"_VALUE_FIELDS": fields, "__dataclass_fields__": _STANDARD_FIELDS}
    if eq:
        compared = [each.name for each in fields if each.compare]
        values = attrgetter(*compared) if compared else _nothing
        made |= _comparison(values, frozen)
        if order:
            made |= _order(values)
        if "__eq__" in declared:
            del made["__eq__"]
        if declared.get("__hash__") is not None:
            del made["__hash__"]
    return made | _FROZEN if frozen else made


def _nothing(value: object) -> tuple[()]:
    del value
    return ()


def _comparison(values: Callable[[Any], Any], frozen: bool) -> dict[str, Any]:
    def equal(self: object, other: object) -> Any:
        if self.__class__ is other.__class__:
            return bool(values(self) == values(other))
        return NotImplemented

    def hashed(self: object) -> int:
        return hash(values(self))

    return {"__eq__": equal, "__hash__": hashed if frozen else None}


def _order(values: Callable[[Any], Any]) -> dict[str, Any]:
    def less(self: object, other: object) -> bool:
        return bool(values(self) < values(other)) if self.__class__ is other.__class__ else NotImplemented

    def at_most(self: object, other: object) -> bool:
        return bool(values(self) <= values(other)) if self.__class__ is other.__class__ else NotImplemented

    def greater(self: object, other: object) -> bool:
        return bool(values(self) > values(other)) if self.__class__ is other.__class__ else NotImplemented

    def at_least(self: object, other: object) -> bool:
        return bool(values(self) >= values(other)) if self.__class__ is other.__class__ else NotImplemented

    return {"__lt__": less, "__le__": at_most, "__gt__": greater, "__ge__": at_least}


# What all value classes share.


def _repr(self: Any) -> str:
    shown = [f"{each.name}={getattr(self, each.name)!r}" for each in self._VALUE_FIELDS if each.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_set(self: object, name: str, value: object) -> None:
    del value
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"{type(self).__name__}.{name} is frozen; use replace")


def _refuse_delete(self: object, name: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"{type(self).__name__}.{name} is frozen")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in self._VALUE_FIELDS]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(self._VALUE_FIELDS, state, strict=True):
        object.__setattr__(self, each.name, value)


_FROZEN: Final = {
    "__setattr__": _refuse_set,
    "__delattr__": _refuse_delete,
    "__getstate__": _get_state,
    "__setstate__": _set_state,
}


class _StandardFields:
    """`__dataclass_fields__`, made when somebody asks."""

    def __get__(self, instance: object, owner: type) -> Any:
        import dataclasses

        members = [(each.name, Any, _standard(each)) for each in owner._VALUE_FIELDS]  # type: ignore[attr-defined]
        made = dataclasses.make_dataclass(owner.__name__, members, kw_only=True).__dict__["__dataclass_fields__"]
        type.__setattr__(owner, "__dataclass_fields__", made)
        return made


_STANDARD_FIELDS: Final = _StandardFields()


def _standard(each: Field) -> Any:
    import dataclasses

    given: dict[str, Any] = {"init": each.init, "compare": each.compare, "repr": each.repr}
    if each.default_factory is not _MISSING:
        given["default_factory"] = each.default_factory
    elif each.default is not _MISSING:
        given["default_factory"] = lambda: each.default  # the standard refuses defaults that cannot be hashed
    return dataclasses.field(**given)


def _replace(value: Any, /, **changes: Any) -> Any:
    """A copy with other values."""
    fields = getattr(value, "_VALUE_FIELDS", None)
    if fields is None:
        import dataclasses

        return dataclasses.replace(value, **changes)
    for each in fields:
        if each.init and each.name not in changes:
            changes[each.name] = getattr(value, each.name)
    return value.__class__(**changes)


# Making instances.


def lazy_init(cls: type, *, frozen: bool, keyword_only: bool = False) -> None:
    """Give `cls` an `__init__` that is compiled when the first instance is made."""

    def first(self: object, *positional: Any, **named: Any) -> None:
        made = _compiled_init(cls, frozen, keyword_only)
        type.__setattr__(cls, "__init__", made)
        made(self, *positional, **named)

    cls.__init__ = first  # type: ignore[misc]


def _compiled_init(cls: type, frozen: bool, keyword_only: bool) -> Callable[..., None]:
    fields: tuple[Field, ...] = cls._VALUE_FIELDS  # type: ignore[attr-defined]
    scope: dict[str, Any] = {"_missing": _MISSING}
    parameters, values = ["self", "*"] if keyword_only else ["self"], {}
    for each in fields:
        if each.init:
            parameters.append(_parameter(each, scope))
            values[each.name] = each.name
            if each.default_factory is not _MISSING:
                values[each.name] = f"make_{each.name}() if {each.name} is _missing else {each.name}"
    lines = [f"def __init__({', '.join(parameters)}):", *_assignments(cls, values, scope, frozen)]
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    exec("\n".join([*lines, " return None"]), scope)  # noqa: S102 - the source is made of our own field names
    made: Callable[..., None] = scope["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _parameter(each: Field, scope: dict[str, Any]) -> str:
    if each.default_factory is not _MISSING:
        scope[f"make_{each.name}"] = each.default_factory
        return f"{each.name}=_missing"
    if each.default is not _MISSING:
        scope[f"default_{each.name}"] = each.default
        return f"{each.name}=default_{each.name}"
    return each.name


def _assignments(cls: type, values: dict[str, str], scope: dict[str, Any], frozen: bool) -> list[str]:
    if not frozen:
        return [f" self.{name} = {value}" for name, value in values.items()]
    if len(values) <= _FEW_FIELDS:
        scope |= {f"set_{name}": getattr(cls, name).__set__ for name in values}
        return [f" set_{name}(self, {value})" for name, value in values.items()]
    scope |= {"Frozen": cls, "Twin": writable_twin(cls), "set_attribute": object.__setattr__}
    lines = [f" self.{name} = {value}" for name, value in values.items()]
    return [" set_attribute(self, '__class__', Twin)", *lines, " self.__class__ = Frozen"]


def writable_twin(cls: type) -> type:
    """A class with the same slots whose instances may be written, and become frozen by assigning `__class__`.

    Filling a frozen object through `object.__setattr__` costs ten times as much. Nobody sees an instance before it is
    whole.
    """
    twin: type | None = cls.__dict__.get("_TWIN")
    if twin is None:
        # All must be object's own, or CPython would look them up by name on every assignment.
        own = {
            "__slots__": cls.__dict__["__slots__"],
            "__setattr__": object.__setattr__,
            "__delattr__": object.__delattr__,
            "__init__": object.__init__,
        }
        if "__orig_bases__" in cls.__dict__:
            own["__orig_bases__"] = cls.__dict__["__orig_bases__"]
        twin = type.__new__(type(cls), cls.__name__, cls.__bases__, own)
        type.__setattr__(cls, "_TWIN", twin)
    return twin


if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
else:
    dataclass = _value_class
    field = Field
    replace = _replace
