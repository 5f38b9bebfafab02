"""The commands of the shell: what each takes, what it says, and what may complete it.

`run` gives lines, so that nothing here knows a terminal; only `cd` changes anything, the working directory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from controller_runtime.cli.arguments import justify
from controller_runtime.cli.metadata_shell.columns import in_columns
from controller_runtime.cli.metadata_shell.glob import components, find
from controller_runtime.cli.metadata_shell.texts import parse_int
from controller_runtime.cli.metadata_shell.tree import Directory, Leaf, Node, lines
from controller_runtime.values import dataclass, field

_HELP_COLUMN: Final = 25
_HELP_WIDTH: Final = 54


class Exit(Exception):
    """The user has had enough."""


@dataclass(slots=True)
class Session:
    """What commands read: the tree, where one stands in it, how wide the terminal is, what was typed before."""

    root: Directory
    working_directory: str = "/"
    width: int | None = None
    """None: no terminal."""
    history: list[str] = field(default_factory=list)
    interactive: bool = False


@dataclass(frozen=True, slots=True)
class Argument:
    name: str
    count: str
    """As argparse: `+`, `*`, `?`, or `1`."""
    help: str

    @property
    def usage(self) -> str:
        more = f"[{self.name} ...]"
        return {"+": f"{self.name} {more}", "*": f"[{self.name} {more}]", "?": f"[{self.name}]"}.get(
            self.count, self.name
        )


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    description: str
    run: Callable[[Session, Sequence[str]], Iterator[str]]
    argument: Argument | None = None
    shell_only: bool = False
    completes: str = ""
    """`paths`, `path` (the first word only) or `command`."""


class Misused(Exception):
    """The words are no command; the message is all that is said."""


def execute(session: Session, words: Sequence[str]) -> Iterator[str]:
    """Run one command. Raises Exit."""
    words = list(words)
    while words and not words[-1]:
        words.pop()
    if not words:
        return
    try:
        command = _chosen(session, words[0])
        arguments = _checked(command, words[1:])
    except Misused as misused:
        yield str(misused)
        return
    yield from _help(command) if arguments is None else command.run(session, arguments)


def served(session: Session) -> list[str]:
    return [name for name, one in COMMANDS.items() if session.interactive or not one.shell_only]


def _chosen(session: Session, word: str) -> Command:
    names = served(session)
    if word in names:
        return COMMANDS[word]
    if word.startswith("-") and parse_int(word) is None:
        raise Misused(f"unrecognized arguments: '{word}'")
    near = [name for name in names if name.startswith(word)]
    if len(near) > 1:
        raise Misused(f"ambiguous command: {word} could match {', '.join(near)}")
    if near:
        raise Misused(f"invalid choice: '{word}': did you mean '{near[0]}'?")
    raise Misused(f"invalid choice: '{word}' (choose from {', '.join(map(repr, names))})")


def _checked(command: Command, words: Sequence[str]) -> list[str] | None:
    """The arguments; None when help is asked for. Raises Misused."""
    found, only_words = [], False
    for word in words:
        if word == "--" and not only_words:
            only_words = True
        elif word in {"-h", "--help"} and not only_words:
            return None
        elif len(word) > 1 and word.startswith("-") and not only_words and not re.fullmatch(r"-\d+(\.\d+)?", word):
            raise Misused(f"unrecognized arguments: '{word}'")
        else:
            found.append(word)
    count = "" if command.argument is None else command.argument.count
    if count in {"", "?", "1"} and len(found) > (limit := 1 if count else 0):
        raise Misused(f"unrecognized arguments: '{found[limit]}'")
    if count in {"+", "1"} and not found:
        raise Misused("too few arguments")
    return found


def _usage(command: Command, *, with_help: bool) -> str:
    parts = [command.name, "[-h]" if with_help else "", "" if command.argument is None else command.argument.usage]
    return " ".join(filter(None, parts))


def _positional(command: Command) -> Iterator[str]:
    if command.argument is not None:
        yield from ("", "positional arguments:", f"  {command.argument.name:{_HELP_COLUMN - 2}}{command.argument.help}")


def _help(command: Command) -> Iterator[str]:
    yield f"usage:  {_usage(command, with_help=True)}"
    yield from _positional(command)
    yield from ("", "optional arguments:", f"  {'-h, --help':{_HELP_COLUMN - 2}}show this help message and exit")


# What the commands do.


def _cat(session: Session, targets: Sequence[str]) -> Iterator[str]:
    for target in targets:
        found = list(find(session.root, session.working_directory, target))
        for one in found:
            if isinstance(one.node, Directory):
                yield f"cat: {target}: Is a directory"
            else:
                yield from lines(one.node)
        if not found:
            yield f"cat: {target}: No such file or directory."


def _cd(session: Session, targets: Sequence[str]) -> Iterator[str]:
    target = targets[0] if targets else "/"
    found = list(find(session.root, session.working_directory, target))
    for one in found:
        if isinstance(one.node, Leaf):
            yield f"cd: {target}: not a directory."
        else:
            session.working_directory = one.absolute
    if not found:
        yield f"cd: {target}: no such directory."


def _exit(_: Session, __: Sequence[str]) -> Iterator[str]:
    raise Exit
    yield ""


def _find(session: Session, paths: Sequence[str]) -> Iterator[str]:
    for path in _effective(paths):
        found = list(find(session.root, session.working_directory, path))
        for one in found:
            yield from _everything(path, one.node)
        if not found:
            yield f"find: {path}: no such file or directory."


def _everything(path: str, node: Node | None) -> Iterator[str]:
    yield path
    if isinstance(node, Directory):
        for name in node.sorted_names():
            yield from _everything(path + name if path == "/" else f"{path}/{name}", node.child(name))


def _help_of_all(session: Session, _: Sequence[str]) -> Iterator[str]:
    names = f"{{{','.join(served(session))}}}"
    yield from ("Welcome to the Apache Kafka metadata shell.", "", f"usage:  {names} ...", "", "positional arguments:")
    yield f"  {names}"
    for name in served(session):
        first, *more = justify(COMMANDS[name].description, _HELP_WIDTH - 4).split("\n")
        yield f"    {name:{_HELP_COLUMN - 4}}{first}"
        yield from (" " * _HELP_COLUMN + line for line in more)


def _history(session: Session, words: Sequence[str]) -> Iterator[str]:
    count = parse_int(words[0]) if words else len(session.history)
    if count is None:
        why = f'(For input string: "{words[0]}")'
        yield f"argument numEntriesToShow: could not convert '{words[0]}' to Integer {why}"
        return
    first = max(len(session.history) - max(count, 0), 0)
    for number, line in enumerate(session.history[first:], first):
        yield f"{number:5d}  {line}"


def _ls(session: Session, targets: Sequence[str]) -> Iterator[str]:
    files, directories = [], []
    for target in _effective(targets):
        found = list(find(session.root, session.working_directory, target))
        for one in found:
            if isinstance(one.node, Directory):
                directories.append((one.name, one.node.sorted_names()))
            else:
                files.append(one.name)
        if not found:
            yield f"ls: {target}: no such file or directory."
    yield from in_columns(files, session.width)
    titled, first = bool(files) or len(directories) > 1, not files
    for name, children in directories:
        if titled and children:
            yield from [f"{name}:"] if first else ["", f"{name}:"]
        first = False
        yield from in_columns(children, session.width)


def _man(_: Session, words: Sequence[str]) -> Iterator[str]:
    command = COMMANDS.get(words[0])
    if command is None:
        yield f"man: unknown command {words[0]}. Type help to get a list of commands."
        return
    yield from (f"{command.name}: {command.description}", "", f"usage: {_usage(command, with_help=False)}")
    yield from _positional(command)


def _pwd(session: Session, _: Sequence[str]) -> Iterator[str]:
    yield session.working_directory


def _tree(session: Session, targets: Sequence[str]) -> Iterator[str]:
    for target in targets:
        found = list(find(session.root, session.working_directory, target))
        for one in found:
            yield from lines(one.node)
        if not found:
            yield f"tree: {target}: No such file or directory."


def _effective(paths: Sequence[str]) -> list[str]:
    return [path for path in paths if path] or ["."]


COMMANDS: Final = {
    one.name: one
    for one in (
        Command(
            "cat",
            "Show the contents of metadata files.",
            _cat,
            Argument("targets", "+", "The metadata files to display."),
            completes="paths",
        ),
        Command(
            "cd",
            "Set the current working directory.",
            _cd,
            Argument("target", "?", "The directory to change to."),
            shell_only=True,
            completes="path",
        ),
        Command("exit", "Exit the metadata shell.", _exit, shell_only=True),
        Command(
            "find",
            "Search for nodes in the directory hierarchy.",
            _find,
            Argument("paths", "*", "The paths to start at."),
            completes="paths",
        ),
        Command("help", "Display this help message.", _help_of_all, shell_only=True),
        Command(
            "history",
            "Print command history.",
            _history,
            Argument("numEntriesToShow", "?", "The number of entries to show."),
            shell_only=True,
        ),
        Command(
            "ls",
            "List metadata nodes.",
            _ls,
            Argument("targets", "*", "The metadata node paths to list."),
            completes="paths",
        ),
        Command(
            "man",
            "Show the help text for a specific command.",
            _man,
            Argument("cmd", "1", "The command to get help text for."),
            shell_only=True,
            completes="command",
        ),
        Command("pwd", "Print the current working directory.", _pwd, shell_only=True),
        Command(
            "tree",
            "Show the contents of metadata nodes in a tree structure.",
            _tree,
            Argument("targets", "+", "The metadata nodes to display."),
            completes="paths",
        ),
    )
}


# What may be meant by a word that is not finished.


def completions(session: Session, words: Sequence[str]) -> list[str]:
    """What the last word may become. A directory ends in `/`: more may follow."""
    if len(words) < 2:
        return [name for name in COMMANDS if name.startswith(words[0] if words else "")]
    command = COMMANDS.get(words[0])
    match "" if command is None else command.completes:
        case "paths":
            return _paths(session, words[-1])
        case "path" if len(words) == 2:
            return _paths(session, words[-1])
        case "command" if len(words) == 2:
            return [name for name in COMMANDS if name.startswith(words[-1])]
        case _:
            return []


def _paths(session: Session, prefix: str) -> list[str]:
    names = components(prefix if prefix.startswith("/") else f"{session.working_directory}/{prefix}")
    last = "" if prefix.endswith("/") or not names else names.pop()
    if not prefix:
        names, last = components(session.working_directory), ""
    directory: Node | None = session.root
    for name in names:
        directory = directory.child(name) if isinstance(directory, Directory) else None
    if not isinstance(directory, Directory):
        return []
    begun = prefix[: prefix.rfind("/") + 1]
    return [
        f"{begun}{name}{'/' if isinstance(directory.child(name), Directory) else ''}"
        for name in directory.sorted_names()
        if name.startswith(last)
    ]
