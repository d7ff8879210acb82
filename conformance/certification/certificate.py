"""A certificate: one file that says that a server showed what a profile asks, and proves it.

It is JSON: a DSSE envelope with an in-toto statement (predicate: test result) over the digests
of the results and histories of the runs, these themselves, compressed, and the public key. Who
doubts it checks the signature and the digests, and judges the histories again.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import io
import json
import os
import re
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.certification.profile import Profile, passed, problems, profile_named
from conformance.checking import judge_again
from conformance.errors import ConformanceError, UsageError
from conformance.judge.rule import catalogue
from conformance.report.results import Results, json_text
from conformance.wire.exchange import JsonObject
from conformance.wire.history import files_of

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
    from securesystemslib.signer import CryptoSigner, SSlibKey

FORMAT = "mcp-tasks-conformance/certificate/1"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
PAYLOAD = "application/vnd.in-toto+json"
PASSWORD_VARIABLE = "CONFORMANCE_KEY_PASSWORD"

_MATERIAL = re.compile(r"run-(\d{1,3})/(results\.json|history/[A-Za-z0-9._-]+\.jsonl)\.gz")
# More than the histories of any run, compressed or not: what is larger is no certificate.
_LARGEST = 512 * 1024 * 1024


class NotGenuine(ConformanceError):
    """The certificate is not what it says it is."""

    exit_status = 1


@dataclass(frozen=True)
class Run:
    """A run with the folder of its history."""

    results: Results
    folder: Path


@dataclass(frozen=True)
class SigningKey:
    """A signer, and the public part of its key as PEM."""

    signer: CryptoSigner
    pem: str


@dataclass(frozen=True)
class PublicKey:
    """A key that signatures are checked with, and the same as PEM."""

    key: SSlibKey
    pem: str


@dataclass(frozen=True)
class Certified:
    """What a certificate says, once it was checked. ``key`` is the id of the key that signed."""

    profile: Profile
    runs: tuple[Results, ...]
    passed: tuple[str, ...]
    key: str


# ---- issuing -------------------------------------------------------------------------------


def issue(profile: Profile, runs: Sequence[Run], key: SigningKey) -> str:
    """The certificate of runs that have no problems, as the text of its file."""
    from securesystemslib.dsse import Envelope

    materials = dict(_materials(runs))
    statement = _statement(profile, [run.results for run in runs], materials)
    envelope = Envelope(_canonical(statement).encode(), PAYLOAD, {})
    envelope.sign(key.signer)
    return _canonical(
        {
            "format": FORMAT,
            "envelope": envelope.to_dict(),
            "publicKey": key.pem,
            "materials": {
                name: base64.b64encode(content).decode() for name, content in materials.items()
            },
        }
    )


def _materials(runs: Sequence[Run]) -> list[tuple[str, bytes]]:
    found = []
    for number, run in enumerate(runs, 1):
        results = f"{json_text(run.results)}\n".encode()
        found.append((f"run-{number}/results.json.gz", _compressed(results)))
        for path in files_of([run.folder]):
            name = f"run-{number}/history/{path.name}.gz"
            found.append((name, _compressed(path.read_bytes())))
    return found


def _compressed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def _statement(
    profile: Profile, runs: Sequence[Results], materials: Mapping[str, bytes]
) -> JsonObject:
    return {
        "_type": STATEMENT,
        "subject": [
            {"name": name, "digest": {"sha256": hashlib.sha256(content).hexdigest()}}
            for name, content in sorted(materials.items())
        ],
        "predicateType": PREDICATE,
        "predicate": {
            "result": "PASSED",
            "configuration": [{"name": profile.file, "digest": {"sha256": profile.digest}}],
            "passedTests": passed(profile, runs),
            "warnedTests": [],
            "failedTests": [],
        },
    }


def _canonical(value: object) -> str:
    """The one way in which a certificate is written: another is a change."""
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


# ---- verifying -----------------------------------------------------------------------------


def verify(content: bytes, trusted: PublicKey | None = None) -> Certified:
    """What a certificate says. Raises ``NotGenuine`` where anything about it was changed, and
    where judging its histories again gives other verdicts.

    ``trusted`` is the key of whoever should have signed it. Without one the key in the file is
    taken: that nothing was changed is known then, and not by whom it was signed.
    """
    bundle = _bundle(content)
    materials = {name: _decoded(text) for name, text in _texts(bundle, "materials").items()}
    key = _embedded_key(bundle.get("publicKey"))
    if trusted is not None and trusted.pem != key.pem:
        raise NotGenuine("it was signed with another key than the one given")
    statement = _signed_statement(bundle.get("envelope"), key)
    profile = _profile_of(statement)
    told = _unpacked(materials)
    if _statement(profile, list(told.values()), materials) != statement:
        raise NotGenuine("the signed statement does not fit the results and histories beside it")
    with tempfile.TemporaryDirectory(prefix="mcp-tasks-conformance-") as folder:
        again = _judged_again(Path(folder), materials, profile)
    for number, results in told.items():
        _compare(number, results, again.get(number), profile)
    runs = tuple(again[number] for number in sorted(again))
    found = problems(profile, runs)
    if found:
        raise NotGenuine(f"judged again, the histories do not earn it: {found[0]}")
    return Certified(profile, runs, tuple(passed(profile, runs)), key.key.keyid)


def _bundle(content: bytes) -> JsonObject:
    if len(content) > _LARGEST:
        raise NotGenuine("it is too large to be a certificate")
    try:
        text = content.decode("utf-8")
        bundle = json.loads(text)
        as_written = _canonical(bundle)
    except (ValueError, RecursionError):
        raise NotGenuine("it is not a certificate: not JSON") from None
    if not isinstance(bundle, dict) or bundle.get("format") != FORMAT:
        raise NotGenuine(f'it is not a certificate: its format is not "{FORMAT}"')
    known = {"format", "envelope", "publicKey", "materials"}
    if set(bundle) != known or as_written != text:
        raise NotGenuine("it is not as it was written")
    return bundle


def _texts(bundle: JsonObject, name: str) -> dict[str, str]:
    record = bundle.get(name)
    if not isinstance(record, dict) or not all(isinstance(v, str) for v in record.values()):
        raise NotGenuine(f"its {name} are not as they were written")
    return record


def _decoded(text: str) -> bytes:
    """The bytes of a Base64 text that is written in the one way there is."""
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise NotGenuine("a part of it is not Base64") from None
    if base64.b64encode(content).decode() != text:
        raise NotGenuine("a part of it is not as it was written")
    return content


def _signed_statement(record: object, key: PublicKey) -> JsonObject:
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import VerificationError

    try:
        as_written = json.dumps(record)
        envelope = Envelope.from_dict(json.loads(as_written))
        if envelope.to_dict() != record or len(envelope.signatures) != 1:
            raise NotGenuine("its envelope is not as it was written")
        envelope.verify([key.key], 1)
        statement = json.loads(envelope.payload)
    except VerificationError:
        raise NotGenuine("the signature is not that of its key") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise NotGenuine("its envelope is not one") from None
    if envelope.payload_type != PAYLOAD or not isinstance(statement, dict):
        raise NotGenuine("its envelope holds no statement")
    return statement


def _profile_of(statement: JsonObject) -> Profile:
    try:
        configuration = statement["predicate"]["configuration"][0]
        name = str(configuration["name"]).removeprefix("profiles/").removesuffix(".toml")
    except (KeyError, TypeError, IndexError):
        raise NotGenuine("it names no profile") from None
    try:
        return profile_named(name)
    except UsageError as error:
        raise NotGenuine(f"{error}: another version of it may know more") from None


def _unpacked(materials: Mapping[str, bytes]) -> dict[int, Results]:
    """The results of each run, by its number."""
    found: dict[int, Results] = {}
    for name, content in materials.items():
        match = _MATERIAL.fullmatch(name)
        if match is None:
            raise NotGenuine("it holds something that is neither results nor a history")
        if match[2] == "results.json":
            try:
                found[int(match[1])] = Results.from_json(json.loads(_decompressed(content)))
            except (ValueError, RecursionError, UsageError):
                raise NotGenuine(f"{name} holds no results") from None
    return dict(sorted(found.items()))


def _decompressed(content: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            whole = file.read(_LARGEST + 1)
    except (OSError, EOFError, zlib.error):
        raise NotGenuine("a part of it cannot be decompressed") from None
    if len(whole) > _LARGEST:
        raise NotGenuine("a part of it is too large")
    return whole


def _judged_again(
    folder: Path, materials: Mapping[str, bytes], profile: Profile
) -> dict[int, Results]:
    """The results of each run, judged again from its history."""
    for name, content in materials.items():
        run, file = name.removesuffix(".gz").split("/", 1)
        if file.startswith("history/"):
            path = folder / run / Path(file).name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(_decompressed(content))
    rules = profile.rules_of(catalogue(profile.spec))
    found = {}
    for each in sorted(folder.iterdir()):
        try:
            checked = judge_again([each], spec=profile.spec, rules=rules)
        except UsageError as error:
            raise NotGenuine(f"the history of {each.name} cannot be read: {error}") from None
        found[int(each.name.removeprefix("run-"))] = checked.results
    return found


def _compare(number: int, told: Results, again: Results | None, profile: Profile) -> None:
    if again is None:
        raise NotGenuine(f"run {number} has results and no history")
    for rule_id in profile.rules:
        before, now = told.rule(rule_id), again.rule(rule_id)
        if before is None or now is None or before.verdict != now.verdict:
            raise NotGenuine(
                f"judged again, {rule_id} of run {number} is"
                f" {now.verdict if now else 'not judged'}, and not"
                f" {before.verdict if before else 'there'}"
            )


# ---- keys ----------------------------------------------------------------------------------


def signing_key_from(path: Path) -> SigningKey:
    """The private key in a PEM file. A password is taken from the environment variable
    ``CONFORMANCE_KEY_PASSWORD``. Raises ``UsageError``."""
    _need_library()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from securesystemslib.signer import CryptoSigner

    password = os.environ.get(PASSWORD_VARIABLE)
    try:
        key = load_pem_private_key(_read(path), password.encode() if password else None)
        return SigningKey(CryptoSigner(key), _pem_of(key.public_key()))
    except TypeError:
        raise UsageError(
            f"{path}: the key has a password, or has none and one was given in {PASSWORD_VARIABLE}"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise UsageError(
            f"{path} is not a private key that can be used: give Ed25519, ECDSA or RSA as PEM"
        ) from None


def public_key_from(path: Path) -> PublicKey:
    """The public key in a PEM file. Raises ``UsageError``."""
    _need_library()
    try:
        return _public_key(_read(path))
    except ValueError:
        raise UsageError(f"{path} is not a public key as PEM") from None


def _embedded_key(pem: Any) -> PublicKey:
    _need_library()
    try:
        key = _public_key(str(pem).encode())
    except ValueError:
        raise NotGenuine("its public key is none") from None
    if key.pem != pem:
        raise NotGenuine("its public key is not as it was written")
    return key


def _public_key(pem: bytes) -> PublicKey:
    """Raises ``ValueError``."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from securesystemslib.signer import SSlibKey

    try:
        key = load_pem_public_key(pem)
        return PublicKey(SSlibKey.from_crypto(key), _pem_of(key))
    except UnsupportedAlgorithm as error:
        raise ValueError(str(error)) from None


def _pem_of(key: PublicKeyTypes) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None


def _need_library() -> None:
    try:
        import cryptography  # noqa: F401
        import securesystemslib  # noqa: F401
    except ImportError:
        raise UsageError(
            "signing needs a library: pip install 'mcp-tasks-conformance[certify]'"
        ) from None
