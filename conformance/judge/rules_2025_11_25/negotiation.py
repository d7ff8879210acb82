"""negotiation: the handshake, what it declares, and which calls may become tasks."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.expectations import (
    expect_error,
    probes,
    problems_told,
    unanswered,
)
from conformance.judge.observation import Observation, broken, holds, not_offered, unclear
from conformance.judge.older import (
    FORBIDDEN,
    REQUIRED,
    TOOLS,
    Asked,
    asked,
    augments_calls,
    calls_as_tasks,
    handshake_of,
    handshakes,
    offered,
    requests_of,
    server_capabilities,
    session_of,
    tool_support,
    wanted_version,
)
from conformance.judge.requests import nested_task
from conformance.judge.rule import IMPLIED, MUST, SHOULD, rule
from conformance.judge.serving import failing
from conformance.specification.citations import core_2025, sep, tasks_2025
from conformance.specification.names import (
    INITIALIZE,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    TASKS_CANCEL,
    TASKS_GET,
    TASKS_LIST,
    TASKS_RESULT,
    TOOLS_LIST,
    code_words,
)
from conformance.specification.revisions import revision_named
from conformance.specification.schemas import problems
from conformance.target.roles import NEWER, SYNC, TASK, TASK_ONLY, WITHOUT_TASKS
from conformance.wire.exchange import Exchange
from conformance.wire.history import History

_LIFECYCLE = "basic/lifecycle"
_UNKNOWN_VERSION = "initialize-unknown-version"


# ---- the handshake -------------------------------------------------------------------------


@rule("negotiation.handshake", MUST, core_2025(_LIFECYCLE, "initialization"))
def handshake_has_its_shape(history: History) -> Iterator[Observation]:
    """`initialize` is answered with protocolVersion, capabilities and serverInfo.

    What stands under `capabilities.tasks` has a rule of its own.
    """
    schemas = revision_named(history.circumstances.spec).schemas
    for exchange in history.of_method(INITIALIZE):
        result = exchange.result
        if result is None:
            if exchange.intent != _UNKNOWN_VERSION:
                yield unclear(exchange, unanswered(exchange) or exchange.outcome)
            continue
        wrong = [
            problem
            for problem in problems(schemas, "InitializeResult", result)
            if not problem.path.startswith("/capabilities/tasks")
        ]
        if not wrong:
            yield holds(exchange)
        yield from problems_told(exchange, wrong, "the answer to initialize is not valid")


@rule(
    "negotiation.version-agreed",
    MUST,
    core_2025(_LIFECYCLE, "version-negotiation"),
    after=("negotiation.handshake",),
)
def supported_version_is_agreed_to(history: History) -> Iterator[Observation]:
    """A version that the server supports is agreed to, each time it is asked for."""
    version = wanted_version(history)
    known = handshakes(history)
    agreed = [h for h in known if (h.result or {}).get("protocolVersion") == version]
    if not agreed:
        return
    others = [h for h in known if isinstance((h.result or {}).get("protocolVersion"), str)]
    for handshake in others:
        told = (handshake.result or {})["protocolVersion"]
        if told == version:
            yield holds(handshake)
        else:
            yield broken(
                (agreed[0], handshake),
                f"answer initialize with {version} where it is asked for: this server supports"
                " it, as another handshake showed",
                expected=version,
                found=f"{told!r:.40}",
                member="/result/protocolVersion",
            )


@rule(
    "negotiation.version-answered",
    MUST,
    core_2025(_LIFECYCLE, "version-negotiation"),
    after=("negotiation.handshake",),
)
def unknown_version_is_not_agreed_to(history: History) -> Iterator[Observation]:
    """An unknown version is answered with one that the server supports, or with an error."""
    for probe in history.intended(_UNKNOWN_VERSION, method=INITIALIZE):
        version = probe.params.get("protocolVersion")
        told = (probe.result or {}).get("protocolVersion")
        if probe.result is None:
            if probe.error is not None and not unanswered(probe):
                yield holds(probe)
            else:
                yield unclear(probe, unanswered(probe) or probe.outcome)
        elif told == version:
            yield broken(
                probe,
                f"answer initialize with a version that you support: {version!r} was agreed to,"
                " and there is no such version",
                expected="a version that the server supports",
                found=f"{told!r:.40}",
                member="/result/protocolVersion",
            )
        elif isinstance(told, str):
            yield holds(probe)


@rule("negotiation.quiet-before-initialized", SHOULD, core_2025(_LIFECYCLE, "initialization"))
def nothing_is_asked_before_initialized(history: History) -> Iterator[Observation]:
    """No request but ping is sent before the client has said that it is initialized."""
    ready = history.derive(_ready)
    early: dict[str, Asked] = {}
    for question in asked(history):
        session = session_of(question.exchange)
        if (
            session in ready
            and question.at < ready[session].started
            and question.message["method"] != "ping"
        ):
            early.setdefault(session, question)
    for question in early.values():
        yield broken(
            question.exchange,
            f"wait for notifications/initialized before sending {question.message['method']}",
            expected="no request but ping",
            found=f"{question.message['method']!r:.60}",
        )
    for exchange in history.intended("listen-before-initialized"):
        if session_of(exchange) in early:
            continue
        if exchange.is_stream:
            yield holds(exchange)
        elif exchange.status == 405:
            yield not_offered("there is no stream on which it could ask anything", exchange)
        else:
            yield unclear(exchange, unanswered(exchange) or exchange.outcome)


def _ready(history: History) -> dict[str, Exchange]:
    """The notification of each named session that the client is initialized."""
    found: dict[str, Exchange] = {}
    for exchange in history.of_method("notifications/initialized"):
        if session_of(exchange):
            found.setdefault(session_of(exchange), exchange)
    return found


# ---- what is declared ----------------------------------------------------------------------


@rule(
    "negotiation.advertised",
    MUST,
    tasks_2025("capabilities"),
    needs=(TASK,),
    after=("negotiation.handshake",),
)
def tasks_are_declared(history: History) -> Iterator[Observation]:
    """A server that makes tasks declares `tasks.requests.tools.call`."""
    for call in calls_as_tasks(history):
        if call.handle is None or "taskId" not in call.handle:
            continue
        declared = augments_calls(history, call)
        if declared is None:
            yield unclear(call, "the handshake is not part of this history")
        elif declared:
            yield holds(call)
        else:
            handshake = handshake_of(history, call) or handshakes(history)[0]
            yield broken(
                (handshake, call),
                "declare tasks.requests.tools.call in the capabilities of initialize: a call was"
                " answered with a task",
                expected="capabilities.tasks.requests.tools.call",
                found="a task without it",
            )


@rule("negotiation.settings-object", MUST, tasks_2025("server-capabilities"))
def capability_has_its_shape(history: History) -> Iterator[Observation]:
    """`capabilities.tasks` is an object, and so are its members."""
    schemas = revision_named(history.circumstances.spec).schemas
    for handshake in handshakes(history):
        capabilities = server_capabilities(handshake)
        if "tasks" not in capabilities:
            yield not_offered("the server declares no tasks", handshake)
            continue
        wrong = problems(schemas, "TasksCapability", capabilities["tasks"])
        if not wrong:
            yield holds(handshake)
        yield from problems_told(
            handshake, wrong, "capabilities.tasks is not valid", within="/result/capabilities/tasks"
        )


_DECLARED_BY = {
    TASKS_GET: TOOLS,
    TASKS_RESULT: TOOLS,
    TASKS_LIST: ("list",),
    TASKS_CANCEL: ("cancel",),
}


@rule("negotiation.methods-served", IMPLIED, tasks_2025("capability-negotiation"))
def declared_methods_are_served(history: History) -> Iterator[Observation]:
    """What is declared is served: tasks/get and tasks/result, tasks/list, tasks/cancel.

    Objected to is a method that is not known, or that answers everything with an internal error
    or without JSON-RPC.
    """
    for method, path in _DECLARED_BY.items():
        handshake = offered(history, *path)
        if handshake is None:
            if handshakes(history):
                yield not_offered(f"the server does not declare {method}", handshakes(history)[0])
            continue
        sent = [e for e in requests_of(history, method) if not unanswered(e)]
        refused = [e for e in sent if e.error_code == METHOD_NOT_FOUND]
        if refused and len(refused) == len(sent):
            yield broken(
                (handshake, refused[0]),
                f"serve {method}, or do not declare tasks.{'.'.join(path)}",
                expected=f"an answer of {method}",
                found=refused[0].outcome,
                member="/error/code",
            )
            continue
        failed = failing(requests_of(history, method), history)
        if failed:
            yield broken(
                (handshake, *failed[:2]),
                f"serve {method}, or do not declare tasks.{'.'.join(path)}: whatever was asked,"
                f" there was {failed[0].outcome}",
                expected=f"an answer of {method}",
                found=failed[0].outcome,
                member="/error/code" if failed[0].error is not None else "",
            )
        elif sent:
            yield holds((handshake, sent[0]))


# ---- tools ---------------------------------------------------------------------------------


@rule("negotiation.task-support-values", MUST, tasks_2025("tool-level-negotiation"))
def task_support_is_one_of_three(history: History) -> Iterator[Observation]:
    """`execution.taskSupport` is `forbidden`, `optional` or `required`, where it is present."""
    schemas = revision_named(history.circumstances.spec).schemas
    for exchange in requests_of(history, TOOLS_LIST):
        tools = (exchange.result or {}).get("tools")
        tools = tools if isinstance(tools, list) else []
        seen = False
        wrong = False
        for place, tool in enumerate(tools):
            if not isinstance(tool, dict) or "execution" not in tool:
                continue
            seen = True
            for problem in problems(schemas, "ToolExecution", tool["execution"]):
                wrong = True
                yield broken(
                    exchange,
                    f"the execution of the tool {tool.get('name')!r:.60} is not valid:"
                    f" {problem.sentence}",
                    expected=problem.expected,
                    found=problem.found,
                    member=f"/result/tools/{place}/execution{problem.path}",
                )
        if seen and not wrong:
            yield holds(exchange)


def _pair(history: History, probe: Exchange) -> tuple[Exchange, ...]:
    control = history.control_of(probe)
    return (probe,) if control is None else (control, probe)


@rule(
    "negotiation.forbidden-tool",
    SHOULD,
    tasks_2025("tool-level-negotiation"),
    needs=(SYNC,),
    after=("negotiation.task-support-values",),
)
def tool_without_tasks_refuses_them(history: History) -> Iterator[Observation]:
    """A tool that does not support tasks, called as one, is answered with -32601."""
    for probe in probes(history, "forbidden-tool-as-task"):
        if isinstance(probe, Observation):
            yield probe
        elif augments_calls(history, probe) is False:
            yield not_offered("the server does not declare tasks, and ignores the parameter", probe)
        elif tool_support(history).get(str(probe.tool)) == FORBIDDEN:
            yield expect_error(
                probe,
                METHOD_NOT_FOUND,
                f"answer a call of {probe.tool} with task by error"
                f" {code_words(METHOD_NOT_FOUND)}: its execution.taskSupport does not allow it",
            )


@rule(
    "negotiation.task-only-tool",
    MUST,
    tasks_2025("tool-level-negotiation"),
    needs=(TASK_ONLY,),
    after=("negotiation.task-support-values",),
)
def tool_that_needs_tasks_refuses_plain_calls(history: History) -> Iterator[Observation]:
    """A tool whose taskSupport is `required`, called plainly, is answered with -32601.

    Elsewhere the text lets a server that requires tasks for all calls say -32600.
    """
    for probe in probes(history, "task-only"):
        if isinstance(probe, Observation):
            yield probe
        elif augments_calls(history, probe) is False:
            yield not_offered("the server does not declare tasks", probe)
        elif tool_support(history).get(str(probe.tool)) != REQUIRED:
            continue
        elif probe.error_code == INVALID_REQUEST:
            yield holds(probe, f"{code_words(METHOD_NOT_FOUND)} is the code for a single tool")
        else:
            yield expect_error(
                probe,
                METHOD_NOT_FOUND,
                f"answer a call of {probe.tool} without task by error"
                f" {code_words(METHOD_NOT_FOUND)}: its execution.taskSupport is required",
            )


@rule(
    "negotiation.task-parameter-ignored",
    MUST,
    tasks_2025("task-support-and-handling"),
    needs=(WITHOUT_TASKS, SYNC),
    after=("negotiation.advertised",),
)
def parameter_is_ignored_where_undeclared(history: History) -> Iterator[Observation]:
    """A server that does not declare tasks for calls ignores the parameter `task`."""
    for probe in probes(history, "task-parameter"):
        if isinstance(probe, Observation):
            yield probe
            continue
        declared = augments_calls(history, probe)
        if declared:
            yield not_offered("the server declares tasks for calls", probe)
        elif unanswered(probe) or declared is None:
            yield unclear(probe, unanswered(probe) or "the handshake is not known")
        elif probe.error is not None:
            yield broken(
                _pair(history, probe),
                "ignore task in a call where you do not declare tasks: the call was refused with"
                " it, and was served without",
                expected="the result of the call",
                found=probe.outcome,
                member="/error/code",
            )
        elif nested_task(probe) is None:
            yield holds(_pair(history, probe))


@rule(
    "negotiation.older-tasks-reachable",
    SHOULD,
    sep("backward-compatibility"),
    needs=(NEWER, TASK),
    after=("creation.durable",),
)
def newer_requests_reach_older_tasks(history: History) -> Iterator[Observation]:
    """Where 2026-07-28 is spoken too, a client of these tasks can read and cancel them there.

    It is a client whose requests of 2026-07-28 declare the older capability alone.
    """
    for probe in probes(history, "older-task-newly"):
        if isinstance(probe, Observation):
            yield probe
        elif unanswered(probe):
            yield unclear(probe, unanswered(probe))
        elif probe.error is not None:
            yield broken(
                _pair(history, probe),
                f"serve {probe.method} of 2026-07-28 for a task of 2025-11-25 where the client"
                " declares the older capability alone",
                expected="an answer about the task",
                found=probe.outcome,
                member="/error/code",
            )
        elif probe.result is not None:
            yield holds(_pair(history, probe))
    for look in history.intended("newer-discover"):
        if look.result is None and not unanswered(look):
            yield not_offered("the server does not speak 2026-07-28", look)
