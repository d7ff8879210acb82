"""The commands, thin: options in, one call, a report and an exit status out.

What is slow to import is imported by the command that needs it: ``--help`` is instant.
"""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import socket
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conformance.certification.commands import certify, verify
from conformance.conclusion import check_writable, conclude, expected_by, say, tell, written_by
from conformance.errors import ConformanceError, Interrupted, SuiteBug, UsageError
from conformance.options import (
    REPORTS,
    history_option,
    judge_options,
    max_wait_option,
    report_options,
    run_options,
    server_options,
    shown,
    target_from,
    with_profile,
)
from conformance.replay import replay
from conformance.specification.revisions import DEFAULT_REVISION
from conformance.upgrading import upgrade
from conformance.version import __version__

if TYPE_CHECKING:
    from conformance.judge.rule import Rule
    from conformance.report.results import Results
    from conformance.target.target import Target


class Commands(click.Group):
    """A group whose commands end with our exit statuses: one line on what is wrong."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # A terminal that knows no arrows is no reason to fail.
                stream.reconfigure(errors="backslashreplace")
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, **extra)
        # The end of the process gives everything back: nothing need be collected first.
        atexit.register(gc.freeze)
        try:
            status = super().main(args, prog_name, complete_var, False, **extra)
        except click.ClickException as error:
            context = getattr(error, "ctx", None)
            command = context.command_path if context is not None else "mcp-tasks-conformance"
            status = _fail(f"{error.format_message()} (see `{command} --help`)", 2)
        except (click.Abort, KeyboardInterrupt):
            status = _fail("interrupted", Interrupted.exit_status)
        except ConformanceError as error:
            status = _fail(str(error), error.exit_status)
            if isinstance(error, SuiteBug) and error.details and _traceback_wanted():
                say(error.details, err=True)
        except Exception as error:
            if _traceback_wanted():
                raise
            status = _fail(
                f"the suite itself failed ({type(error).__name__}: {error}); no verdict is given."
                " Set CONFORMANCE_TRACEBACK=1 to see where, and please report it",
                SuiteBug.exit_status,
            )
        sys.exit(status if isinstance(status, int) else 0)


def _fail(message: str, status: int) -> int:
    from conformance.report.visible import visible

    say(f"error: {visible(' '.join(message.split()), 1000)}", err=True)
    return status


def _traceback_wanted() -> bool:
    return bool(os.environ.get("CONFORMANCE_TRACEBACK"))


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: mcp-tasks-conformance run http://127.0.0.1:8000/mcp",
)
@click.version_option(__version__, prog_name="mcp-tasks-conformance")
@click.pass_context
def main(context: click.Context) -> None:
    """Tell whether an MCP server speaks the Tasks extension as specified.

    Point `run` at a live server; it finds out what the server's tools do, drives it through
    the rules of the specification, and reports each verdict with its evidence.
    """
    if context.invoked_subcommand is None:
        say(context.get_help())


# ---- run -----------------------------------------------------------------------------------


@main.command(
    epilog="Example: mcp-tasks-conformance run http://127.0.0.1:8000/mcp --tool slow:export"
)
@click.argument("url", required=False)
@server_options
@run_options
@judge_options
@report_options
@history_option
@click.pass_context
def run(context: click.Context, /, **_: Any) -> None:
    """Drive the server at URL, judge it, and write the reports.

    Exit status: 0 no violation, 1 a violation, 2 wrong usage, 3 nothing to judge, 4 rules not
    exercised (with --require-exercised), 5 the baseline is stale, 70 a bug of the suite,
    130 interrupted.
    """
    sys.exit(_run(with_profile(context)))


def _run(options: dict[str, Any]) -> int:
    from conformance.checking import check_target
    from conformance.report.terminal import Progress
    from conformance.run import Telling, selected_rules

    target = target_from(options)
    only, skip = options.get("only") or (), options.get("skip") or ()
    rules = selected_rules(only, skip, spec=target.spec) if only or skip else None
    expected = expected_by(options)
    check_writable(options)
    folder = options.get("history") or REPORTS / "history"
    progress = Progress(sys.stderr)
    try:
        checked = check_target(
            target,
            folder=folder,
            rules=rules,
            beside=selected_rules(spec=target.spec),
            sequences=_are_searched(rules, target, bool(only)),
            workers=options.get("workers") or 0,
            telling=Telling(progress.doing, progress.exchanged),
            expected=expected,
            options=shown(options, target),
            replaces=written_by(options),
        )
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted; what was driven so far is in {folder}: judge it with"
            f" `mcp-tasks-conformance judge {folder}`"
        ) from None
    finally:
        progress.done()
    if target.restart_command is not None:
        _tell_of_restart(checked.results)
    return conclude(checked.results, options)


def _tell_of_restart(results: Results) -> None:
    """Say why nothing was seen after a restart, where the user gave a command for it."""
    from conformance.judge.rule import catalogue
    from conformance.report.visible import visible
    from conformance.target.roles import RESTART

    rules = catalogue(results.spec)
    for result in results.rules:
        if RESTART in rules[result.id].needs and not result.exercised:
            say(f"note: {result.id} was not exercised: {visible(result.reason, 300)}", err=True)


def _are_searched(rules: Mapping[str, Rule] | None, target: Target, only: bool) -> bool:
    """Whether sequences are searched: a run of a few rules is to be quick, unless it was said how
    long to search."""
    from conformance.checking import sequences_can_break

    asked = target.sequences_for is not None
    if asked and rules is not None and not sequences_can_break(rules, target.spec):
        say("note: no sequence can break any of these rules: --for is left out", err=True)
    return asked or not only


# ---- judge, diff, rules --------------------------------------------------------------------


@main.command(name="judge", epilog="Example: mcp-tasks-conformance judge reports/history")
@click.argument("history", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--spec", metavar="REVISION", help="Judge under another revision.")
@click.option("--only", multiple=True, metavar="RULE", help="Judge only this rule or topic.")
@click.option("--skip", multiple=True, metavar="RULE", help="Do not judge this rule or topic.")
@judge_options
@report_options
def judge_command(history: tuple[Path, ...], **options: Any) -> None:
    """Judge a kept history again. Nothing is sent.

    HISTORY is the folder of a run, or files of it, or a HAR file of a proxy or a browser. Several
    runs are judged one by one and told together. The same history gives the same verdicts.
    """
    from conformance.checking import judge_again

    expected = expected_by(options)
    check_writable(options)
    checked = judge_again(
        list(history),
        spec=options.get("spec"),
        only=options.get("only") or (),
        skip=options.get("skip") or (),
        expected=expected,
    )
    options["history"] = _folder_of(history)
    sys.exit(conclude(checked.results, options))


def _folder_of(paths: Sequence[Path]) -> Path:
    """The folder from which on the reports name the files of the histories."""
    folders = [path if path.is_dir() else path.parent for path in paths]
    if len(folders) == 1:
        return folders[0]
    return Path(os.path.relpath(os.path.commonpath([path.resolve() for path in folders])))


@main.command(epilog="Example: mcp-tasks-conformance diff old/results.json reports/results.json")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
    help="How the differences are written.",
)
def diff(old: Path, new: Path, form: str) -> None:
    """Compare two results rule by rule. Exits with 1 if something broke."""
    from conformance.report import results as results_files
    from conformance.report.comparison import compare

    comparison = compare(results_files.read(old), results_files.read(new))
    say(comparison.rendered(form))
    sys.exit(1 if comparison.broken else 0)


@main.command(epilog="Example: mcp-tasks-conformance rules polling.unknown-id")
@click.argument("rule_id", required=False, metavar="[RULE]")
@click.option("--spec", metavar="REVISION", help="Of which revision.  [default: 2026-07-28]")
@click.option(
    "--diff",
    "between",
    nargs=2,
    metavar="OLD NEW",
    help="What comes, goes, changes level or turns round between two revisions.",
)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def rules(
    rule_id: str | None, spec: str | None, between: tuple[str, str] | None, as_json: bool
) -> None:
    """List the catalogue, or explain one RULE.

    RULE may be a topic, such as polling: its rules are listed.
    """
    from conformance.judge.rule import catalogue
    from conformance.report.listing import as_json_text, explained, listed

    if between is not None:
        if rule_id or spec:
            raise UsageError("--diff OLD NEW compares whole catalogues: leave out RULE and --spec")
        from conformance.judge.succession import compare_revisions
        from conformance.report.revisions import difference_json, difference_text

        difference = compare_revisions(*between)
        if as_json:
            say(difference_json(difference))
        else:
            tell(difference_text(difference))
        return
    chosen = catalogue(spec or DEFAULT_REVISION)
    if rule_id:
        from conformance.run import selected_rules

        chosen = selected_rules([rule_id], spec=spec or DEFAULT_REVISION)
    if as_json:
        say(as_json_text(chosen.values()))
    elif rule_id in chosen:
        tell(explained(chosen[rule_id]))
    else:
        tell(listed(chosen.values()))


main.add_command(replay)
main.add_command(upgrade)
main.add_command(certify)
main.add_command(verify)


# ---- doctor, serve, demo -------------------------------------------------------------------


@main.command(epilog="Example: mcp-tasks-conformance doctor https://example.com/mcp --tool export")
@click.argument("url", required=False)
@server_options
@click.option(
    "--wait",
    type=click.FloatRange(min=0, max=3600),
    default=0.0,
    metavar="SECONDS",
    help="How long a server may take to come up.",
)
@click.pass_context
def doctor(context: click.Context, /, **_: Any) -> None:
    """Check the set-up before anybody is blamed: address, caller, versions, extension, tools.

    No tool is called.
    """
    from conformance.doctor import examine, wait_for
    from conformance.report.visible import visible

    options = with_profile(context)
    target = target_from(options)
    if options["wait"]:
        wait_for(target.url, options["wait"])
    findings = examine(target)
    for finding in findings:
        say(f"{finding.mark:7} {visible(finding.what)}: {visible(finding.text, 300)}")
    sys.exit(3 if any(finding.mark == "problem" for finding in findings) else 0)


def _only_one(_: click.Context, parameter: click.Parameter, names: tuple[str, ...]) -> str | None:
    """The last of several would be served, and the others forgotten."""
    if len(names) > 1:
        option = parameter.opts[0]
        raise UsageError(f"{option} is given {len(names)} times: a server is of one kind, give one")
    return names[0] if names else None


@main.command(epilog="Example: mcp-tasks-conformance serve --port 8000 --fault handle-nested")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to serve at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="0: any free one.",
)
@click.option(
    "--store",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keeps tasks over restarts; shared by replicas.",
)
@click.option(
    "--token", multiple=True, metavar="CALLER=TOKEN", help="A caller and its bearer token."
)
@click.option("--sse", is_flag=True, help="Answer as event streams.")
@click.option("--rate-limit", is_flag=True, help="Refuse polls that come too early.")
@click.option(
    "--poll-interval",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    metavar="MS",
    help="The pace that is asked of clients.",
)
@click.option(
    "--ttl",
    type=click.IntRange(min=1),
    default=600_000,
    show_default=True,
    metavar="MS",
    help="How long a task is kept.",
)
@click.option(
    "--official-names", is_flag=True, help="Also offer the official suite's fixture tools."
)
@click.option(
    "--revision",
    type=click.Choice(["2026-07-28", "2025-11-25", "both"]),
    default=DEFAULT_REVISION,
    show_default=True,
    help="What to speak; both: on the same URL.",
)
@click.option(
    "--fault", multiple=True, callback=_only_one, metavar="NAME", help="Be wrong in one thing."
)
@click.option(
    "--variant", multiple=True, callback=_only_one, metavar="NAME", help="Be different, and right."
)
@click.option("--list-faults", is_flag=True, help="List the faults and end.")
@click.option("--list-variants", is_flag=True, help="List the variants and end.")
def serve(**options: Any) -> None:
    """Serve the reference server, right or wrong in one thing."""
    from conformance.places import fixtures_module

    if options["list_faults"]:
        for fault in fixtures_module("serve").faults_of(options["revision"]).values():
            say(f"{fault.name}: {fault.summary} (breaks {fault.breaks})")
        return
    if options["list_variants"]:
        for variant in fixtures_module("serve").variants_of(options["revision"]).values():
            say(f"{variant.name}: {variant.summary}")
        return
    settings = _settings(options)
    try:
        fixtures_module("serve").serve(settings, say)
    except sqlite3.Error as error:
        raise UsageError(f"cannot serve: --store {options['store']}: {error}") from None
    except OSError as error:
        raise UsageError(f"cannot serve ({error}): {_advice(error, options['host'])}") from None
    except ValueError as error:
        raise UsageError(f"cannot serve: {error}") from None


def _advice(error: OSError, host: str) -> str:
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return f"--host {host} should be an address of this machine"
    if error.errno in (errno.EADDRINUSE, errno.EACCES):
        return "`--port 0` takes any free port"
    return "are --host, --port and --store right?"


def _settings(options: dict[str, Any]) -> Any:
    from conformance.places import fixtures_module

    serving = fixtures_module("serve")
    revision = options.get("revision", DEFAULT_REVISION)
    tokens = {}
    for text in options.get("token") or ():
        caller, equals, token = text.partition("=")
        if not equals or not caller or not token:
            raise UsageError("--token wants CALLER=TOKEN, for example --token alice=s3cret")
        tokens[token] = caller
    values: dict[str, Any] = {
        "host": options["host"],
        "port": options["port"],
        "store": options["store"],
        "tokens": tokens,
        "sse": options["sse"],
        "rate_limit": options["rate_limit"],
        "poll_interval_ms": options["poll_interval"],
        "ttl_ms": options["ttl"],
        "official_names": options["official_names"],
        "revision": revision,
        "fault": options["fault"],
        "variant": options["variant"],
    }
    for kind in ("fault", "variant"):
        name = options.get(kind)
        if name is None:
            continue
        known = getattr(serving, f"{kind}s_of")(revision)
        if name not in known:
            spoken = "" if revision == DEFAULT_REVISION else f" --revision {revision}"
            raise UsageError(f"unknown {kind} {name!r}: `serve{spoken} --list-{kind}s` lists them")
        values.update(known[name].settings)
    return serving.Settings(**values)


# Two callers, so that all is judged that needs a second one.
_DEMO_TOKENS = {"alice": "token-of-alice", "bob": "token-of-bob"}


@main.command(epilog="Example: mcp-tasks-conformance demo --html report.html")
@run_options
@judge_options
@report_options
@history_option
@max_wait_option
@click.option("--sse", is_flag=True, help="The reference server answers as event streams.")
@click.option(
    "--fault",
    multiple=True,
    callback=_only_one,
    metavar="NAME",
    help="The reference server is wrong in one thing.",
)
def demo(**given: Any) -> None:
    """Serve the reference server on a free port and run against it."""
    from conformance.places import fixtures_module

    serve_options = {
        "host": "127.0.0.1",
        "port": 0,
        "store": None,
        "token": [f"{caller}={token}" for caller, token in _DEMO_TOKENS.items()],
        "sse": given.pop("sse"),
        "rate_limit": False,
        "poll_interval": 100,
        "ttl": 600_000,
        "official_names": False,
        "fault": given.pop("fault"),
        "variant": None,
    }
    with fixtures_module("serve").running(_settings(serve_options)) as url:
        say(f"reference server: {url}", err=True)
        first, second = (f"Authorization: Bearer {token}" for token in _DEMO_TOKENS.values())
        status = _run({**given, "url": url, "header": [first], "other_header": [second]})
    sys.exit(status)
