"""negotiation: who may be given a task, and how each side says that it speaks of tasks."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.effects import effect_of_cancel, effect_of_update
from conformance.judge.expectations import expect_error, probes, unanswered
from conformance.judge.lives import call_of, lives
from conformance.judge.observation import Observation, broken, holds, not_offered, unclear
from conformance.judge.requests import (
    advertised_settings,
    advertising,
    capabilities_of,
    discoveries,
    is_careful,
    is_offered,
    task_made,
    undeclared,
    undeclared_later,
)
from conformance.judge.rule import IMPLIED, MUST, rule
from conformance.judge.serving import failing
from conformance.specification.citations import core, sep, tasks
from conformance.specification.names import (
    CODES_WITH_ANOTHER_MEANING,
    DISCOVER,
    EXTENSION,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    TASK_METHODS,
    TASKS_CANCEL,
    TASKS_GET,
    TASKS_UPDATE,
    TOOLS_CALL,
)
from conformance.specification.states import COMPLETED, FAILED
from conformance.target.roles import LEGACY, SLOW, SYNC, TASK, TASK_ONLY
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

_NOT_OFFERED = "the server does not offer the extension"
# So many calls that agree are no chance any more.
_ENOUGH_CALLS = 3
# What a gateway says when nobody behind it has time: no answer of the server.
_OVERLOADED = (502, 503, 504)
_PATH = f'capabilities.extensions["{EXTENSION}"]'


# ---- what the server says -------------------------------------------------------------------


@rule("negotiation.advertised", IMPLIED, tasks("capability-negotiation"))
def tasks_are_advertised(history: History) -> Iterator[Observation]:
    """A server that creates tasks advertises the extension in `server/discover`.

    It does so under `capabilities.extensions`. Advertising it and never creating a task is
    allowed.
    """
    made_for = _tasks_made(history)
    for discovery in discoveries(history):
        there, _ = advertised_settings(discovery)
        # Another caller may be offered less, and one that declares nothing told less.
        made = made_for.get(discovery.caller) if discovery.declares_tasks else None
        if there:
            yield holds(discovery)
        elif made is not None:
            yield broken(
                (discovery, made),
                f"advertise the extension as {_PATH}: the server creates tasks and does not say"
                f" so{_elsewhere(discovery)}",
                expected=_PATH,
                found="nothing there",
                member="/result/capabilities",
            )
        elif _elsewhere(discovery):
            yield unclear(
                discovery, f"the extension is not advertised as {_PATH}{_elsewhere(discovery)}"
            )
        else:
            yield not_offered(_NOT_OFFERED, discovery)
    refused = [e for e in history.of_method(DISCOVER) if is_careful(e, history)]
    made = made_for.get(refused[0].caller) if refused else None
    if made is not None and not discoveries(history):
        if refused[0].error_code == METHOD_NOT_FOUND:
            yield broken(
                (refused[0], made),
                f"serve server/discover and advertise {_PATH} there: the server creates tasks"
                " that it does not advertise",
                expected=_PATH,
                found=refused[0].outcome,
                member="/error/code",
            )
        else:
            yield unclear(refused[0], unanswered(refused[0]) or refused[0].outcome)


def _tasks_made(history: History) -> dict[str, Exchange]:
    """For each caller the first call that declared the extension and became a task."""
    made: dict[str, Exchange] = {}
    for exchange in history.of_method(TOOLS_CALL):
        if exchange.declares_tasks and is_careful(exchange, history) and task_made(exchange):
            made.setdefault(exchange.caller, exchange)
    return made


def _elsewhere(discovery: Exchange) -> str:
    """Where else the extension's name stands among the capabilities, as half a sentence."""
    capabilities = capabilities_of(discovery)
    if EXTENSION in capabilities:
        return "; its name stands among the capabilities themselves"
    experimental = capabilities.get("experimental")
    if isinstance(experimental, dict) and EXTENSION in experimental:
        return "; its name stands under capabilities.experimental"
    return ""


