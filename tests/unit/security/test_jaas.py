"""The grammar of JAAS entries as Kafka's JaasConfig reads it."""

from __future__ import annotations

import pytest

from controller_runtime.security.jaas import PLAIN_MODULE, SCRAM_MODULE, BadJaas, parse_jaas

pytestmark = pytest.mark.unit

READ = [
    (f'{PLAIN_MODULE} required username="ann" password="a b";', {"username": "ann", "password": "a b"}),
    (f"{PLAIN_MODULE} REQUIRED;", {}),
    (f"{PLAIN_MODULE} required username=ann\n password='it''s' ;", None),
    (f'{PLAIN_MODULE} required x=\'it\\\'s\' y="\\"q\\"" ;', {"x": "it's", "y": '"q"'}),
    (f'{PLAIN_MODULE} required x="\\t\\n\\\\\\101\\8\\7";', {"x": "\t\n\\A8\a"}),
    (f'{PLAIN_MODULE} required x="a" x="b";', {"x": "b"}),
    (f'{PLAIN_MODULE} required user_ann="" ;', {"user_ann": ""}),
    (f"// first\n{PLAIN_MODULE} /* two\nlines */ required x=a/b c\n;", {"x": "a"}),
    (f"{PLAIN_MODULE} required x=a /b c\n;", {"x": "a"}),
    (f"{PLAIN_MODULE} required x=a //b c\n y=b;", {"x": "a", "y": "b"}),
    (f"{PLAIN_MODULE} required x=a.b-c_d$1 y=\u00e4\u4e2d;", {"x": "a.b-c_d$1", "y": "\u00e4\u4e2d"}),
    (f"{PLAIN_MODULE} required x=12 ;", None),
    (f"{PLAIN_MODULE} required x=-a ;", None),
    (f"{PLAIN_MODULE} required x=.5 ;", None),
    (f"{PLAIN_MODULE} required x=a12.5 ;", {"x": "a12.5"}),
    (f"{PLAIN_MODULE} required 12=a ;", None),
    (f'{PLAIN_MODULE} required x="open\n ;', {"x": "open"}),
    (f"{PLAIN_MODULE} required x=a", None),
    (f"{PLAIN_MODULE} required x ;", None),
    (f"{PLAIN_MODULE} required x= ;", None),
    (f"{PLAIN_MODULE} maybe ;", None),
    (f"{PLAIN_MODULE} 12 ;", None),
    (PLAIN_MODULE, None),
    ("", None),
    ("// nothing", None),
    (f"{PLAIN_MODULE} required; {SCRAM_MODULE} required;", None),
    ("com.sun.security.auth.module.JndiLoginModule required;", None),
    ("com.sun.security.auth.module.LdapLoginModule required;", None),
    ("some.Other required;", None),
]


@pytest.mark.parametrize(("text", "options"), READ, ids=[str(number) for number in range(len(READ))])
def test_an_entry_is_read_as_java_reads_it_or_refused(text: str, options: dict[str, str] | None) -> None:
    """SAS-39: quotes, comments, "/", numbers, ";", two modules; SAS-40: modules that nobody should run."""
    if options is None:
        with pytest.raises(BadJaas):
            parse_jaas(text)
    else:
        assert parse_jaas(text).options == options


def test_no_refusal_shows_what_was_written_as_a_value() -> None:
    """SEC-03 in small: a password may be in the wrong place."""
    for text in (
        f'{PLAIN_MODULE} required password="c4nary',
        f'{PLAIN_MODULE} c4nary password="c4nary";',
        f'{PLAIN_MODULE} required password="c4nary" user;',
    ):
        with pytest.raises(BadJaas) as refused:
            parse_jaas(text)
        assert "c4nary" not in str(refused.value)
    assert "c4nary" not in repr(parse_jaas(f'{PLAIN_MODULE} required password="c4nary";'))


def test_a_quote_within_a_password_shows_nothing_of_it() -> None:
    """What stands behind the quote is read as the next option's name."""
    with pytest.raises(BadJaas, match="option 3") as seen:
        parse_jaas(f'{PLAIN_MODULE} required username="ann" password="c4"nary";')
    assert "nary" not in str(seen.value)
