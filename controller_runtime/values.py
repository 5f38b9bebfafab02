"""Value classes: `dataclass`, `field` and `replace` of the standard library, made cheaply.

The standard decorator compiles five functions for every class and reads its signature, half a millisecond each; a
controller declares two hundred. Here a class is made with its slots at once, and only `__init__` is compiled, when the
first instance is made. What is offered is what the runtime uses: slots always, equality, hashing, order, repr, `match`,
freezing, and `__post_init__`. Type checkers see the standard decorator; `dataclasses.fields`, `replace` and
`is_dataclass` work on the classes. Fields are not inherited.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["dataclass", "field", "replace"]

_MISSING: Final = object()
_FEW_FIELDS: Final = 4
"""Up to this many are faster written one by one through their slots than in a writable twin."""


class _Field:
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
    names = tuple([each.name for each in fields])
    compared = tuple([each.name for each in fields if each.compare])
    for gone in ("__dict__", "__weakref__"):
        namespace.pop(gone, None)
    namespace["__slots__"] = names
    namespace.setdefault("__match_args__", tuple([each.name for each in fields if each.init]))
    namespace["_VALUE_FIELDS"] = fields
    namespace["__dataclass_fields__"] = _StandardFields()
    namespace.setdefault("__repr__", _repr)
    if eq:
        _add_comparison(namespace, attrgetter(*compared) if compared else _nothing, frozen, order)
    if frozen:
        namespace |= _FROZEN
    made: type = type(declared)(declared.__name__, declared.__bases__, namespace)
    made.__init__ = _first_init(made, frozen)  # type: ignore[misc]
    return made


def _take_fields(declared: type, namespace: dict[str, Any]) -> tuple[_Field, ...]:
    """Remove the declarations: a slot and a class attribute of one name exclude each other."""
    assert not any(hasattr(base, "_VALUE_FIELDS") for base in declared.__bases__), "fields are not inherited"
    fields = []
    for name, annotation in namespace.get("__annotations__", {}).items():
        if str(annotation).startswith(("ClassVar", "typing.ClassVar")):
            continue
        value = namespace.pop(name, _MISSING)
        each = value if isinstance(value, _Field) else _Field(default=value)
        each.name = name
        fields.append(each)
    return tuple(fields)


def _nothing(value: object) -> tuple[()]:
    del value
    return ()


def _add_comparison(namespace: dict[str, Any], values: Callable[[Any], Any], frozen: bool, order: bool) -> None:
    def equal(self: object, other: object) -> Any:
        if self.__class__ is other.__class__:
            return bool(values(self) == values(other))
        return NotImplemented

    namespace.setdefault("__eq__", equal)
    if frozen:

        def hashed(self: object) -> int:
            return hash(values(self))

        if namespace.get("__hash__") is None:
            namespace["__hash__"] = hashed
    else:
        namespace.setdefault("__hash__", None)
    if order:
        _add_order(namespace, values)


def _add_order(namespace: dict[str, Any], values: Callable[[Any], Any]) -> None:
    def less(self: object, other: object) -> bool:
        return bool(values(self) < values(other)) if self.__class__ is other.__class__ else NotImplemented

    def at_most(self: object, other: object) -> bool:
        return bool(values(self) <= values(other)) if self.__class__ is other.__class__ else NotImplemented

    def greater(self: object, other: object) -> bool:
        return bool(values(self) > values(other)) if self.__class__ is other.__class__ else NotImplemented

    def at_least(self: object, other: object) -> bool:
        return bool(values(self) >= values(other)) if self.__class__ is other.__class__ else NotImplemented

    namespace |= {"__lt__": less, "__le__": at_most, "__gt__": greater, "__ge__": at_least}


# What all value classes share.


def _repr(self: Any) -> str:
    shown = [f"{each.name}={getattr(self, each.name)!r}" for each in self._VALUE_FIELDS if each.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_set(self: object, name: str, value: object) -> None:
    del value
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r} of {type(self).__name__}")


def _refuse_delete(self: object, name: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r} of {type(self).__name__}")


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


def _standard(each: _Field) -> Any:
    import dataclasses

    given: dict[str, Any] = {"init": each.init, "compare": each.compare, "repr": each.repr}
    if each.default_factory is not _MISSING:
        given["default_factory"] = each.default_factory
    elif each.default is not _MISSING:
        given["default_factory"] = lambda: each.default  # the standard refuses defaults that cannot be hashed
    return dataclasses.field(**given)


def _replace(value: Any, /, **changes: Any) -> Any:
    """A copy with other values; messages are copied the same way."""
    fields = getattr(value, "_VALUE_FIELDS", None)
    if fields is None:
        import dataclasses

        return dataclasses.replace(value, **changes)
    for each in fields:
        if each.init and each.name not in changes:
            changes[each.name] = getattr(value, each.name)
    return value.__class__(**changes)


# Making instances.


def _first_init(cls: type, frozen: bool) -> Callable[..., None]:
    """Stands in until the first instance: compiles the real `__init__`."""

    def first(self: object, *positional: Any, **named: Any) -> None:
        made = _compiled_init(cls, frozen)
        type.__setattr__(cls, "__init__", made)
        made(self, *positional, **named)

    return first


def _compiled_init(cls: type, frozen: bool) -> Callable[..., None]:
    fields: tuple[_Field, ...] = cls._VALUE_FIELDS  # type: ignore[attr-defined]
    scope: dict[str, Any] = {"missing": _MISSING}
    parameters, values = ["self"], {}
    for each in fields:
        if each.init:
            parameters.append(_parameter(each, scope))
            values[each.name] = each.name
            if each.default_factory is not _MISSING:
                values[each.name] = f"make_{each.name}() if {each.name} is missing else {each.name}"
    lines = [f"def __init__({', '.join(parameters)}):", *_assignments(cls, values, scope, frozen)]
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    exec("\n".join([*lines, " return None"]), scope)  # noqa: S102 - the source is made of our own field names
    made: Callable[..., None] = scope["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _parameter(each: _Field, scope: dict[str, Any]) -> str:
    if each.default_factory is not _MISSING:
        scope[f"make_{each.name}"] = each.default_factory
        return f"{each.name}=missing"
    if each.default is not _MISSING:
        scope[f"default_{each.name}"] = each.default
        return f"{each.name}=default_{each.name}"
    return each.name


def _assignments(cls: type, values: dict[str, str], scope: dict[str, Any], frozen: bool) -> list[str]:
    if not frozen:
        return [f" self.{name} = {value}" for name, value in values.items()]
    if len(values) <= _FEW_FIELDS:
        scope |= {f"set_{name}": cls.__dict__[name].__set__ for name in values}
        return [f" set_{name}(self, {value})" for name, value in values.items()]
    # An object of a class that may be written becomes frozen by assigning `__class__`, before anyone has seen it.
    scope |= {"Frozen": cls, "Twin": _writable_twin(cls), "set_attribute": object.__setattr__}
    lines = [f" self.{name} = {value}" for name, value in values.items()]
    return [" set_attribute(self, '__class__', Twin)", *lines, " self.__class__ = Frozen"]


def _writable_twin(cls: type) -> type:
    own = {
        "__slots__": cls.__dict__["__slots__"],
        "__setattr__": object.__setattr__,
        "__delattr__": object.__delattr__,
    }
    if "__orig_bases__" in cls.__dict__:
        own["__orig_bases__"] = cls.__dict__["__orig_bases__"]
    return type(cls)(cls.__name__, cls.__bases__, own)


if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
else:
    dataclass = _value_class
    field = _Field
    replace = _replace
