"""`ssl.principal.mapping.rules`: from the name in a client's certificate to the name of a principal.

A list of `DEFAULT` and `RULE:pattern/replacement/[L|U]`; the first rule whose pattern matches the whole name decides,
by replacing every match as Java's `replaceAll` does. Patterns are Python's, which read Java's but for rare forms. A
name of more than MAX_NAME characters matches nothing, so that nobody's certificate makes a pattern work for long.
"""

from __future__ import annotations

import re
from typing import Final

from controller_runtime.values import dataclass

MAX_NAME: Final = 4096
_RULE: Final = r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?).*?|(?:.*?)"
_SPLITTER: Final = re.compile(rf"\s*({_RULE})\s*(?:,\s*|$)")
_PARSER: Final = re.compile(_RULE)
_REFERENCE: Final = re.compile(r"\\(.)|\$(\d+)|\$\{(\w+)\}|(\$|\\)", re.DOTALL)


class BadRules(ValueError):
    """The rules cannot be read; in Kafka's words."""


class NoMatchingRule(ValueError):
    """No rule applies to a name: its connection ends."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`DEFAULT` has no pattern."""

    pattern: re.Pattern[str] | None = None
    replacement: str = ""
    case: str = ""

    def apply(self, name: str) -> str | None:
        if self.pattern is None:
            return name
        if self.pattern.fullmatch(name) is None:
            return None
        replaced = self.pattern.sub(lambda found: _expand(self.replacement, found), name)
        return replaced.lower() if self.case == "L" else replaced.upper() if self.case == "U" else replaced


@dataclass(frozen=True, slots=True)
class MappingRules:
    rules: tuple[Rule, ...]
    text: str

    def principal_name(self, name: str) -> str:
        """Raises NoMatchingRule."""
        if len(name) <= MAX_NAME or self.rules[:1] == (Rule(),):
            for rule in self.rules:
                if (mapped := rule.apply(name)) is not None:
                    return mapped
        raise NoMatchingRule(f"No rules apply to {name[:200]!r}, rules {self.text}")


DEFAULT_RULES: Final = MappingRules((Rule(),), "DEFAULT")


def parse_rules(text: str) -> MappingRules:
    """Raises BadRules."""
    rules = []
    for found in _SPLITTER.finditer(text.strip()):
        rule = found.group(1)
        parsed = _PARSER.match(rule)
        end = 0 if parsed is None else parsed.end()
        if parsed is None or end != len(rule):
            raise BadRules(f"Invalid rule: `{rule}`, unmatched substring: `{rule[end:]}`")
        if parsed.group(1) is not None:
            rules.append(Rule())
        elif parsed.group(2) is not None:
            rules.append(_rule(parsed.group(2), parsed.group(3), parsed.group(4), rule))
    return MappingRules(tuple(rules), text.strip())


def _rule(pattern: str, replacement: str, case: str, rule: str) -> Rule:
    try:
        compiled = re.compile(re.sub(r"\(\?<(?=[A-Za-z])", "(?P<", pattern))
    except (re.error, OverflowError, RecursionError) as error:
        raise BadRules(f"Invalid rule: `{rule}`: {error}") from error
    for found in _REFERENCE.finditer(replacement):
        if found.group(4) or (found.group(3) and found.group(3) not in compiled.groupindex):
            raise BadRules(f"Invalid rule: `{rule}`: illegal group reference `{found.group()}`")
    return Rule(compiled, replacement, case)


def _expand(replacement: str, found: re.Match[str]) -> str:
    """As `Matcher.appendReplacement`, but what names no group is meant literally, as Kafka has it."""

    def one(reference: re.Match[str]) -> str:
        escaped, digits, name, _ = reference.groups()
        if escaped is not None:
            return str(escaped)
        if name is not None:
            return found.group(name) or ""
        for end in range(len(digits), 0, -1):
            if int(digits[:end]) <= found.re.groups:
                return (found.group(int(digits[:end])) or "") + digits[end:]
        return f"${digits}"

    return _REFERENCE.sub(one, replacement)
