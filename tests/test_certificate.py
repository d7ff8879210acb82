"""Certificates: what earns one, what it says, and that nothing of it can be changed."""

from __future__ import annotations

import base64
import builtins
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from conformance.certification import certificate, profile
from conformance.certification.certificate import (
    NotGenuine,
    Run,
    issue,
    public_key_from,
    signing_key_from,
    verify,
)
from conformance.certification.profile import Profile, passed, problems, profile_named, read_profile
from conformance.checking import judge_again
from conformance.cli import main
from conformance.errors import UsageError
from conformance.judge.observation import broken
from conformance.judge.rule import MUST, RULES, adopt, catalogue
from conformance.places import profiles_directory
from conformance.report.results import Results
from conformance.wire.exchange import Exchange
from conformance.wire.history import Circumstances, HistoryWriter
from fixtures.serve import Settings, running
from tests.builders import URL, creation, reading
from tests.report_samples import discovery

SEEDS = (1, 2, 3)
TASK = "task-0123456789abcdef"
ENDED = {"lastUpdatedAt": "2026-07-28T12:00:01.000Z"}
# As many places of a file as are changed in the test of that.
PLACES = 300
ONE_TOOL = ("--explore", "none", "--tool", "shout")

SMALL = f"""
version = 1
spec = "2026-07-28"
effort = "quick"
max-wait = 10
seeds = {list(SEEDS)}
required = ["creation.shape", "polling.result-type"]
where-offered = ["polling.failed", "polling.large-result"]
"""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Profile:
    """A profile of a few rules, as if it came with the suite."""
    folder = tmp_path / "profiles"
    folder.mkdir()
    (folder / "small.toml").write_text(SMALL)
    monkeypatch.setattr(profile, "profiles_directory", lambda: folder)
    return profile_named("small")


def session(*, members: dict[str, Any] | None = None) -> list[Exchange]:
    done = reading(TASK, "completed", members={**ENDED, **(members or {})})
    return [discovery({"name": "Ledger", "version": "2"}), creation(TASK), done]


def one_run(folder: Path, exchanges: Iterable[Exchange], seed: int, **given: Any) -> Run:
    """A run of which these exchanges are the history."""
    circumstances = Circumstances(url=URL, seed=seed, effort="quick", started="2026", **given)
    writer = HistoryWriter(folder / "polling.jsonl", circumstances)
    for exchange in exchanges:
        writer.append(replace(exchange, scenario="polling"))
    writer.close()
    return Run(judge_again([folder]).results, folder)


def runs_of(tmp_path: Path, *histories: Sequence[Exchange], **given: Any) -> list[Run]:
    pairs = zip(SEEDS, histories or (session(),) * 3, strict=True)
    return [one_run(tmp_path / f"run-{seed}", kept, seed, **given) for seed, kept in pairs]


def private_pem(key: Any, password: bytes | None = None) -> bytes:
    encryption = BestAvailableEncryption(password) if password else NoEncryption()
    pem: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    return pem


def keys(folder: Path, name: str = "key", key: Any = None) -> tuple[Path, Path]:
    """The files of a private key and its public part."""
    key = key or Ed25519PrivateKey.generate()
    private, public = folder / f"{name}.pem", folder / f"{name}.pub.pem"
    private.write_bytes(private_pem(key))
    pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    public.write_bytes(pem)
    return private, public


def issued(tmp_path: Path, profile: Profile, key: Any = None) -> tuple[bytes, Path]:
    """A certificate, and the file of the public key it was signed for."""
    private, public = keys(tmp_path, key=key)
    runs = runs_of(tmp_path)
    assert problems(profile, [run.results for run in runs]) == []
    return issue(profile, runs, signing_key_from(private)).encode(), public


def edited(content: bytes, edit: Callable[[dict[str, Any]], object]) -> bytes:
    """The certificate with a change, written as certificates are."""
    bundle = json.loads(content)
    edit(bundle)
    return (json.dumps(bundle, indent=1, sort_keys=True) + "\n").encode()


# ---- what earns a certificate --------------------------------------------------------------


def results_of(runs: Iterable[Run]) -> list[Results]:
    return [run.results for run in runs]


def test_three_runs_that_agree_earn_it(small: Profile, tmp_path: Path) -> None:
    runs = results_of(runs_of(tmp_path))
    assert problems(small, runs) == []
    assert passed(small, runs) == ["creation.shape", "polling.result-type"]