@rule("negotiation.methods-served", IMPLIED, tasks("capability-negotiation"))
def methods_are_served(history: History) -> Iterator[Observation]:
    """A server that advertises the extension serves all three methods of it.

    An id that does not exist is answered with -32602; only -32601 says that `tasks/get`,
    `tasks/update` or `tasks/cancel` is not there. One that answers everything with an internal
    error, or without JSON-RPC, is not served either.
    """
    if advertising(history) is None:
        yield not_offered("the extension is not advertised", discoveries(history)[:1])
        return
    advertised_to: dict[str, Exchange] = {}
    for discovery in discoveries(history):
        if advertised_settings(discovery)[0]:
            advertised_to.setdefault(discovery.caller, discovery)
    asked = [
        exchange
        for exchange in history.of_method(*TASK_METHODS)
        if exchange.caller in advertised_to
        and exchange.declares_tasks
        and is_careful(exchange, history)
    ]
    for method in TASK_METHODS:
        failed = failing((e for e in asked if e.method == method), history)
        if failed:
            yield broken(
                (advertised_to[failed[0].caller], *failed[:2]),
                f"serve {method}: the extension is advertised, and whatever was asked, there was"
                f" {failed[0].outcome}",
                expected="the method is served",
                found=failed[0].outcome,
                member="/error/code" if failed[0].error is not None else "",
            )
    for exchange in asked:
        advertised = advertised_to[exchange.caller]
        if exchange.error_code == METHOD_NOT_FOUND:
            yield broken(
                (advertised, exchange),
                f"serve {exchange.method}: the extension is advertised, and its method is answered"
                " with -32601",
                expected="the method is served",
                found="error -32601 (Method not found)",
                member="/error/code",
            )
        elif exchange.result is not None or exchange.error is not None:
            yield holds(exchange)
        else:
            yield unclear(exchange, unanswered(exchange) or exchange.outcome)


@rule("negotiation.settings-object", MUST, core("basic/versioning", "extension-negotiation"))
def settings_are_an_object(history: History) -> Iterator[Observation]:
    """The value under which the extension is advertised is an object.

    The extension defines no settings: an empty object is all it takes.
    """
    for discovery in discoveries(history):
        there, value = advertised_settings(discovery)
        if not there:
            yield not_offered("the extension is not advertised", discovery)
        elif not isinstance(value, dict):
            yield broken(
                discovery,
                f"advertise the extension with an object: {_PATH} should be {{}}",
                expected="an object",
                found=f"{value!r:.60}",
                member=f"/result/capabilities/extensions/{EXTENSION.replace('/', '~1')}",
            )
        elif value:
            names = ", ".join(sorted(value))[:80]
            yield holds(discovery, f"the settings {names} have no meaning: none are defined")
        else:
            yield holds(discovery)


@rule("negotiation.no-legacy-capability", MUST, sep("backward-compatibility"))
def legacy_capability_is_gone(history: History) -> Iterator[Observation]:
    """`server/discover` does not advertise the `tasks` capability of 2025-11-25.

    A server may have capabilities of its own, also one of that name with other members.
    """
    for discovery in discoveries(history):
        found = capabilities_of(discovery).get("tasks")
        if found is not None and not _is_legacy(found):
            yield unclear(discovery, "capabilities.tasks is there, and not that of 2025-11-25")
        elif found is not None:
            yield broken(
                discovery,
                f"take capabilities.tasks out of server/discover: {_PATH} takes its place",
                expected="no capabilities.tasks",
                found="capabilities.tasks",
                member="/result/capabilities/tasks",
            )
        else:
            yield holds(discovery)


def _is_legacy(capability: object) -> bool:
    """Whether it is, or may be, the capability of 2025-11-25: an object that has one of its
    members, or none at all."""
    members = ("list", "cancel", "requests")
    return isinstance(capability, dict) and (
        not capability or any(member in capability for member in members)
    )


def _plainly_undeclared(history: History) -> list[Exchange]:
    """Calls that say nothing of tasks, in no place and in no way."""
    otherwise = (
        "legacy-declaration",
        "declared-elsewhere",
        "task-parameter-undeclared",
        "undeclared-after-declared",
    )
    return [e for e in undeclared(history, TOOLS_CALL) if e.intent not in otherwise]


# ---- what a call that does not declare the extension gets -----------------------------------


