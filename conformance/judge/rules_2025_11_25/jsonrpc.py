"""jsonrpc: the form of messages, and what becomes of ill-formed ones."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.judge.answers import is_about_http
from conformance.judge.expectations import expect_error, probes, unanswered
from conformance.judge.observation import Observation, not_offered, unclear
from conformance.judge.older import not_declared
from conformance.judge.requests import of_this_revision
from conformance.judge.rule import IMPLIED, MUST, adopt, rule
from conformance.judge.rules import jsonrpc
from conformance.specification.citations import core_2025, tasks_2025
from conformance.specification.names import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    TASKS_CANCEL,
    code_words,
)
from conformance.wire.history import History

_TRANSPORT = "basic/transports"

adopt(
    jsonrpc.responses_are_json_rpc,
    "jsonrpc.envelope",
    MUST,
    core_2025("basic/index", "responses"),
    into=__package__,
)

adopt(
    jsonrpc.errors_have_code_and_message,
    "jsonrpc.error-shape",
    MUST,
    core_2025("basic/index", "error-responses"),
    into=__package__,
)


@rule(
    "jsonrpc.invalid-params",
    MUST,
    tasks_2025("protocol-errors"),
    after=("negotiation.methods-served",),
)
def task_id_is_checked(history: History) -> Iterator[Observation]:
    """A `taskId` that is missing or is not a text is -32602, in each method."""
    absent = not_declared(history)
    for probe in history.intended("task-id-missing", "task-id-ill-typed"):
        if not of_this_revision(probe, history):
            continue
        handshake = not_declared(history, "cancel") if probe.method == TASKS_CANCEL else absent
        if handshake is not None:
            yield not_offered(f"{probe.method} is not offered", (handshake, probe))
        elif is_about_http(probe):
            yield unclear(probe, unanswered(probe) or probe.outcome)
        else:
            what = (
                "without a taskId" if "taskId" not in probe.params else "whose taskId is not a text"
            )
            yield expect_error(
                probe,
                INVALID_PARAMS,
                f"answer {probe.method} {what} with error {code_words(INVALID_PARAMS)}",
            )


@rule(
    "jsonrpc.unknown-method",
    IMPLIED,
    core_2025("basic/index", "messages"),
    after=("jsonrpc.error-shape",),
)
def unknown_method_is_not_found(history: History) -> Iterator[Observation]:
    """A method that does not exist is answered with -32601, as JSON-RPC has it."""
    for probe in probes(history, "unknown-method"):
        if isinstance(probe, Observation):
            yield probe
        elif of_this_revision(probe, history):
            yield expect_error(
                probe,
                METHOD_NOT_FOUND,
                "answer a request of a method that you do not know with error"
                f" {code_words(METHOD_NOT_FOUND)}",
            )


adopt(
    jsonrpc.notifications_get_no_answer,
    "jsonrpc.notification-unanswered",
    MUST,
    core_2025(_TRANSPORT, "sending-messages-to-the-server"),
    into=__package__,
)

adopt(
    jsonrpc.bad_input_is_answered,
    "jsonrpc.survives-bad-input",
    IMPLIED,
    core_2025("basic/index", "error-responses"),
    into=__package__,
    after=("transport.answered", "negotiation.methods-served", "jsonrpc.unknown-method"),
)

adopt(
    jsonrpc.unknown_members_are_ignored,
    "jsonrpc.unknown-members-ignored",
    IMPLIED,
    core_2025("basic/index", "general-fields"),
    into=__package__,
    # What is gone is refused with any members.
    after=("expiry.not-before-ttl",),
)