def test_a_violation_does_not(small: Profile, tmp_path: Path) -> None:
    wrong = session(members={"resultType": "task"})
    (problem,) = problems(small, results_of(runs_of(tmp_path, wrong, wrong, wrong)))
    assert problem.startswith("polling.result-type: fail: ")


def test_runs_that_do_not_agree_do_not(small: Profile, tmp_path: Path) -> None:
    wrong = session(members={"resultType": "task"})
    runs = results_of(runs_of(tmp_path, session(), wrong, session()))
    assert problems(small, runs) == [
        "polling.result-type: the runs do not agree (pass, fail, pass)"
    ]


def test_what_is_required_has_to_be_seen_every_time(small: Profile, tmp_path: Path) -> None:
    unseen = session()[:2]
    (once,) = problems(small, results_of(runs_of(tmp_path / "a", session(), unseen, session())))
    assert once == "polling.result-type: the runs do not agree (pass, not-exercised, pass)"
    (never,) = problems(small, results_of(runs_of(tmp_path / "b", unseen, unseen, unseen)))
    assert never.startswith("polling.result-type: not exercised: ")


def test_what_is_not_offered_does_not_matter_until_it_is_wrong(
    small: Profile, tmp_path: Path
) -> None:
    failed = reading("task-failed-0123456789", "failed", members=ENDED)
    wrong = reading("task-failed-0123456789", "failed", members={**ENDED, "error": ...})
    good = [*session(), creation("task-failed-0123456789"), failed]
    bad = [*session(), creation("task-failed-0123456789"), wrong]
    assert problems(small, results_of(runs_of(tmp_path / "a", session(), good, session()))) == []
    found = problems(small, results_of(runs_of(tmp_path / "b", session(), bad, session())))
    assert [problem.partition(":")[0] for problem in found] == ["polling.failed"]
    mixed = problems(small, results_of(runs_of(tmp_path / "c", good, bad, session())))
    assert mixed == ["polling.failed: the runs do not agree (pass, fail, not-exercised)"]


def test_a_rule_that_is_only_advice_costs_no_certificate(small: Profile, tmp_path: Path) -> None:
    runs = results_of(runs_of(tmp_path, *[session(members={"result": {"content": []}})] * 3))
    told = runs[0].rule("polling.working")
    assert told is not None
    assert told.level == "advice"
    named = replace(small, where_offered=("polling.working",))
    for verdict in ("pass", "warn"):
        changed = replace(told, verdict=verdict)
        rules = tuple(changed if r.id == told.id else r for r in runs[0].rules)
        assert problems(named, [replace(runs[0], rules=rules), *runs[1:]]) == []


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda runs: runs[:2], "seeds 1, 2, 3"),
        (lambda runs: runs[::-1], "seeds 1, 2, 3"),
        (lambda runs: [], "seeds 1, 2, 3"),
        (lambda runs: [replace(runs[0], spec="draft"), *runs[1:]], "run 1 was not made as"),
        (
            lambda runs: [*runs[:2], replace(runs[2], run=replace(runs[2].run, effort="thorough"))],
            "run 3 was not made as",
        ),
        (
            lambda runs: [*runs[:2], replace(runs[2], run=replace(runs[2].run, cut_short="gone"))],
            "run 3 was cut short: gone",
        ),
        (
            lambda runs: [replace(runs[0], target=replace(runs[0].target, server={})), *runs[1:]],
            "different servers",
        ),
    ],
)
def test_the_runs_have_to_be_those_of_the_profile(
    edit: Callable[[list[Results]], list[Results]], words: str, small: Profile, tmp_path: Path
) -> None:
    found = problems(small, edit(results_of(runs_of(tmp_path))))
    assert words in " ".join(found)


# ---- profiles ------------------------------------------------------------------------------


def test_the_published_profile_never_changes() -> None:
    """Where this fails, put the change into a file of its own: the next version."""
    digests = {
        path.stem: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in profiles_directory().glob("*.toml")
    }
    assert digests == PUBLISHED


def test_the_published_profile_is_whole() -> None:
    profile = profile_named("2026-07-28")
    known = catalogue()
    assert len(profile.rules) == len(set(profile.rules))
    levels = {rule_id: known[rule_id].level for rule_id in profile.rules}
    assert {rule_id for rule_id, level in levels.items() if level == "advice"} == LOWERED
    assert {levels[rule_id] for rule_id in profile.rules if rule_id not in LOWERED} == {
        "must",
        "implied",
    }
    assert LOWERED.isdisjoint(profile.required)
    assert len(profile.seeds) == 3
    assert len(profile.required) > 50


