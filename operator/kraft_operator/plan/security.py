"""The security of a cluster: what its ledger says, and with certificates that are good.

Whether a cluster is secure is decided when its ledger is made, from what the resource says then, and written in it.
What was secure stays so; what was plaintext may become secure (`securing`). Certificates are made
before the objects that mount them. Their Secrets go with the node's ConfigMap, so a node that has none yet gets its
certificate a pass later, and its pod waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kraft_operator.actions import Action
from kraft_operator.api import names
from kraft_operator.api.parse_security import asked_mode
from kraft_operator.api.reader import Reader
from kraft_operator.api.security import AuthorizationMode, CertificateSource, Stage
from kraft_operator.api.spec import BootstrapPolicy
from kraft_operator.api.stages import Formed
from kraft_operator.credentials import Credentials, MakeAuthority, Wanted
from kraft_operator.manifests.context import NodePlan
from kraft_operator.plan.situation import NOTHING, Finding, Situation, Topic, Verdict
from kraft_operator.plan.sources import all_copied, keep_copies
from kraft_operator.plan.wording import called
from kraft_operator.security.due import due
from kraft_operator.security.identities import authority_subject, wanted

ADOPT_ONLY: Final = BootstrapPolicy.ADOPT_ONLY
ENFORCED: Final = Formed(Stage.ENFORCED)


def mode_of(now: Situation) -> str:
    """What a new ledger says of the cluster's security; nothing for plaintext."""
    return now.cluster.formed


def mode_found_again(now: Situation, *, doubts: bool) -> str:
    """The same of a cluster whose ledger and memory are lost. Where its resource says nothing, its Secrets do: whoever
    was formed without an authority has none. One that is taken over, some nodes of which are doubted, allows what no
    ACL is about where its resource asks for that by name: its clients may have no ACLs.
    """
    security = Reader("spec", now.cluster.source).child("security").child("authorization")
    asks = security.text("mode", "") == AuthorizationMode.TRANSITION.value
    if doubts and asks and now.cluster.spec.bootstrap_policy is ADOPT_ONLY and mode_of(now) == ENFORCED.text:
        return Formed(Stage.AUTHORIZED).text
    seen = now.observed.credentials
    certified = seen is not None and bool(seen.authority or seen.published or seen.issued or seen.fault)
    says = asked_mode(Reader("spec", now.cluster.source)) is not None
    return mode_of(now) if says or certified else ""


def keep_the_mode(now: Situation) -> Verdict:
    """A ledger that was just made again from claims may say another mode than the resource: the next look has it."""
    if now.ledger is not None and now.ledger.security != mode_of(now):
        told = "the next look at the cluster knows with which security it was formed"
        return Verdict(findings=(Finding(Topic.SECURITY, "SecurityIsRead", told),), stop=True)
    if not now.cluster.kept_mode:
        return NOTHING
    told = (
        f"set spec.security.tls.mode back to Required: the cluster is secure and stays so, because nodes with and "
        f"without TLS do not understand each other. To get a cluster with {now.cluster.kept_mode}, make another one "
        "and move the data there"
    )
    return Verdict(findings=(Finding(Topic.SPEC, "SecurityModeIsKept", told, stalled=True),))


def keep_certificates(now: Situation) -> Verdict:
    seen = now.observed.credentials
    if not now.cluster.spec.security.certified or seen is None or now.ledger is None:
        return NOTHING
    if now.cluster.spec.security.source is not CertificateSource.OPERATOR:
        return keep_copies(now, seen, wanted_certificates(now))
    if (trouble := _authority_trouble(now, seen)) is not None:
        return Verdict(findings=(trouble,))
    actions: list[Action] = []
    key, public = names.authority_key(now.cluster.name), names.authority_certificate(now.cluster.name)
    if seen.authority is None or seen.published != seen.trusted:
        reason = "the cluster has no authority yet" if seen.authority is None else "its certificate is not published"
        actions.append(MakeAuthority(key, public, authority_subject(now.cluster), reason, now.cluster.rotate))
    date = now.date.timestamp() if now.date is not None else None
    issues = list(due(wanted_certificates(now), seen, date))
    told = [f"{each.wanted.secret} ({each.reason})" for each in issues]
    if seen.authority is None:
        told = [f"the authority {key}"]
    findings = (Finding(Topic.SECURITY, "CertificatesDue", f"made now: {_some(told)}"),) if told else ()
    return Verdict(actions=(*actions, *issues), findings=findings)


