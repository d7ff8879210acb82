"""Profiles: what a server has to show to be certified. A published profile never changes.

    version = 1
    spec = "2026-07-28"
    effort = "standard"
    max-wait = 30
    seeds = [1, 2, 3]
    required = ["creation.shape"]
    where-offered = ["input.resumes"]

A run is made with each of the seeds. Rules under ``required`` have to be exercised and pass in
every run; those under ``where-offered`` must not be violated in any, as long as they are more than
advice. Other rules do not matter: a rule that is new joins in the next version, which is a file of
its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.errors import UsageError
from conformance.judge.rule import ADVICE, Rule, catalogue
from conformance.places import profiles_directory
from conformance.report.members import Members, WrongShape
from conformance.report.results import Results, RuleResult
from conformance.specification.revisions import DEFAULT_REVISION, revision_named
from conformance.toml_files import NOT_TOML, parse_toml

DEFAULT_PROFILE = revision_named(DEFAULT_REVISION).profile or DEFAULT_REVISION


@dataclass(frozen=True)
class Profile:
    """``digest`` is the SHA-256 of the file, in hexadecimal; ``max_wait`` is seconds."""

    name: str
    version: int
    spec: str
    effort: str
    max_wait: float
    seeds: tuple[int, ...]
    required: tuple[str, ...]
    where_offered: tuple[str, ...]
    digest: str

    @property
    def file(self) -> str:
        return f"profiles/{self.name}.toml"

    @property
    def rules(self) -> tuple[str, ...]:
        return (*self.required, *self.where_offered)

    def rules_of(self, known: Mapping[str, Rule]) -> dict[str, Rule]:
        """The rules of the catalogue that matter. Raises ``UsageError`` where one is gone."""
        gone = [rule for rule in self.rules if rule not in known]
        if gone:
            raise UsageError(
                f"the profile {self.name} names rules that are gone: {', '.join(gone)}"
            )
        return {rule_id: rule for rule_id, rule in known.items() if rule_id in self.rules}


def profile_named(name: str) -> Profile:
    """A profile that comes with the suite. Raises ``UsageError`` naming those that do."""
    folder = profiles_directory()
    known = sorted(path.stem for path in folder.glob("*.toml"))
    if name not in known:
        raise UsageError(f"unknown profile {name!r}: this suite knows {', '.join(known)}")
    return read_profile(folder / f"{name}.toml")


def read_profile(path: Path) -> Profile:
    """The profile in a file. Raises ``UsageError``."""
    try:
        content = path.read_bytes()
        record = Members(parse_toml(content.decode("utf-8")), str(path))
        seeds = record.numbers("seeds")
        profile = Profile(
            name=path.stem,
            version=record.number("version"),
            spec=record.text("spec"),
            effort=record.text("effort"),
            max_wait=record.seconds("max-wait"),
            seeds=seeds,
            required=record.texts("required"),
            where_offered=record.texts("where-offered"),
            digest=hashlib.sha256(content).hexdigest(),
        )
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except (*NOT_TOML, WrongShape) as error:
        raise UsageError(f"{path} is not a profile: {error}") from None
    profile.rules_of(catalogue(profile.spec))
    return profile


# ---- what a server showed ------------------------------------------------------------------


def problems(profile: Profile, runs: Sequence[Results]) -> list[str]:
    """Why the runs do not earn a certificate, a line each; empty where they do."""
    return [*_problems_of_runs(profile, runs), *_problems_of_rules(profile, runs)]


def passed(profile: Profile, runs: Sequence[Results]) -> list[str]:
    """The rules of the profile that were exercised and held in every run."""
    return [
        rule_id
        for rule_id in profile.rules
        if all(result.verdict == "pass" for result in _results_of(rule_id, runs))
    ]


def _problems_of_runs(profile: Profile, runs: Sequence[Results]) -> Iterator[str]:
    if [run.run.seed for run in runs] != list(profile.seeds):
        yield f"the runs were not made with the seeds {', '.join(map(str, profile.seeds))}"
    for number, run in enumerate(runs, 1):
        if (run.spec, run.run.effort) != (profile.spec, profile.effort):
            yield f"run {number} was not made as the profile says"
        if run.run.cut_short:
            yield f"run {number} was cut short: {run.run.cut_short}"
    if len({run.target.name for run in runs}) > 1:
        yield "the runs met different servers: " + ", ".join(run.target.name for run in runs)


def _problems_of_rules(profile: Profile, runs: Sequence[Results]) -> Iterator[str]:
    for rule_id in profile.rules:
        results = _results_of(rule_id, runs)
        # The file stays as it is where one of its rules is found to claim more than the text.
        if rule_id not in profile.required and any(r.level == ADVICE for r in results):
            continue
        counted = [r for r in results if r.exercised or rule_id in profile.required]
        verdicts = {result.verdict for result in counted}
        if len(verdicts) > 1:
            told = ", ".join(result.verdict for result in results)
            yield f"{rule_id}: the runs do not agree ({told})"
        elif verdicts - {"pass"}:
            yield f"{rule_id}: {counted[0].verdict.replace('-', ' ')}: {counted[0].reason}"
        elif len(results) < len(runs):
            yield f"{rule_id}: not judged in every run"


def _results_of(rule_id: str, runs: Sequence[Results]) -> list[RuleResult]:
    return [result for run in runs if (result := run.rule(rule_id)) is not None]
