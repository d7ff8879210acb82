"""The commands ``certify`` and ``verify``."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conformance.conclusion import check_paths, say, tell
from conformance.errors import UsageError
from conformance.options import calling_options, service_options, target_from, with_profile

if TYPE_CHECKING:
    from conformance.certification.certificate import Certified, Run
    from conformance.certification.profile import Profile
    from conformance.target.target import Target

_FILE = click.Path(path_type=Path)
_CERTIFICATE = Path("certificate.json")


@click.command(
    epilog="Example: mcp-tasks-conformance certify https://example.com/mcp --key private.pem"
)
@click.argument("url", required=False)
@click.option(
    "--key", type=_FILE, metavar="PEM", required=True, help="The private key to sign with."
)
@click.option("--profile", metavar="NAME", help="What has to be shown.  [default: 2026-07-28]")
@click.option("--out", type=_FILE, metavar="PATH", help="The file.  [default: certificate.json]")
@calling_options
@service_options
@click.pass_context
def certify(context: click.Context, /, **_: Any) -> None:
    """Run a frozen profile against the server at URL, and sign what it showed.

    The profile says the revision, the rules, the effort, the waits and the seeds: a run is made
    with each seed. The file holds results and histories. With a password on the key, set
    CONFORMANCE_KEY_PASSWORD. Exit status: 0 certified, 1 not.
    """
    from conformance.certification.certificate import issue, signing_key_from
    from conformance.certification.profile import DEFAULT_PROFILE, problems, profile_named
    from conformance.report.results import write_text
    from conformance.report.visible import visible

    options = with_profile(context)
    profile = profile_named(options["profile"] or DEFAULT_PROFILE)
    out = options["out"] or _CERTIFICATE
    check_paths([out])
    key = signing_key_from(options["key"])
    target = target_from({**options, "spec": profile.spec, "max_wait": profile.max_wait})
    target = replace(target, effort=profile.effort)
    with tempfile.TemporaryDirectory(prefix="mcp-tasks-conformance-") as folder:
        runs = _runs(target, profile, Path(folder), options)
        found = problems(profile, [run.results for run in runs])
        for problem in found:
            tell(visible(problem, 600))
        if not found:
            write_text(out, issue(profile, runs, key))
    rules = f"{len(profile.required)} required rules, {len(profile.seeds)} runs"
    if found:
        say(f"not certified by {profile.name}: {len(found)} problems ({rules})")
        sys.exit(1)
    say(f"certified by {profile.name}: {rules}; written to {out}")


def _runs(target: Target, profile: Profile, folder: Path, options: dict[str, Any]) -> list[Run]:
    from conformance.certification.certificate import Run
    from conformance.checking import check_target
    from conformance.judge.rule import catalogue
    from conformance.options import shown
    from conformance.report.terminal import Progress
    from conformance.run import Telling

    rules = profile.rules_of(catalogue(profile.spec))
    runs = []
    for number, seed in enumerate(profile.seeds, 1):
        say(f"run {number} of {len(profile.seeds)}, seed {seed}", err=True)
        progress = Progress(sys.stderr)
        of_this_run = replace(target, seed=seed)
        try:
            checked = check_target(
                of_this_run,
                folder=folder / f"run-{number}",
                rules=rules,
                workers=0,
                telling=Telling(progress.doing, progress.exchanged),
                options=shown({**options, "key": None, "out": None}, of_this_run),
            )
        finally:
            progress.done()
        runs.append(Run(checked.results, checked.folder))
    return runs


@click.command(epilog="Example: mcp-tasks-conformance verify certificate.json --key public.pem")
@click.argument("file", type=_FILE)
@click.option("--key", type=_FILE, metavar="PEM", help="The public key of who should have signed.")
def verify(file: Path, key: Path | None) -> None:
    """Check a certificate: its signature, its digests, and its histories, judged again.

    Without --key it is only known that nothing was changed since it was signed, by whomever.
    Exit status: 0 genuine, 1 not.
    """
    from conformance.certification.certificate import public_key_from
    from conformance.certification.certificate import verify as check

    trusted = public_key_from(key) if key is not None else None
    try:
        content = file.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}") from None
    _tell(check(content, trusted), given=trusted is not None)


def _tell(certified: Certified, *, given: bool) -> None:
    from conformance.report.visible import visible

    first = certified.runs[0]
    profile = certified.profile
    untested = [rule for rule in profile.where_offered if rule not in certified.passed]
    tell(f"server     {visible(first.target.name, 200)} at {visible(first.target.url, 500)}")
    tell(f"profile    {profile.name}, version {profile.version}, revision {profile.spec}")
    runs = ", ".join(f"{run.run.started} (seed {run.run.seed})" for run in certified.runs)
    tell(f"runs       {runs}")
    tell(f"passed     {len(certified.passed)} rules in every run")
    if untested:
        tell(f"not seen   {', '.join(untested)}")
    whose = "the key given" if given else "the key in the file: pass --key to know whose it is"
    tell(f"signed by  {certified.key} ({whose})")
    tell("genuine: the histories, judged again, give the same verdicts")