def _gets_no_task(exchange: Exchange, advice: str) -> Observation:
    """The answer is anything but a task."""
    if task_made(exchange) is not None:
        return broken(
            exchange,
            f"create a task only for a call that declares the extension itself: {advice}",
            expected="a plain result, input_required or error -32021",
            found=exchange.outcome,
            member="/result",
        )
    hindrance = unanswered(exchange)
    return unclear(exchange, hindrance) if hindrance else holds(exchange)


def _no_task_for(
    history: History, intent: str, advice: str, method: str = TOOLS_CALL
) -> Iterator[Observation]:
    """Calls of this intent get no task, where the same call with a declaration gets one."""
    for probe in probes(history, intent, method=method):
        if isinstance(probe, Observation):
            yield probe
            continue
        control = history.control_of(probe)
        if task_made(probe) is None and (control is None or task_made(control) is None):
            yield unclear(probe, "the call that declared the extension made no task either")
        else:
            yield _gets_no_task(probe, advice)


@rule(
    "negotiation.undeclared-gets-no-task",
    MUST,
    tasks("capability-negotiation"),
    needs=(TASK,),
)
def undeclared_call_gets_no_task(history: History) -> Iterator[Observation]:
    """A call that does not declare the extension is never answered with a task."""
    task_tools = {
        e.tool
        for e in history.of_method(TOOLS_CALL)
        if e.declares_tasks and task_made(e) is not None
    }
    for exchange in _plainly_undeclared(history):
        if exchange.tool in task_tools or task_made(exchange) is not None:
            yield _gets_no_task(exchange, "this one declared nothing and was given a task")


@rule(
    "negotiation.declared-per-request",
    MUST,
    core("basic/index", "statelessness"),
    needs=(TASK,),
    after=("negotiation.undeclared-gets-no-task", "negotiation.get-requires-declaration"),
)
def declaration_does_not_carry_over(history: History) -> Iterator[Observation]:
    """A declaration on an earlier request, on the same connection too, does not carry over."""
    for exchange in undeclared_later(history, TOOLS_CALL, TASKS_GET):
        if task_made(exchange) is not None or exchange.task is not None:
            yield broken(
                exchange,
                "look at the capabilities of each request by itself: one that did not declare the"
                " extension was served as if it had, after another on its connection had",
                expected="no task without a declaration",
                found=exchange.outcome,
                member="/result",
            )
    for probe in probes(history, "undeclared-after-declared"):
        if isinstance(probe, Observation):
            yield probe
            continue
        control = history.control_of(probe)
        if task_made(probe) is not None or probe.task is not None:
            continue  # told above
        if unanswered(probe):
            yield unclear(probe, unanswered(probe))
        elif control is not None and control.connection != probe.connection:
            yield unclear((control, probe), "the server closed the connection in between")
        elif control is not None:
            yield holds((control, probe))


@rule(
    "negotiation.legacy-declaration-ignored",
    MUST,
    sep("backward-compatibility"),
    needs=(TASK,),
    after=("negotiation.undeclared-gets-no-task", "negotiation.get-requires-declaration"),
)
def legacy_declaration_does_not_count(history: History) -> Iterator[Observation]:
    """Declaring only the `tasks` capability of 2025-11-25 counts as not declaring.

    A server that also speaks 2025-11-25 may still let such a client read the tasks that were
    made under it; the task that is read here was made under the extension.
    """
    yield from _no_task_for(
        history, "legacy-declaration", "this one declared only capabilities.tasks of 2025-11-25"
    )
    for probe in probes(history, "legacy-declaration", method=TASKS_GET):
        if isinstance(probe, Observation):
            yield probe
        elif probe.task is not None:
            yield broken(
                probe,
                "answer tasks/get with -32021 to a client that declares only capabilities.tasks"
                " of 2025-11-25: it was shown a task of the extension",
                expected="error -32021 (Missing required client capability)",
                found=probe.outcome,
                member="/result",
            )
        elif probe.error_code == MISSING_CAPABILITY:
            yield holds(probe)


