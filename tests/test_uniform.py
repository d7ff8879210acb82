"""Errors that are all alike are one finding."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.drive.draft import UNDECLARED
from conformance.judge.observation import broken
from conformance.judge.rule import catalogue
from conformance.judge.uniform import uniform_errors
from conformance.judge.verdict import Judgement, judge
from conformance.wire.exchange import Exchange
from tests.builders import creation, exchange, history
from tests.report_samples import rule

STATUS_RULES = [
    "transport.header-mismatch-code",
    "transport.method-not-found-status",
    "transport.capability-status",
]
CODE_RULES = ["polling.unknown-id", "jsonrpc.invalid-params", "transport.header-mismatch-code"]
OTHER = "jsonrpc.unknown-members-ignored"


def refused(code: int, status: int, method: str = "tasks/get", **more: Any) -> Exchange:
    error = {"code": code, "message": "no"}
    return exchange(method, {"taskId": "task-1"}, error=error, status=status, **more)


def of_one_status(status: int = 200) -> list[Exchange]:
    return [
        creation(),
        refused(-32020, status),
        refused(-32601, status, "tools/unheard-of", intent="unknown-method"),
        refused(-32021, status, capabilities=UNDECLARED),
    ]


def of_one_code(code: int = -32000) -> list[Exchange]:
    return [
        creation(),
        exchange("tasks/get", {"taskId": "none"}, error=code, intent="unknown-id"),
        exchange("tasks/get", {}, error=code, intent="task-id-missing"),
        exchange("tasks/get", {"taskId": 7}, error=code, intent="task-id-ill-typed"),
        refused(
            code, 400, intent="mcp-name-differs", edit=lambda d: d.with_header("Mcp-Name", "other")
        ),
        exchange("tools/unheard-of", error=-32601, intent="unknown-method"),
    ]


def violated(judgement: Judgement) -> list[str]:
    return [verdict.rule.id for verdict in judgement.verdicts if verdict.violated]


def all_of(exchanges: list[Exchange], *only: str) -> Judgement:
    names = dict.fromkeys((*STATUS_RULES, *CODE_RULES, OTHER))
    rules = {rule_id: catalogue()[rule_id] for rule_id in names}
    chosen = {rule_id: rules[rule_id] for rule_id in only} or rules
    return judge(chosen, history(*exchanges), beside=rules)


class TestOneStatus:
    def test_is_one_finding(self) -> None:
        found = all_of(of_one_status())
        assert violated(found) == STATUS_RULES[:1]
        (cause,) = found.causes
        assert set(STATUS_RULES[1:]) <= set(cause.also)
        assert cause.because.startswith("every error of this server comes with HTTP 200, and 3")
        told = {v.rule.id: v.reason for v in found.verdicts if v.cause == STATUS_RULES[0]}
        assert told[STATUS_RULES[1]].startswith(f"it is told with {STATUS_RULES[0]}, since every")

    def test_is_told_by_a_rule_that_somebody_wants_to_hear_of(self) -> None:
        assert violated(all_of(of_one_status(), STATUS_RULES[2])) == [STATUS_RULES[2]]

    def test_that_some_errors_do_not_have(self) -> None:
        right = exchange("tasks/get", {"taskId": "none"}, error=-32602, status=400)
        assert violated(all_of([*of_one_status(), right])) == STATUS_RULES

    def test_that_two_rules_object_to(self) -> None:
        """Each tells its own."""
        right = exchange("tasks/get", {"taskId": "none"}, error=-32602)
        few = [*of_one_status()[:3], right]
        assert [u.status for u in uniform_errors(history(*few))] == [200]
        assert violated(all_of(few)) == STATUS_RULES[:2]

    @pytest.mark.parametrize("code", [-32700, -32600])
    def test_that_what_a_library_answers_itself_does_not_have(self, code: int) -> None:
        library = exchange("tools/list", error=code, status=400)
        assert violated(all_of([*of_one_status(), library])) == STATUS_RULES[:1]


class TestOneCode:
    @pytest.mark.parametrize("code", [-32000, -32001, 7])
    def test_is_one_finding(self, code: int) -> None:
        found = all_of(of_one_code(code))
        (told,) = violated(found)
        assert told in CODE_RULES
        assert found.causes[0].because.startswith(f"every error of this server has the code {code}")

    def test_where_a_valid_request_is_refused_with_it_too(self) -> None:
        """That is another matter."""
        control = exchange("tools/list")
        odd = exchange("tools/list", error=-32000, intent="unknown-members", control=control)
        found = violated(all_of([*of_one_code(), control, odd]))
        assert len(found) == 2
        assert OTHER in found

    def test_beside_another(self) -> None:
        another = exchange("tools/list", error=-32022)
        assert set(violated(all_of([*of_one_code(), another]))) == set(CODE_RULES)

    def test_what_follows_from_a_rule_that_is_told_with_another(self) -> None:
        """It is not held against the server, either."""
        read = exchange("tasks/get", {"taskId": "task-1"}, error=-32603)
        objection = broken(read, "tell of the task", expected="the task", found="an error")
        followers = [rule(f"polling.after-{n}", objection, after=(n,)) for n in CODE_RULES]
        rules = {name: catalogue()[name] for name in CODE_RULES}
        rules |= {each.id: each for each in followers}
        found = judge(rules, history(*of_one_code()))
        assert len(violated(found)) == 1
        assert {each.id for each in followers} <= set(found.causes[0].also)

    def test_that_few_mistakes_of_a_client_met_with(self) -> None:
        assert uniform_errors(history(*of_one_code()[:4])) == ()
