from __future__ import annotations

import pytest

from controller_runtime.configuration.properties import BadProperties, parse_properties

pytestmark = pytest.mark.unit

EXAMPLE = r"""# a comment
! another
node.id=1
  spaced   :  some value
listeners = CONTROLLER://:9093,\
            PLAINTEXT://:9092
path=C:\\data\tx
unicode=\u00e9t\u00e9
flag
a\ b=c=d
node.id=2
"""


def test_properties_are_read_as_java_reads_them() -> None:
    read = parse_properties(EXAMPLE, "s.properties")
    assert {name: one.value for name, one in read.items()} == {
        "node.id": "2",
        "spaced": "some value",
        "listeners": "CONTROLLER://:9093,PLAINTEXT://:9092",
        "path": "C:\\data\tx",
        "unicode": "été",
        "flag": "",
        "a b": "c=d",
    }


def test_each_value_knows_the_line_it_starts_on() -> None:
    read = parse_properties(EXAMPLE, "s.properties")
    assert read["listeners"].origin == "s.properties:5"
    assert read["node.id"].origin == "s.properties:11"


def test_a_broken_unicode_escape_names_its_line() -> None:
    with pytest.raises(BadProperties, match="s:2: malformed"):
        parse_properties("a=1\nb=\\u12", "s")