@rule(
    "negotiation.envelope-only",
    MUST,
    tasks("capability-negotiation"),
    needs=(TASK,),
    after=("negotiation.undeclared-gets-no-task",),
)
def only_the_envelope_declares(history: History) -> Iterator[Observation]:
    """Only `clientCapabilities.extensions` declares: a key of `_meta` does not.

    Nor does the extension's name among the experimental capabilities.
    """
    yield from _no_task_for(
        history,
        "declared-elsewhere",
        "this one had the extension's name elsewhere than in clientCapabilities.extensions",
    )


@rule(
    "negotiation.task-parameter-ignored",
    MUST,
    sep("backward-compatibility"),
    needs=(SYNC, TASK),
    after=("negotiation.undeclared-gets-no-task",),
)
def task_parameter_is_ignored(history: History) -> Iterator[Observation]:
    """The `task` parameter of 2025-11-25 on `tools/call` neither opts in nor is an error."""
    yield from _no_task_for(
        history,
        "task-parameter-undeclared",
        "this one had the task parameter of 2025-11-25, which is to be ignored",
    )
    by_tool: dict[str, list[Exchange]] = {}
    for probe in probes(history, "task-parameter", method=TOOLS_CALL):
        if isinstance(probe, Observation):
            yield probe
        elif unanswered(probe):
            yield unclear(probe, unanswered(probe))
        else:
            by_tool.setdefault(str(probe.tool), []).append(probe)
    for found in by_tool.values():
        yield from _same_with_parameter(history, found)


def _same_with_parameter(history: History, found: list[Exchange]) -> Iterator[Observation]:
    """What each call got with the parameter is what its twin got without.

    A server may decide anew on each call, so an opt-in is told only where the calls with the
    parameter became tasks every time, and those without it never in the whole run.
    """
    pairs = [(control, probe) for probe in found if (control := history.control_of(probe))]
    if not pairs:
        return
    both = (pairs[0][0], pairs[0][1])
    if all(probe.error is not None for _, probe in pairs):
        if not all(probe.error_code in CODES_WITH_ANOTHER_MEANING for _, probe in pairs):
            # So many calls may be more than are served at a time.
            yield unclear(both, f"it was refused for a reason not told ({both[1].outcome})")
            return
        yield broken(
            both,
            "ignore the task parameter of 2025-11-25 like any unknown member: the call with it"
            " was refused, and without it served",
            expected=both[0].outcome,
            found=both[1].outcome,
            member="/error/code",
        )
        return
    tool = pairs[0][1].tool
    without = [
        e
        for e in history.of_method(TOOLS_CALL)
        if e.tool == tool and e.declares_tasks and "task" not in e.params and e.result is not None
    ]
    opted_in = [task_made(p) is not None and task_made(c) is None for c, p in pairs]
    never = len(without) >= _ENOUGH_CALLS and not any(map(task_made, without))
    if never and all(opted_in) and len(pairs) >= _ENOUGH_CALLS:
        yield broken(
            both,
            "do not take the task parameter of 2025-11-25 for an opt-in: the call became a task"
            " with it, and without it never did",
            expected=both[0].outcome,
            found=both[1].outcome,
            member="/result",
        )
        return
    for control, probe in pairs:
        asked = (probe.params.get("task") or {}).get("ttl")
        given = (probe.handle or {}).get("ttlMs")
        if given is not None and given == asked and (control.handle or {}).get("ttlMs") != given:
            yield broken(
                (control, probe),
                "ignore the task parameter of 2025-11-25: its ttl became the ttlMs of the task",
                expected=f"ttlMs {(control.handle or {}).get('ttlMs')}",
                found=f"ttlMs {given}",
                member="/result/ttlMs",
            )
        elif probe.result is not None and not any(opted_in):
            yield holds((control, probe))
        else:
            yield unclear((control, probe), "the calls were answered now so, now otherwise")


