"""The options that several commands share, and how they and a profile become a target."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from conformance.errors import UsageError
from conformance.specification.revisions import DEFAULT_REVISION

if TYPE_CHECKING:
    from conformance.target.target import Target

Command = TypeVar("Command", bound=Callable[..., Any])

# Where a run writes unless told otherwise.
REPORTS = Path("reports")

_FILE = click.Path(path_type=Path)
_URL_WANTED = "give the URL of the server, for example http://127.0.0.1:8000/mcp"


def _options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def add(function: Command) -> Command:
        for option in reversed(options):
            function = option(function)
        return function

    return add


calling_options = _options(
    click.option(
        "--header", multiple=True, metavar="'NAME: VALUE'", help="Sent with each request."
    ),
    click.option(
        "--header-env",
        multiple=True,
        metavar="NAME=VARIABLE",
        help="A header, its value in the environment.",
    ),
    click.option(
        "--other-header",
        multiple=True,
        metavar="'NAME: VALUE'",
        help="Of a second caller, to test isolation.",
    ),
    click.option(
        "--other-header-env",
        multiple=True,
        metavar="NAME=VARIABLE",
        help="The same, from the environment.",
    ),
    click.option(
        "--tool",
        multiple=True,
        metavar="[ROLE:]NAME[={JSON}]",
        help="A tool that may be called.",
    ),
    click.option(
        "--explore",
        type=click.Choice(["safe", "all", "none"]),
        help="Which other tools may be.  [default: safe]",
    ),
    click.option(
        "--config",
        type=_FILE,
        metavar="FILE",
        help="A profile.  [default: conformance.toml]",
    ),
)
max_wait_option = click.option(
    "--max-wait",
    type=click.FloatRange(min=0.5, max=3600),
    metavar="SECONDS",
    help="Longest wait.  [default: 30]",
)
reaching_options = _options(calling_options, max_wait_option)
server_options = _options(
    reaching_options,
    click.option("--spec", metavar="REVISION", help="Revision to judge by.  [default: 2026-07-28]"),
)
service_options = _options(
    click.option(
        "--replica", multiple=True, metavar="URL", help="Another URL of the same service."
    ),
    click.option(
        "--restart-command", metavar="COMMAND", help="Restarts the server on the same store."
    ),
)
run_options = _options(
    service_options,
    click.option(
        "--only",
        multiple=True,
        metavar="RULE",
        help="Only this rule or topic; sequences only with --for.",
    ),
    click.option("--skip", multiple=True, metavar="RULE", help="Not this rule or topic."),
    click.option(
        "--effort",
        type=click.Choice(["quick", "standard", "thorough"]),
        help="How much to try.  [default: standard]",
    ),
    click.option(
        "--for",
        "sequences_for",
        metavar="DURATION",
        help="Search sequences so long: 90s, 10m, 1h.",
    ),
    click.option("--seed", type=int, help="Repeats a run's choices.  [default: random]"),
    click.option(
        "-n",
        "--workers",
        type=click.IntRange(min=0, max=64),
        metavar="NUMBER",
        help="Processes to spread over.",
    ),
    click.option(
        "--judge-origin",
        is_flag=True,
        default=None,
        help="Origin checks beyond loopback too.",
    ),
)
judge_options = _options(
    click.option(
        "--baseline",
        type=_FILE,
        metavar="FILE",
        help="Violations that are known.",
    ),
    click.option("--update-baseline", is_flag=True, help="Write the violations of now to it."),
    click.option("--strict", is_flag=True, default=None, help="Warnings fail too."),
    click.option(
        "--require-exercised",
        is_flag=True,
        default=None,
        help="A must that was not exercised fails.",
    ),
)
report_options = _options(
    click.option(
        "--html",
        type=_FILE,
        metavar="PATH",
        help="HTML report.  [default: reports/report.html]",
    ),
    click.option(
        "--json",
        "json_",
        type=_FILE,
        metavar="PATH",
        help="Results.  [default: reports/results.json]",
    ),
    click.option("--junit", type=_FILE, metavar="PATH", help="JUnit XML."),
    click.option("--markdown", type=_FILE, metavar="PATH", help="A Markdown summary."),
    click.option("--sarif", type=_FILE, metavar="PATH", help="SARIF, for code scanning."),
    click.option(
        "--badge", type=_FILE, metavar="PATH", help="A badge: .svg, or shields.io's .json."
    ),
    click.option("--log", type=_FILE, metavar="PATH", help="pytest-html's page of the rules."),
)
history_option = click.option(
    "--history",
    type=_FILE,
    metavar="PATH",
    help="A folder.  [default: reports/history]",
)


# ---- profile -------------------------------------------------------------------------------


def with_profile(context: click.Context) -> dict[str, Any]:
    """The options of a command: those of the command line, and under them the profile's.

    Raises ``UsageError``.
    """
    from conformance.target.profile import DEFAULT_PROFILE, read_profile

    options = dict(context.params)
    path = options.pop("config", None)
    if path is None and not Path(DEFAULT_PROFILE).is_file():
        return options
    path = path or Path(DEFAULT_PROFILE)
    parameters = {_key(parameter): parameter for parameter in context.command.params}
    for key, value in read_profile(path).items():
        parameter = parameters.get(key)
        if parameter is None or parameter.name is None or _was_said(context, parameter.name):
            continue
        try:
            options[parameter.name] = parameter.type_cast_value(context, value)
        except click.BadParameter as error:
            raise UsageError(f"{path}: {key}: {error.message}") from None
    return options


def _key(parameter: click.Parameter) -> str:
    """The name of an option in a profile: the long one, without its dashes."""
    return max(parameter.opts, key=len).lstrip("-")


def _was_said(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


# ---- target --------------------------------------------------------------------------------


def target_from(options: dict[str, Any]) -> Target:
    """The target that the options of ``run`` or ``doctor`` mean. Raises ``UsageError``."""
    from conformance.target.target import (
        header_from_environment,
        named_tool,
        parsed_header,
        target_of,
    )

    def headers(plain: str, secret: str) -> tuple[tuple[str, str], ...]:
        return (
            *map(parsed_header, options.get(plain) or ()),
            *map(header_from_environment, options.get(secret) or ()),
        )

    if not options.get("url"):
        raise UsageError(_URL_WANTED)
    seed = options.get("seed")
    return target_of(
        options["url"],
        headers=headers("header", "header_env"),
        other_headers=headers("other_header", "other_header_env"),
        replicas=options.get("replica") or (),
        restart_command=options.get("restart_command"),
        tools=tuple(map(named_tool, options.get("tool") or ())),
        explore=options.get("explore") or "safe",
        spec=options.get("spec") or DEFAULT_REVISION,
        effort=options.get("effort") or "standard",
        max_wait=float(options.get("max_wait") or 30.0),
        seed=random.SystemRandom().randrange(2**31) if seed is None else seed,
        judge_origin=bool(options.get("judge_origin")),
        sequences_for=_seconds(options.get("sequences_for")),
    )


_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def _seconds(text: object) -> float | None:
    """A duration like ``90``, ``90s``, ``10m`` or ``1h`` in seconds. Raises ``UsageError``."""
    if text is None:
        return None
    number = str(text).strip()
    unit = number[-1:] if number[-1:] in _UNITS else ""
    digits = number.removesuffix(unit)
    if not digits.isascii() or not digits.isdigit() or not 0 < int(digits) < 10**6:
        raise UsageError(f"--for wants a duration like 90s, 10m or 1h, not {number!r}")
    return int(digits) * _UNITS.get(unit, 1.0)


_NEVER_SHOWN = {
    "url",
    "header",
    "header_env",
    "other_header",
    "other_header_env",
    "replica",
    "restart_command",
}


def shown(options: dict[str, Any], target: Target) -> dict[str, Any]:
    """The options that a report may show, without what is or holds a secret."""
    from conformance.drive.running import redactor_of

    redactor = redactor_of(target)
    said = {
        name.rstrip("_").replace("_", "-"): str(value) if isinstance(value, Path) else value
        for name, value in sorted(options.items())
        if value not in (None, (), [], False) and name not in _NEVER_SHOWN
    }
    return {name: redactor.value(value) for name, value in said.items()}