def certificates_stand(now: Situation) -> bool:
    """Everybody has the certificate that he is to have, whoever issues it."""
    seen = now.observed.credentials
    if seen is None:
        return False
    if now.cluster.spec.security.source is not CertificateSource.OPERATOR:
        return all_copied(now, seen, wanted_certificates(now))
    known = seen.authority is not None and seen.published == seen.trusted
    return known and not any(due(wanted_certificates(now), seen, None))


def wanted_certificates(now: Situation) -> Iterable[Wanted]:
    owners = {each.name: each.uid for each in now.observed.children if each.kind == "ConfigMap"}
    return wanted(now.cluster, _nodes(now), owners)


def _authority_trouble(now: Situation, seen: Credentials) -> Finding | None:
    """Its key is lost or damaged: nothing can be issued, and no other authority may take its place unasked, because
    running nodes trust this one.
    """
    key = names.authority_key(now.cluster.name)
    if copied := sorted(name for name, each in seen.issued.items() if each.origin):
        told = (
            f"set spec.security.tls.issuer back to what it was: {_some(copied)} are copies of somebody else's "
            "certificates, and running nodes trust no authority of the operator's"
        )
        return Finding(Topic.SECURITY, "IssuerIsKept", told, copied[0], stalled=True)
    if not seen.published and not seen.issued:
        return _given_trouble(now, seen, key)
    if seen.fault:
        why, reason = f"what is in it cannot be used: {seen.fault}", "AuthorityUnreadable"
    elif seen.authority is None:
        why, reason = "it is gone, and certificates that it issued are in use", "AuthorityLost"
    else:
        return None
    told = (
        f"restore the Secret {key} from its backup: {why}. The certificates that there are stay in use until they end"
    )
    return Finding(Topic.SECURITY, reason, told, key, stalled=True)


def _given_trouble(now: Situation, seen: Credentials, key: str) -> Finding | None:
    """Before anything is issued: somebody may have put an authority there, which is used or left alone, and where a
    cluster is taken over nobody else's will do.
    """
    authority, fault = seen.authority, seen.fault
    date = now.date.timestamp() if now.date is not None else None
    if authority is not None and date is not None and not authority.begins <= date < authority.ends:
        fault = "its certificate has ended" if date >= authority.ends else "its certificate has not begun yet"
    if fault:
        told = (
            f"put key and certificate of one valid authority into the Secret {key} (tls.key, tls.crt), those of the "
            f"nodes that run if there are any: what is in it cannot be used: {fault}. Nothing was issued"
        )
        return Finding(Topic.SECURITY, "AuthorityRefused", told, key, stalled=True)
    if authority is None and (others := not_ours(now)) and now.cluster.spec.bootstrap_policy is ADOPT_ONLY:
        told = (
            f"put key and certificate of the authority of the nodes that run into the Secret {key} (tls.key, "
            f"tls.crt); where none runs, set spec.bootstrap.policy to NewOrAdopt to have one made: "
            f"{called('node', others)} may trust another authority than a new one. Nothing was issued"
        )
        return Finding(Topic.SECURITY, "AuthorityAwaited", told, key, stalled=True)
    return None


def not_ours(now: Situation) -> list[int]:
    """Nodes that are to be taken over, or run without our having their disks in the ledger: nobody can see whether they
    trust another authority.
    """
    if now.ledger is None:
        return []
    ours = {each.node_id for each in now.ledger.entries}
    brokers = (now.observed.brokers.registered or frozenset()) - (now.observed.brokers.fenced or frozenset())
    voters = {each.node_id for each in now.observed.quorum.voters if each.live}
    return sorted({*now.ledger.doubted, *((voters | brokers) - ours)})


def _nodes(now: Situation) -> Iterable[NodePlan]:
    """Those that are, where the rules about nodes were not asked."""
    return now.nodes or (NodePlan(each.node_id, each.pool) for each in now.observed.sets)


def _some(texts: list[str]) -> str:
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")