@rule(
    "negotiation.task-only-tool",
    MUST,
    tasks("capability-negotiation"),
    needs=(TASK_ONLY,),
    after=("negotiation.undeclared-gets-no-task", "outcome.protocol-error-fails"),
)
def task_only_tool_names_the_capability(history: History) -> Iterator[Observation]:
    """Called without a declaration, a tool that works only as a task answers with -32021."""
    completed = {call_of(made) for made in _made_and_ended(history, COMPLETED)}
    failed = {made.tool for made in _made_and_ended(history, FAILED)}
    # What answered in full, if only once, can be served without a task.
    plain = {
        e.tool
        for e in history.of_method(TOOLS_CALL)
        if e.result_type == "complete" and task_made(e) is None
    }
    for exchange in _plainly_undeclared(history):
        if exchange.error_code == MISSING_CAPABILITY:
            yield holds(exchange)
        elif exchange.error is None or unanswered(exchange) or exchange.status in _OVERLOADED:
            continue
        elif call_of(exchange) in completed and exchange.tool not in failed | plain:
            yield expect_error(
                exchange,
                MISSING_CAPABILITY,
                "answer a call that cannot be served without a task with error -32021 where the"
                f" client does not declare the extension: as a task, {exchange.tool} completes",
            )


def _made_and_ended(history: History, status: str) -> Iterator[Exchange]:
    """The calls whose task was seen to end so."""
    for life in lives(history).values():
        end = life.first_terminal
        if end is not None and end.status == status and life.creation is not None:
            yield life.creation


# ---- the methods ------------------------------------------------------------------------------


def _gated(history: History, method: str) -> list[Exchange]:
    """Undeclared requests of a method that would be in order otherwise."""
    return [
        exchange
        for exchange in undeclared(history, method)
        if method != TASKS_UPDATE or isinstance(exchange.params.get("inputResponses"), dict)
        if exchange.intent != "legacy-declaration"
    ]


def _refused_for_lack_of_capability(history: History, method: str) -> Iterator[Observation]:
    for exchange in _gated(history, method):
        yield expect_error(
            exchange,
            MISSING_CAPABILITY,
            f"answer {method} with error -32021 (Missing required client capability) where the"
            " request does not declare the extension, whether the task exists or not",
        )


@rule(
    "negotiation.get-requires-declaration",
    MUST,
    tasks("protocol-errors"),
    after=("negotiation.methods-served", "transport.mcp-name-accepted"),
)
def get_requires_declaration(history: History) -> Iterator[Observation]:
    """Without a declaration `tasks/get` is answered with -32021, for any id."""
    if not is_offered(history):
        yield not_offered(_NOT_OFFERED)
        return
    yield from _refused_for_lack_of_capability(history, TASKS_GET)


@rule(
    "negotiation.update-requires-declaration",
    MUST,
    tasks("protocol-errors"),
    after=(
        "negotiation.methods-served",
        "negotiation.get-requires-declaration",
        "polling.input-required",
    ),
)
def update_requires_declaration(history: History) -> Iterator[Observation]:
    """Without a declaration `tasks/update` is -32021, and the answer does not arrive."""
    if not is_offered(history):
        yield not_offered(_NOT_OFFERED)
        return
    yield from _refused_for_lack_of_capability(history, TASKS_UPDATE)
    for probe in _gated(history, TASKS_UPDATE):
        life = lives(history).get(str(probe.task_id))
        effect = effect_of_update(life, probe) if life is not None else None
        if effect is None or probe.error is None:
            continue
        if effect.moved:
            yield broken(
                (probe, effect.seen.exchange),
                "refuse an undeclared tasks/update before its answers are taken: it was answered"
                " with an error, and the task moved on all the same",
                expected="the same requests are still open",
                found=f"status {effect.seen.status!r}",
                member="/result/status",
            )
        elif not unanswered(probe):
            yield holds((probe, effect.seen.exchange))


@rule(
    "negotiation.cancel-requires-declaration",
    MUST,
    tasks("protocol-errors"),
    needs=(SLOW,),
    after=("negotiation.methods-served", "negotiation.get-requires-declaration"),
)
def cancel_requires_declaration(history: History) -> Iterator[Observation]:
    """Without a declaration `tasks/cancel` is -32021, and the task goes on."""
    if not is_offered(history):
        yield not_offered(_NOT_OFFERED)
        return
    yield from _refused_for_lack_of_capability(history, TASKS_CANCEL)
    for probe in _gated(history, TASKS_CANCEL):
        life = lives(history).get(str(probe.task_id))
        effect = effect_of_cancel(life, probe) if life is not None else None
        if effect is None or probe.error is None:
            continue
        if effect.moved:
            yield broken(
                (probe, effect.seen.exchange),
                "refuse an undeclared tasks/cancel before it does anything: it was answered with"
                " an error, and the task was cancelled all the same",
                expected="the task goes on",
                found="status 'cancelled'",
                member="/result/status",
            )
        elif not unanswered(probe):
            yield holds((probe, effect.seen.exchange))


