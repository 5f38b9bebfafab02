"""Changing the SCRAM credentials of users (AlterUserScramCredentials, KIP-554).

A user may be named once in a request, whatever the mechanism. Each is judged alone, and what is granted is one atomic
batch. The request has the salted password; the log gets the keys that it gives.
"""

from __future__ import annotations

from typing import Final

from controller_runtime.answers.refused import Refused
from controller_runtime.controller.decision import PIECE_RECORDS, Decision, Pieces
from controller_runtime.metadata.features import SCRAM, VersionedRecord
from controller_runtime.metadata.image import MetadataImage
from controller_runtime.metadata.scram import BY_NUMBER, MAX_ITERATIONS, Mechanism, credential
from controller_runtime.protocol.errors import ErrorCode
from controller_runtime.protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from controller_runtime.protocol.messages.alter_user_scram_credentials_response import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from controller_runtime.protocol.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from controller_runtime.protocol.schema import Message
from controller_runtime.security.scram_keys import MIN_ITERATIONS, keys_from_salted

_Change = ScramCredentialDeletion | ScramCredentialUpsertion
_TWICE: Final = "A user credential cannot be altered twice in the same request"
_NOT_YET: Final = "The current metadata.version does not support SCRAM"


def alter_scram_credentials(image: MetadataImage, request: AlterUserScramCredentialsRequest) -> Pieces:
    """All or nothing of what is granted; the pieces are empty."""
    granted: dict[str, VersionedRecord] = {}
    refused: dict[str, Refused] = {}
    changes: tuple[_Change, ...] = (*request.deletions, *request.upsertions)
    for place, change in enumerate(changes, 1):
        if change.name not in refused:
            try:
                if granted.pop(change.name, None) is not None:
                    raise Refused(ErrorCode.DUPLICATE_RESOURCE, _TWICE)
                granted[change.name] = (_record(image, change), 0)
            except Refused as error:
                refused[change.name] = error
        if place % PIECE_RECORDS == 0:
            yield ()
    results = (
        *(AlterUserScramCredentialsResult(user=user, error_message=None) for user in granted),
        *(
            AlterUserScramCredentialsResult(user=user, error_code=error.code, error_message=error.message)
            for user, error in refused.items()
        ),
    )
    return Decision(AlterUserScramCredentialsResponse(results=results), tuple(granted.values()))


def _record(image: MetadataImage, change: _Change) -> Message:
    if image.features.metadata_version < SCRAM:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, _NOT_YET)
    if not change.name:
        raise Refused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    mechanism = BY_NUMBER.get(change.mechanism)
    if mechanism is None:
        raise Refused(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(change, ScramCredentialUpsertion):
        return _upserted(change, mechanism)
    if (mechanism.number, change.name) not in image.scram:
        why = "Attempt to delete a user credential that does not exist"
        raise Refused(ErrorCode.RESOURCE_NOT_FOUND, why)
    return RemoveUserScramCredentialRecord(name=change.name, mechanism=mechanism.number)


def _upserted(change: ScramCredentialUpsertion, mechanism: Mechanism) -> Message:
    if change.iterations < MIN_ITERATIONS:
        raise Refused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if change.iterations > MAX_ITERATIONS:
        raise Refused(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    if not change.salted_password:
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)  # Java takes no empty key
    keys = keys_from_salted(mechanism.algorithm, change.salted_password, change.salt, change.iterations)
    return credential(change.name, mechanism, keys)