def test_a_new_rule_does_not_join_a_profile(
    small: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, _ = issued(tmp_path, small)
    before = verify(content)
    package = "conformance.judge.rules"
    monkeypatch.setitem(RULES, package, dict(RULES[package]))

    def never_right(history: Any) -> Any:
        """Nothing is right."""
        yield broken(history.exchanges[0], "nothing is right")

    adopt(never_right, "polling.never-right", MUST, "https://example.com/", into=package)

    assert "polling.never-right" in catalogue()
    assert problems(small, results_of(runs_of(tmp_path / "later"))) == []
    assert verify(content).passed == before.passed


def test_a_rule_that_is_gone_is_told(tmp_path: Path) -> None:
    (tmp_path / "odd.toml").write_text(SMALL.replace("creation.shape", "creation.gone"))
    with pytest.raises(UsageError, match=r"rules that are gone: creation\.gone"):
        read_profile(tmp_path / "odd.toml")


@pytest.mark.parametrize(
    ("old", "new"),
    [("version = 1", ""), ("[1, 2, 3]", "['a']"), ("max-wait = 10", "max-wait = 'x'"), ("=", "")],
)
def test_a_wrong_profile_is_told(old: str, new: str, tmp_path: Path) -> None:
    (tmp_path / "odd.toml").write_text(SMALL.replace(old, new))
    with pytest.raises(UsageError, match="is not a profile"):
        read_profile(tmp_path / "odd.toml")


def test_an_unknown_profile_is_told() -> None:
    with pytest.raises(UsageError, match="this suite knows 2026-07-28"):
        profile_named("2030")


# ---- what it says --------------------------------------------------------------------------


def test_it_says_what_was_shown(small: Profile, tmp_path: Path) -> None:
    content, public = issued(tmp_path, small)
    certified = verify(content, public_key_from(public))
    assert certified.profile == small
    assert certified.passed == ("creation.shape", "polling.result-type")
    assert [run.run.seed for run in certified.runs] == [1, 2, 3]
    assert certified.runs[0].target.name == "Ledger 2"


def test_it_is_an_in_toto_statement_in_a_dsse_envelope(small: Profile, tmp_path: Path) -> None:
    bundle = json.loads(issued(tmp_path, small)[0])
    envelope = bundle["envelope"]
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    statement = json.loads(base64.b64decode(envelope["payload"]))
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    assert statement["predicate"]["result"] == "PASSED"
    (configuration,) = statement["predicate"]["configuration"]
    assert configuration == {"name": "profiles/small.toml", "digest": {"sha256": small.digest}}
    digests = {s["name"]: s["digest"]["sha256"] for s in statement["subject"]}
    assert digests == {
        name: hashlib.sha256(base64.b64decode(text)).hexdigest()
        for name, text in bundle["materials"].items()
    }
    assert len(digests) == 6


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_keys_of_several_kinds(kind: str, small: Profile, tmp_path: Path) -> None:
    makers: dict[str, Callable[[], Any]] = {
        "ed25519": Ed25519PrivateKey.generate,
        "ecdsa": lambda: ec.generate_private_key(ec.SECP256R1()),
        "rsa": lambda: rsa.generate_private_key(65537, 2048),
    }
    content, public = issued(tmp_path, small, makers[kind]())
    assert verify(content, public_key_from(public)).profile == small


# ---- nothing of it can be changed ----------------------------------------------------------


def test_another_key_is_not_trusted(small: Profile, tmp_path: Path) -> None:
    content, _ = issued(tmp_path, small)
    _, other = keys(tmp_path, "other")
    with pytest.raises(NotGenuine, match="another key"):
        verify(content, public_key_from(other))


@pytest.mark.parametrize("given", [True, False])
def test_a_changed_byte_is_noticed_wherever_it_is(
    given: bool, small: Profile, tmp_path: Path
) -> None:
    content, public = issued(tmp_path, small)
    trusted = public_key_from(public) if given else None
    assert verify(content, trusted)
    step = max(len(content) // PLACES, 1)
    # Of what is not a material nearly every byte: there format, key, statement and signature are.
    head = content.index(b'"materials"')
    places = {
        *range(0, head, 2 if given else 7),
        *range(head, len(content), step),
        *range(len(content) - 100, len(content)),
    }
    genuine = []
    for place in sorted(places):
        changed = bytearray(content)
        changed[place] ^= 1 << (place % 8)
        try:
            verify(bytes(changed), trusted)
        except NotGenuine:
            continue
        genuine.append(place)
    assert genuine == []


@pytest.mark.parametrize("cut", [1, 2, 100, 5000])
def test_nothing_may_be_missing_or_added(cut: int, small: Profile, tmp_path: Path) -> None:
    content, _ = issued(tmp_path, small)
    for changed in (content[:-cut], content[cut:], content + b" " * cut, b"\n" * cut + content):
        with pytest.raises(NotGenuine):
            verify(changed)


def _drop_a_history(bundle: dict[str, Any]) -> None:
    del bundle["materials"]["run-2/history/polling.jsonl.gz"]


def _add_a_file(bundle: dict[str, Any]) -> None:
    bundle["materials"]["../../escaped.gz"] = ""


def _swap_the_runs(bundle: dict[str, Any]) -> None:
    files = bundle["materials"]
    one, other = "run-1/results.json.gz", "run-2/results.json.gz"
    files[one], files[other] = files[other], files[one]


def _sign_twice(bundle: dict[str, Any]) -> None:
    bundle["envelope"]["signatures"] *= 2


def _sign_never(bundle: dict[str, Any]) -> None:
    bundle["envelope"]["signatures"] = []


def _no_envelope(bundle: dict[str, Any]) -> None:
    bundle["envelope"] = [1]


def _more(bundle: dict[str, Any]) -> None:
    bundle["note"] = "hello"


def _another_type(bundle: dict[str, Any]) -> None:
    bundle["envelope"]["payloadType"] = "text/plain"


@pytest.mark.parametrize(
    "edit",
    [
        _drop_a_history, _add_a_file, _swap_the_runs, _sign_twice, _sign_never, _no_envelope,
        _more, _another_type,
    ],
)  # fmt: skip
def test_a_careful_forger_is_noticed(
    edit: Callable[[dict[str, Any]], object], small: Profile, tmp_path: Path
) -> None:
    content, _ = issued(tmp_path, small)
    with pytest.raises(NotGenuine):
        verify(edited(content, edit))
    assert not (tmp_path.parent / "escaped").exists()


def test_results_that_the_histories_do_not_bear_out(small: Profile, tmp_path: Path) -> None:
    """Signed by the right key, and still not true."""
    wrong = session(members={"resultType": "task"})
    lying = [
        Run(told.results, true.folder)
        for told, true in zip(
            runs_of(tmp_path / "told"), runs_of(tmp_path / "true", wrong, wrong, wrong), strict=True
        )
    ]
    private, _ = keys(tmp_path)
    content = issue(small, lying, signing_key_from(private)).encode()
    with pytest.raises(NotGenuine, match=r"judged again, polling\.result-type of run 1 is fail"):
        verify(content)


def test_runs_that_do_not_earn_it(small: Profile, tmp_path: Path) -> None:
    runs = runs_of(tmp_path, session()[:2], session()[:2], session()[:2])
    private, _ = keys(tmp_path)
    content = issue(small, runs, signing_key_from(private)).encode()
    with pytest.raises(NotGenuine, match="do not earn it"):
        verify(content)


def test_results_without_a_history(
    small: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    materials = certificate._materials

    def without(runs: Sequence[Run]) -> list[tuple[str, bytes]]:
        return [m for m in materials(runs) if not m[0].startswith("run-2/history/")]

    monkeypatch.setattr(certificate, "_materials", without)
    content, _ = issued(tmp_path, small)
    with pytest.raises(NotGenuine, match="run 2 has results and no history"):
        verify(content)


def test_a_run_that_was_cut_short_does_not_earn_it(small: Profile, tmp_path: Path) -> None:
    runs = runs_of(tmp_path, cut_short="the time of the run was used up")
    private, _ = keys(tmp_path)
    content = issue(small, runs, signing_key_from(private)).encode()
    with pytest.raises(NotGenuine, match="cut short"):
        verify(content)


def test_a_changed_profile_is_noticed(
    small: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, _ = issued(tmp_path, small)
    (tmp_path / "profiles" / "small.toml").write_text(
        SMALL.replace("max-wait = 10", "max-wait = 1")
    )
    with pytest.raises(NotGenuine, match="does not fit"):
        verify(content)
    (tmp_path / "profiles" / "small.toml").unlink()
    with pytest.raises(NotGenuine, match="unknown profile"):
        verify(content)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"{}", b"\xff", b"[" * 100_000])
def test_what_is_no_certificate(content: bytes) -> None:
    with pytest.raises(NotGenuine, match="not a certificate"):
        verify(content)


# ---- keys ----------------------------------------------------------------------------------


def test_keys_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private, public = keys(tmp_path)
    with pytest.raises(UsageError, match="cannot read"):
        signing_key_from(tmp_path / "absent.pem")
    with pytest.raises(UsageError, match="not a private key"):
        signing_key_from(public)
    with pytest.raises(UsageError, match="not a public key"):
        public_key_from(private)
    locked = tmp_path / "locked.pem"
    locked.write_bytes(private_pem(Ed25519PrivateKey.generate(), b"open sesame"))
    with pytest.raises(UsageError, match="password"):
        signing_key_from(locked)
    monkeypatch.setenv("CONFORMANCE_KEY_PASSWORD", "open sesame")
    assert signing_key_from(locked).pem.startswith("-----BEGIN PUBLIC KEY-----")
    with pytest.raises(UsageError, match="password"):
        signing_key_from(private)


def test_without_the_library_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imports = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "securesystemslib":
            raise ImportError(name)
        return imports(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match=r"pip install 'mcp-tasks-conformance\[certify\]'"):
        signing_key_from(tmp_path / "key.pem")


# ---- the commands --------------------------------------------------------------------------


def command(*arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)], env={"COLUMNS": None})


