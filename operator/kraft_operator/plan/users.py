"""The users of a secure cluster: a Secret with a password, the login, the ACLs and quotas that their resources ask for.

A user is in the ledger before anything is made for it, and leaves it when nothing of it is left: so a user whose
resource is deleted, also while no operator looks, loses login, ACLs and quotas. ACLs that others gave to a user are
kept as long as it lives: what was given here is in the user's status.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from kraft_operator.actions import Action
from kraft_operator.api import names
from kraft_operator.api.security import CertificateSource
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.ledger import Formation, Ledger
from kraft_operator.plan.archive import archive_user
from kraft_operator.plan.situation import NOTHING, Situation, Verdict
from kraft_operator.security.due import renewed_from
from kraft_operator.users import (
    Acl,
    ChangeAcls,
    ForgetUser,
    Found,
    MakeCredential,
    SetPassword,
    SetQuotas,
    TellUser,
    User,
    UserAuthentication,
    Users,
    UserSecret,
)

MAX_STEPS: Final = 50
"""Users for whom something is done in one pass: a thousand new ones do not keep a lost voter waiting."""


def keep_users(now: Situation) -> Verdict:
    seen, ledger = now.observed.users, now.ledger
    if seen is None or ledger is None or ledger.formation is not Formation.FORMED:
        return NOTHING
    actions: list[Action] = []
    done = 0
    for user in seen.wanted:
        steps = _steps(judged(user, now.cluster), seen, now.date.timestamp() if now.date is not None else None)
        if steps and (done := done + 1) <= MAX_STEPS:
            actions += steps
    others = archive_user(now)
    gone, left = _gone(seen, ledger, others)
    known = {user.name for user in seen.wanted if not judged(user, now.cluster).fault} | left | others
    return Verdict(ledger=replace(ledger, users=tuple(sorted(known))), actions=(*actions, *gone))


def judged(user: User, cluster: KRaftCluster) -> User:
    """With what this cluster cannot do for it as a fault."""
    ours = cluster.spec.security.source is CertificateSource.OPERATOR
    if user.fault or user.by is not UserAuthentication.TLS or ours:
        return user
    told = (
        "spec.authentication.type: write External and have its certificate issued by who issues those of "
        f"{cluster.name} (spec.security.tls.issuer {cluster.spec.security.source.value}): the operator issues none here"
    )
    return replace(user, fault=told)


def without_a_cluster(users: Iterable[User], cluster: str) -> list[TellUser]:
    """What users are told whose cluster is not there. Theirs is one of their own namespace."""
    problem = f"make the KRaftCluster {cluster}, or delete this user: there is none of that name in its namespace"
    return [told for user in users for told in _told(user, "False", "ClusterNotFound", problem)]


def _gone(seen: Users, ledger: Ledger, others: frozenset[str]) -> tuple[list[Action], set[str]]:
    """Users without a resource, but for these `others`: what is done about them, and who has to be remembered."""
    actions: list[Action] = []
    left: set[str] = set()
    wanted = {user.name for user in seen.wanted} | others
    for name in (each for each in ledger.users if each not in wanted):
        found = seen.found
        if found is None:
            left.add(name)
            continue
        login, acls, quotas = name in found.scram, found.acls.get(name, frozenset()), found.quotas.get(name, {})
        if login or acls or quotas:
            left.add(name)
            actions.append(ForgetUser(name, login, tuple(sorted(acls)), tuple(sorted(quotas)), "its KRaftUser is gone"))
    return actions, left


def _steps(user: User, seen: Users, date: float | None) -> list[Action]:
    """What is to be done for one user; nothing when all is as it should be and said."""
    if user.fault:
        return [*_told(user, "False", "SpecInvalid", user.fault)]
    if user.by is UserAuthentication.EXTERNAL:
        return [] if seen.found is None else _in_the_cluster(user, None, seen.found)
    secret = seen.secrets.get(user.name)
    if secret is None:
        return [MakeCredential(user.name, user.uid, "", user.rotate, fresh=True, reason="it has no Secret", by=user.by)]
    if secret.owner != user.uid:
        name = names.user_secret(user.name)
        problem = f"delete or rename the Secret {name}, which is somebody else's: nothing is written into it"
        return [*_told(user, "False", "SecretTaken", problem)]
    if why := _outdated(user, secret, seen, date):
        fresh = bool(secret.fault) or secret.rotated != user.rotate or secret.by is not user.by
        return [MakeCredential(user.name, user.uid, secret.version, user.rotate, fresh=fresh, reason=why, by=user.by)]
    if seen.found is None:
        return []
    return _in_the_cluster(user, secret, seen.found)


def _outdated(user: User, secret: UserSecret, seen: Users, date: float | None) -> str:
    if secret.by is not user.by:
        return f"it shall say by {user.by.value} who it is"
    if secret.fault:
        return f"its Secret cannot be used: {secret.fault}"
    if secret.rotated != user.rotate:
        return "another password or certificate is asked for"
    if secret.ends and date is not None and date >= renewed_from(secret.begins, secret.ends):
        return "two thirds of its certificate's life are over"
    changed = secret.settings != seen.settings_by(user.by)
    return "where to connect or whom to trust has changed" if changed else ""


def _in_the_cluster(user: User, secret: UserSecret | None, found: Found) -> list[Action]:
    """`secret`: None where the user has none of ours."""
    steps: list[Action] = []
    if secret is None or user.by is not UserAuthentication.SCRAM:
        if user.name in found.scram:
            steps.append(ForgetUser(user.name, True, (), (), f"it says by {user.by.value} who it is"))
    elif user.name not in found.scram or user.status.get("credential") != secret.version:
        reason = "it cannot log in yet" if user.name not in found.scram else "its Secret is another one"
        steps.append(SetPassword(user.name, secret.version, reason))
    there = found.acls.get(user.name, frozenset())
    given = frozenset(acl for text in _listed(user.status.get("acls")) if (acl := acl_of(text)) is not None)
    add, remove = tuple(sorted(user.acls - there)), tuple(sorted((given - user.acls) & there))
    if add or remove:
        steps.append(ChangeAcls(user.name, add, remove, "its ACLs are not those that it asks for"))
    quotas = found.quotas.get(user.name, {})
    changed: dict[str, float | None] = {key: value for key, value in user.quotas.items() if quotas.get(key) != value}
    changed |= dict.fromkeys(sorted(quotas.keys() - user.quotas.keys()))
    if changed:
        steps.append(SetQuotas(user.name, changed, "its quotas are not those that it asks for"))
    held = {} if secret is None else {"secret": names.user_secret(user.name), "credential": secret.version}
    more: dict[str, object] = {
        **held,
        "acls": [text_of(each) for each in sorted(user.acls)],
    }
    able = "it has" if secret is None else "it can log in, and has"
    return [*steps, *_told(user, "True", "Ready", f"{able} the rights that it asks for", more)]


def _told(user: User, value: str, reason: str, message: str, more: dict[str, object] | None = None) -> list[TellUser]:
    """Its status, if that says something else."""
    condition: dict[str, object] = {"type": "Ready", "status": value, "reason": reason, "message": message}
    condition |= {"observedGeneration": user.generation}
    kept = {key: user.status[key] for key in ("secret", "credential", "acls") if key in user.status}
    new = {"observedGeneration": user.generation, **(kept if more is None else more)}
    old = {key: value for key, value in user.status.items() if key != "conditions"}
    before = [
        {key: text for key, text in each.items() if key != "lastTransitionTime"}
        for each in _conditions(user.status.get("conditions"))
    ]
    if old == new and before == [condition]:
        return []
    return [TellUser(user.name, user.uid, {**new, "conditions": [condition]}, reason)]


def _conditions(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _listed(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def text_of(acl: Acl) -> str:
    """As a status keeps it."""
    return json.dumps(
        [acl.resource_type, acl.name, acl.pattern_type, acl.host, acl.operation, acl.permission], ensure_ascii=False
    )


def acl_of(text: str) -> Acl | None:
    """What `text_of` has written; None for what somebody else has."""
    try:
        kind, name, pattern, host, operation, permission = json.loads(text)
        return Acl(int(kind), str(name), int(pattern), str(host), operation=int(operation), permission=int(permission))
    except (ValueError, TypeError):
        return None