@rule("negotiation.names-missing-capability", MUST, tasks("capability-negotiation"))
def missing_capability_is_named(history: History) -> Iterator[Observation]:
    """-32021 says what to declare, in the shape of the declaration.

    That is `data.requiredCapabilities.extensions["io.modelcontextprotocol/tasks"]`, an object
    in objects.
    """
    if not is_offered(history):
        yield not_offered(_NOT_OFFERED)
        return
    asked = (*TASK_METHODS, TOOLS_CALL)
    for exchange in (*undeclared(history, *asked), *undeclared_later(history, *asked)):
        if exchange.error_code != MISSING_CAPABILITY:
            if exchange.method != TOOLS_CALL:
                yield unclear(exchange, f"there was no error -32021 to look at: {exchange.outcome}")
            continue
        member, found = _missing_name(exchange)
        if not member:
            yield holds(exchange)
        elif exchange.method == TOOLS_CALL and _names_another(exchange):
            continue
        else:
            yield broken(
                exchange,
                "name the extension in the error as data.requiredCapabilities.extensions"
                f'["{EXTENSION}"] = {{}}',
                expected="an object",
                found=found,
                member=member,
            )


def _missing_name(exchange: Exchange) -> tuple[str, str]:
    """The pointer of the first part of the name that is no object, and what is there."""
    value: object = exchange.error
    pointer = "/error"
    for step in ("data", "requiredCapabilities", "extensions", EXTENSION):
        assert isinstance(value, dict)
        pointer += "/" + step.replace("/", "~1")
        if step not in value:
            return pointer, "nothing"
        value = value[step]
        if not isinstance(value, dict):
            return pointer, "an array" if isinstance(value, list) else f"{value!r:.60}"
    return "", ""


def _names_another(exchange: Exchange) -> bool:
    """Whether the error names something else that the call did not declare either."""
    data = (exchange.error or {}).get("data")
    required = data.get("requiredCapabilities") if isinstance(data, dict) else None
    if not isinstance(required, dict):
        return False
    declared = exchange.capabilities.get("extensions")
    declared = declared if isinstance(declared, dict) else {}
    named = required.get("extensions")
    others = [name for name in (named if isinstance(named, dict) else {}) if name != EXTENSION]
    return any(name not in declared for name in others) or any(
        name != "extensions" and name not in exchange.capabilities for name in required
    )


# ---- the older protocol ------------------------------------------------------------------------


@rule(
    "negotiation.not-in-older-protocol",
    MUST,
    sep("backward-compatibility"),
    needs=(LEGACY, TASK),
)
def extension_is_not_in_older_protocol(history: History) -> Iterator[Observation]:
    """Under 2025-11-25 the extension enables nothing: a call gets its plain result.

    A client that wants a task there asks for one with the task parameter; this one did not.
    """
    for opened in history.intended("older-initialize"):
        if (opened.result or {}).get("protocolVersion") != "2025-11-25":
            if unanswered(opened) and opened.seen is None:
                yield unclear(opened, unanswered(opened))
            else:
                yield not_offered("the server does not speak 2025-11-25", opened)
    for probe in probes(history, "older-protocol-call"):
        if isinstance(probe, Observation):
            yield probe
            continue
        control = history.control_of(probe)
        if task_made(probe) is not None:
            yield broken(
                probe,
                "do not create tasks of the extension under 2025-11-25, whatever the client"
                " declares: the extension is not defined there",
                expected="a plain result",
                found=probe.outcome,
                member="/result",
            )
        elif control is None or task_made(control) is None:
            yield unclear(probe, "the same call under this revision made no task either")
        elif probe.result is not None:
            yield holds(probe)
        else:
            yield unclear(probe, unanswered(probe) or probe.outcome)
