"""Writes one module per message from `kafka_messages.txt`: `controller_runtime/protocol/messages/` and the table of
their names.

The text file holds the layouts of Apache Kafka 4.3.1 as facts; this script only changes their notation. The modules are
committed, so nobody needs it to run or read Quorate; `--check` says whether the tree is what it would write.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
FACTS: Final = Path(__file__).resolve().parent / "kafka_messages.txt"
TARGET: Final = ROOT / "controller_runtime/protocol/messages"
PRIMITIVES: Final = {
    "bool": "bool", "int8": "int", "int16": "int", "int32": "int", "int64": "int", "uint16": "int", "uint32": "int",
    "float64": "float", "uuid": "Uuid", "string": "str", "bytes": "bytes", "records": "bytes",
}  # fmt: skip
ZEROS: Final = {
    "bool": "False", "float64": "0.0", "uuid": "ZERO_UUID", "string": '""', "bytes": 'b""', "records": 'b""',
}  # fmt: skip


@dataclass
class Field:
    name: str
    type: str
    versions: str
    options: dict[str, str]
    fields: list[Field] = field(default_factory=list)

    @property
    def element(self) -> str:
        return self.type.removeprefix("[]")

    @property
    def is_array(self) -> bool:
        return self.type.startswith("[]")


@dataclass
class Message:
    name: str
    kind: str
    options: dict[str, str]
    fields: list[Field] = field(default_factory=list)
    shared: dict[str, list[Field]] = field(default_factory=dict)


def options_of(words: list[str]) -> dict[str, str]:
    return {key: value for key, _, value in (word.partition(":") for word in words)}


def read_facts(text: str) -> list[Message]:
    messages: list[Message] = []
    stack: list[tuple[int, list[Field]]] = []
    for line in text.splitlines():
        words = line.split()
        if not words or line.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        if indent == 0:
            messages.append(Message(words[0], words[1], options_of(words[2:])))
            stack = [(0, messages[-1].fields)]
            continue
        while stack[-1][0] >= indent:
            stack.pop()
        if words[0] == "struct":
            stack.append((indent, messages[-1].shared.setdefault(words[1], [])))
            continue
        made = Field(words[0], words[1], words[2], options_of(words[3:]))
        stack[-1][1].append(made)
        stack.append((indent, made.fields))
    return messages


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name.replace("KRaft", "Kraft")).lower()


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def structures(message: Message) -> dict[str, list[Field]]:
    """The structures below a message, each after those it needs."""
    found: dict[str, list[Field]] = {}

    def visit(fields: list[Field]) -> None:
        for each in fields:
            if each.element in PRIMITIVES:
                continue
            inner = each.fields or message.shared[each.element]
            visit(inner)
            if found.setdefault(each.element, inner) is not inner:
                raise SystemExit(f"{message.name}: two structures {each.element}")

    visit(message.fields)
    return found


def default_of(each: Field) -> str:
    text = each.options.get("default")
    if text == "null":
        return "None"
    if text in ("true", "false"):
        return text.title()
    if text is not None:
        return str(int(text, 0)) if text.strip('"') else text
    if each.is_array:
        return "()"
    if each.element in PRIMITIVES:
        return ZEROS.get(each.element, "0")
    return f"default_of({each.element})"


def annotation_of(each: Field) -> str:
    base = PRIMITIVES.get(each.element, each.element)
    if each.is_array:
        base = f"tuple[{base}, ...]"
    return f"{base} | None" if "null" in each.options else base


def declaration(each: Field) -> str:
    kind = f'"{each.element}"' if each.element in PRIMITIVES else each.element
    words = [f"[{kind}]" if each.is_array else kind, f'"{each.versions}"', f"default={default_of(each)}"]
    if "null" in each.options:
        words.append(f'nullable="{each.options["null"]}"')
    if "tag" in each.options:
        tag, _, tagged = each.options["tag"].partition("@")
        words.append(f'tag={tag}, tagged="{tagged}"')
    if "ignorable" in each.options:
        words.append("ignorable=True")
    if each.options.get("flexible") == "none":
        words.append("never_flexible=True")
    json_name = each.name[0].lower() + each.name[1:]
    if camel(snake(each.name)) != json_name:
        words.append(f'json_name="{json_name}"')
    return f"    {snake(each.name)}: {annotation_of(each)} = field({', '.join(words)})"


def describe(message: Message) -> str:
    key = f", key {message.options['key']}" if "key" in message.options else ""
    return f"{message.kind}{key}, versions {message.options['versions']}, flexible {message.options['flexible']}"


def module_of(message: Message) -> str:
    structs = structures(message)
    lines = [
        f"# Generated from {message.name} in tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.",
        f'"""{message.name}: {describe(message)}."""',
        "",
        "from __future__ import annotations",
        "",
    ]
    body: list[str] = []
    for name, fields in structs.items():
        body += ["", "", f"class {name}(Struct):", *(map(declaration, fields))]
    info = [
        f'kind="{message.kind}"',
        f'valid="{message.options["versions"]}"',
        f'flexible="{message.options["flexible"]}"',
    ]
    if "key" in message.options:
        info.append(f"key={message.options['key']}")
    if "listeners" in message.options:
        names = "".join(f'"{name}", ' for name in sorted(message.options["listeners"].split(",")))
        info.append(f"listeners=({names.rstrip() if names.count(',') == 1 else names.rstrip(', ')})")
    body += ["", "", f"class {message.name}(Message, {', '.join(info)}):"]
    body += list(map(declaration, message.fields)) or ["    pass"]
    text = "\n".join(body)
    ids = [name for name in ("ZERO_UUID", "Uuid") if re.search(rf"\b{name}\b", text)]
    if ids:
        lines.append(f"from controller_runtime.identifiers import {', '.join(ids)}")
    wanted = [
        ("Message", True),
        ("Struct", bool(structs)),
        ("default_of", "default_of(" in text),
        ("field", "field(" in text),
    ]
    lines.append(f"from controller_runtime.protocol.schema import {', '.join(name for name, used in wanted if used)}")
    return "\n".join(lines) + "\n" + text + "\n"


INIT: Final = '''# Generated from tools/kafka_messages.txt by tools/generate_messages.py. Do not edit.
"""One module per message, named after it. Import from the module, or by name with `message_class`.

