"""What a listener's file says that takes tokens of an identity provider (OAUTHBEARER), with Apache Kafka's names.

Which URL the keys are read from is allowed where the file has no say: Apache Kafka asks for a system property, and our
image takes it from the environment.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kraft_operator.api.network import ListenerSpec
from kraft_operator.api.security import OAuth

MECHANISM: Final = "OAUTHBEARER"
ALLOWED_PROPERTY: Final = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
ALLOWED_VARIABLE: Final = "QUORATE_OAUTHBEARER_ALLOWED_URLS"
_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"


def oauth_properties(oauth: OAuth) -> dict[str, str]:
    """Without the prefix of their listener."""
    own = f"{MECHANISM.lower()}."
    return {
        "sasl.enabled.mechanisms": MECHANISM,
        f"{own}sasl.jaas.config": f"{_PACKAGE}.OAuthBearerLoginModule required{_trusted(oauth)};",
        f"{own}sasl.server.callback.handler.class": f"{_PACKAGE}.OAuthBearerValidatorCallbackHandler",
        "sasl.oauthbearer.jwks.endpoint.url": oauth.jwks_url,
        "sasl.oauthbearer.expected.issuer": oauth.issuer,
        "sasl.oauthbearer.expected.audience": ",".join(oauth.audiences),
        "sasl.oauthbearer.sub.claim.name": oauth.user_claim,
        "sasl.oauthbearer.scope.claim.name": oauth.scope_claim,
    }


def allowed_urls(listeners: Iterable[ListenerSpec]) -> str:
    """Empty where no listener takes tokens."""
    return ",".join(dict.fromkeys(each.oauth.jwks_url for each in listeners if each.oauth is not None))


def _trusted(oauth: OAuth) -> str:
    """In quotes, with Java's escapes. A broker of Apache Kafka logs in as a client as well, though it never connects
    here; where its login module has options it does not start without a name for that.
    """
    if not oauth.trusted:
        return ""
    lines = "\\n".join(line.strip() for line in oauth.trusted.splitlines() if line.strip())
    never_shown = 'unsecuredLoginStringClaim_sub="unused"'
    return f' {never_shown} ssl.truststore.type="PEM" ssl.truststore.certificates="{lines}"'