def test_certify_and_verify(small: Profile, tmp_path: Path) -> None:
    private, public = keys(tmp_path)
    out = tmp_path / "out" / "ledger.json"
    with running(Settings()) as url:
        ran = command(
            "certify", url, "--key", private, "--profile", "small", "--out", out, *ONE_TOOL
        )
    assert ran.exit_code == 0, ran.output
    assert f"certified by small: 2 required rules, 3 runs; written to {out}" in ran.output
    checked = command("verify", out, "--key", public)
    assert checked.exit_code == 0, checked.output
    assert "tasks-reference-server" in checked.output
    assert "(the key given)" in checked.output
    assert checked.output.splitlines()[-1].startswith("genuine")
    anybody = command("verify", out)
    assert anybody.exit_code == 0
    assert "pass --key to know whose it is" in anybody.output
    out.write_bytes(out.read_bytes().replace(b"A", b"B", 1))
    forged = command("verify", out, "--key", public)
    assert forged.exit_code == 1
    assert forged.output.startswith("error: ")


def test_a_server_with_a_fault_is_not_certified(small: Profile, tmp_path: Path) -> None:
    private, _ = keys(tmp_path)
    out = tmp_path / "ledger.json"
    with running(Settings(fault="get-without-result-type")) as url:
        ran = command(
            "certify", url, "--key", private, "--profile", "small", "--out", out, *ONE_TOOL
        )
    assert ran.exit_code == 1
    assert "polling.result-type: fail" in ran.output
    assert "not certified by small" in ran.output
    assert not out.exists()


