"""What is done for users: Secrets with passwords drawn here, logins, ACLs and quotas asked of the quorum, and what the
status of a KRaftUser says. Passwords live in these calls only.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from kraft_operator.api import names
from kraft_operator.api.spec import KRaftCluster
from kraft_operator.fence import Stale
from kraft_operator.kube import SECRET, USER, Gateway, NotFound
from kraft_operator.security.certificates import BadCertificate, Issuer, Pair
from kraft_operator.security.identities import user_subject
from kraft_operator.security.secret_objects import TRUSTED, text_of
from kraft_operator.security.succession import keys_of
from kraft_operator.security.user_objects import certificate_secret, password_of, user_secret, user_secret_seen
from kraft_operator.settings import Failpoints
from kraft_operator.user_queries import Login, UserChange, login
from kraft_operator.users import (
    ChangeAcls,
    ForgetUser,
    MakeCredential,
    SetPassword,
    SetQuotas,
    TellUser,
    UserAction,
    UserAuthentication,
)

PASSWORD_BYTES: Final = 24
SALT_BYTES: Final = 16
MAX_MESSAGE: Final = 4000


class Changes(Protocol):
    def change_user(self, change: UserChange, timeout: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Chance:
    password: Callable[[], str] = field(default=lambda: secrets.token_urlsafe(PASSWORD_BYTES))
    salt: Callable[[], bytes] = field(default=lambda: secrets.token_bytes(SALT_BYTES))


@dataclass(frozen=True, slots=True)
class UserWrites:
    cluster: KRaftCluster
    kube: Gateway
    quorum: Changes
    failpoints: Failpoints
    timeout: float
    issuer: Issuer = field(default_factory=Issuer)
    chance: Chance = field(default_factory=Chance)

    def perform(self, action: UserAction, failed: str) -> None:
        """`failed`: why what came before this for the same user did not happen."""
        if failed:
            if isinstance(action, TellUser):
                self._tell(_refused(action, failed))
            return
        match action:
            case MakeCredential():
                self._make(action)
            case SetPassword():
                self._set(action)
            case ChangeAcls():
                self.quorum.change_user(UserChange(action.user, add=action.add, remove=action.remove), self.timeout)
            case SetQuotas():
                self.quorum.change_user(UserChange(action.user, quotas=action.values), self.timeout)
            case ForgetUser():
                gone = Login(action.user) if action.login else None
                quotas = dict.fromkeys(action.quotas)
                change = UserChange(action.user, gone, remove=action.acls, quotas=quotas)
                self.quorum.change_user(change, self.timeout)
            case TellUser():
                self._tell(action)

    def _make(self, action: MakeCredential) -> None:
        namespace, name = self.cluster.namespace, names.user_secret(action.user)
        public = self.kube.find(SECRET, namespace, names.authority_certificate(self.cluster.name))
        there = self.kube.find(SECRET, namespace, name)
        try:
            trusted = text_of(public or {}, TRUSTED)
            if action.by is UserAuthentication.TLS:
                body = certificate_secret(
                    self.cluster, action.user, action.user_uid, pair=self._issued(action.user), trusted=trusted,
                    rotated=action.rotated,
                )  # fmt: skip
            else:
                password = self.chance.password() if action.fresh or there is None else password_of(there)
                body = user_secret(
                    self.cluster, action.user, action.user_uid, password=password, trusted=trusted,
                    rotated=action.rotated,
                )  # fmt: skip
        except BadCertificate as error:
            raise Stale(f"the Secrets of user {action.user} are not what they were: {error}; read again") from error
        self.failpoints.hit("before_call.password")
        if not action.version:
            self.kube.create(SECRET, namespace, body, timeout=self.timeout)
        else:
            uid, _, version = action.version.partition(".")
            body["metadata"] |= {"uid": uid, "resourceVersion": version}
            self.kube.replace(SECRET, body, timeout=self.timeout)
        self.failpoints.hit("after_call.password")

    def _issued(self, user: str) -> Pair:
        """Raises BadCertificate, Stale."""
        key = names.authority_key(self.cluster.name)
        secret = self.kube.find(SECRET, self.cluster.namespace, key)
        if secret is None:
            raise Stale(f"Secret {key} is gone; it is read again")
        subject, seconds = user_subject(self.cluster, user), self.cluster.spec.security.validity_seconds
        return self.issuer.issue(keys_of(secret).signing, subject, (), seconds)

    def _set(self, action: SetPassword) -> None:
        secret = self.kube.find(SECRET, self.cluster.namespace, names.user_secret(action.user))
        if secret is None or user_secret_seen(secret).version != action.version:
            raise Stale(f"the Secret of user {action.user} is another one by now; it is read again")
        wanted = login(action.user, password_of(secret), self.chance.salt())
        self.failpoints.hit("before_call.login")
        self.quorum.change_user(UserChange(action.user, wanted), self.timeout)
        self.failpoints.hit("after_call.login")

    def _tell(self, action: TellUser) -> None:
        tell_user(self.kube, self.cluster.namespace, action, self.timeout)


def tell_user(kube: Gateway, namespace: str, action: TellUser, timeout: float) -> None:
    meta = {"name": action.user, "namespace": namespace, "uid": action.user_uid}
    body = {"apiVersion": USER.api, "kind": USER.kind, "metadata": meta, "status": dict(action.status)}
    try:
        kube.apply(USER, body, "status", timeout=timeout)
    except NotFound:
        return  # deleted meanwhile


def _refused(action: TellUser, why: str) -> TellUser:
    """Without what was not done, so that it is tried again."""
    message = f"correct what the cluster refuses, or wait until it answers: {why}"
    condition = {"type": "Ready", "status": "False", "reason": "Refused", "message": message[:MAX_MESSAGE]}
    kept = {key: value for key, value in action.status.items() if key not in ("credential", "conditions")}
    return replace(action, status={**kept, "conditions": [condition]})
