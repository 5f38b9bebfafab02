"""Small changes of Python functions, one at a time, as somebody could have got them wrong.

What no test can be asked to notice is left alone: assertions (they state what is true anyway), texts, annotations,
representations. A mutation is known by its function and by what stands there before and after it, so that lines may
move.
"""

from __future__ import annotations

import ast
import types
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

COMPARISONS: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
OPPOSITES: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}
UNSEEN: Final = {"__repr__", "__str__"}
TEXTS: Final = {"Note", "Log", "note", "note_once", "assert_never"}
"""Calls that only tell something to a reader of logs, or of types."""
_TESTED: Final = (ast.Compare, ast.BoolOp)

type_of_def = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Mutation:
    path: str
    function: str
    """Qualified name of the outermost function, as its code object has it."""
    first_line: int
    line: int
    end_line: int
    before: str
    after: str
    apply: Callable[[], None]
    """Changes the module's tree; `undo` puts it back."""
    undo: Callable[[], None]

    @property
    def name(self) -> str:
        return f"{self.path}::{self.function}: {self.before} -> {self.after}"


class Module:
    """One file: its mutations, and the code of a function with one of them."""

    def __init__(self, root: Path, path: Path) -> None:
        self.path = str(path.relative_to(root))
        self.file = str(path)
        self.tree = ast.parse(path.read_text())
        self.mutations = _numbered(self._found(self.tree.body, ""))

    def code(self, mutation: Mutation) -> types.CodeType:
        """The mutated function. Raises SyntaxError when the change makes no Python."""
        mutation.apply()
        try:
            compiled = compile(self.tree, self.file, "exec")
        finally:
            mutation.undo()
        return next(
            c for c in _codes(compiled) if (c.co_qualname, c.co_firstlineno) == (mutation.function, mutation.first_line)
        )

    def _found(self, body: list[ast.stmt], prefix: str) -> Iterator[Mutation]:
        for node in body:
            if isinstance(node, ast.ClassDef):
                yield from self._found(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, type_of_def) and node.name not in UNSEEN:
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                for change in _in_block(node, "body"):
                    yield Mutation(self.path, prefix + node.name, first, *change)


Change = tuple[int, int, str, str, Callable[[], None], Callable[[], None]]


def _numbered(found: Iterator[Mutation]) -> list[Mutation]:
    """The second of two equal changes of one function is called so."""
    seen: Counter[str] = Counter()
    made = []
    for one in found:
        seen[one.name] += 1
        if seen[one.name] > 1:
            one = replace(one, after=f"{one.after} #{seen[one.name]}")
        made.append(one)
    return made


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield const
            yield from _codes(const)


def _change(
    parent: Any, field: str, index: int | None, old: ast.AST, new: ast.AST, shown: ast.AST | None = None
) -> Change:
    ast.copy_location(new, old) if not hasattr(new, "lineno") else None
    ast.fix_missing_locations(new)

    def put(node: ast.AST) -> None:
        if index is None:
            setattr(parent, field, node)
        else:
            getattr(parent, field)[index] = node

    context = shown or old
    put_new, put_old = partial(put, new), partial(put, old)
    before = _text(context)
    if shown is None:
        after = _text(new)
    else:
        put_new()
        after = _text(context)
        put_old()
    return (getattr(old, "lineno", 0), getattr(old, "end_lineno", 0) or 0, before, after, put_new, put_old)


def _text(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 150 else f"{text[:110]}…{text[-38:]}"


def _in_block(owner: ast.AST, field: str) -> Iterator[Change]:
    body = getattr(owner, field)
    for index, statement in enumerate(body):
        if isinstance(statement, ast.Assert | type_of_def | ast.ClassDef):
            if isinstance(statement, type_of_def):
                yield from _in_block(statement, "body")
            continue
        if _is_docstring(statement):
            continue
        if (shorter := _without(statement)) is not None:
            yield _change(owner, field, index, statement, shorter)
        yield from _in_node(statement)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _without(node: ast.stmt) -> ast.stmt | None:
    """What is left of a statement that somebody forgot."""
    match node:
        case ast.Expr(ast.Call(ast.Name(name) | ast.Attribute(attr=name))) if name in TEXTS:
            return None
        case ast.Expr() | ast.AugAssign() | ast.Delete() | ast.Raise() | ast.Continue():
            return ast.Pass()
        case ast.Break():
            return ast.Continue()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return ast.Pass()
        case ast.Return(ast.expr() as value) if not isinstance(value, ast.Constant):
            return ast.Return(ast.Constant(None))
        case _:
            return None


def _in_node(node: ast.AST) -> Iterator[Change]:
    """All expressions of a statement, and the statements below it."""
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "decorator_list", "type_params"}:
            continue
        if isinstance(value, list):
            if value and isinstance(value[0], ast.stmt):
                yield from _in_block(node, field)
            else:
                for index, each in enumerate(value):
                    if isinstance(each, ast.AST):
                        yield from _of_expression(node, field, index, each)
        elif isinstance(value, ast.AST):
            yield from _of_expression(node, field, None, value)


def _of_expression(parent: ast.AST, field: str, index: int | None, node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.JoinedStr | ast.Lambda) or isinstance(parent, ast.Raise):
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
        called = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        if called in TEXTS:
            return
    if _is_condition(parent, field) and not isinstance(node, (*_TESTED, ast.Constant)) and not _is_not(node):
        assert isinstance(node, ast.expr), "a condition is an expression"
        yield _change(parent, field, index, node, ast.UnaryOp(ast.Not(), node))
    shown = parent if isinstance(node, ast.Constant) and isinstance(parent, ast.expr | ast.keyword) else None
    for new in _instead(node):
        yield _change(parent, field, index, old=node, new=new, shown=shown)
    yield from _in_node(node)


def _is_condition(parent: ast.AST, field: str) -> bool:
    match parent:
        case ast.If() | ast.While() | ast.IfExp():
            return field == "test"
        case ast.comprehension():
            return field == "ifs"
        case ast.match_case():
            return field == "guard"
        case ast.BoolOp():
            return field == "values"
        case _:
            return False


def _is_not(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _instead(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(left, ops, comparators):
            for at, op in enumerate(ops):
                for other in COMPARISONS.get(type(op), ())[: 1 if len(ops) > 1 else 2]:
                    yield ast.Compare(left, [*ops[:at], other(), *ops[at + 1 :]], comparators)
        case ast.BoolOp(op, values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.BinOp(left, op, right) if type(op) in ARITHMETIC and not _is_text(left) and not _is_text(right):
            yield ast.BinOp(left, ARITHMETIC[type(op)](), right)
        case ast.AugAssign():
            pass
        case ast.Call(ast.Name(name), args, keywords) if name in OPPOSITES:
            yield ast.Call(ast.Name(OPPOSITES[name], ast.Load()), args, keywords)
        case _:
            pass


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))