Nothing is loaded before.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from controller_runtime.protocol.schema import Message

MODULES: Final[dict[str, str]] = {
%s}
"""The module of every message, by the message's name."""


def message_class(name: str) -> type[Message]:
    """The class of a message, imported on first use: `message_class("FetchRequest")`. KeyError if there is none."""
    found: type[Message] = getattr(import_module(f"{__name__}.{MODULES[name]}"), name)
    return found
'''


def render() -> dict[str, str]:
    messages = [each for each in read_facts(FACTS.read_text()) if each.options["versions"] != "none"]
    files = {f"{snake(each.name)}.py": module_of(each) for each in messages}
    table = "".join(
        f'    "{each.name}": "{snake(each.name)}",\n' for each in sorted(messages, key=lambda each: each.name)
    )
    return files | {"__init__.py": INIT % table}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the tree differs")
    check = parser.parse_args(arguments).check
    files = render()
    present = {path.name: path.read_text() for path in TARGET.glob("*.py")}
    differing = sorted(name for name in files.keys() | present.keys() if files.get(name) != present.get(name))
    if check:
        for name in differing:
            print(f"{TARGET.relative_to(ROOT)}/{name} is not what tools/generate_messages.py writes", file=sys.stderr)
        return 1 if differing else 0
    for name in differing:
        if name in files:
            (TARGET / name).write_text(files[name])
        else:
            (TARGET / name).unlink()
    print(f"{len(files) - 1} messages, {len(differing)} files changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