def test_wrong_command_lines(small: Profile, tmp_path: Path) -> None:
    private, _ = keys(tmp_path)
    decided = command("certify", URL, "--key", private, "--profile", "small", "--max-wait", "3")
    assert decided.exit_code == 2
    assert "No such option" in decided.output
    told = command("certify", "--help").output
    assert "--tool" in told
    assert "--spec" not in told
    assert "--max-wait" not in told
    assert command("certify", URL, "--key", private, "--profile", "none").exit_code == 2
    assert command("certify", "--key", private, "--profile", "small").exit_code == 2
    assert command("certify", URL, "--key", tmp_path / "absent").exit_code == 2
    assert command("verify", tmp_path / "absent.json").exit_code == 2


def test_where_the_certificate_cannot_be_written_no_run_is_made(
    small: Profile, tmp_path: Path
) -> None:
    private, _ = keys(tmp_path)
    out = private / "certificate.json"
    ran = command("certify", URL, "--key", private, "--profile", "small", "--out", out)
    assert ran.exit_code == 2
    assert f"cannot write {out}" in ran.output
    assert "run 1 of" not in ran.output


# The digest of each published profile. An entry is added for a new file; none is changed.
# Rules of the published profile that claimed more than the text, and are advice now.
LOWERED = {"polling.working", "polling.cancelled", "polling.obedient-poll-served"}
PUBLISHED = {
    "2026-07-28": "71865159551d63495e36a504219ddfae5059bf3de88e68347566b563b9b3f134",
}
