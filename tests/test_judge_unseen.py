"""Why nothing was observed: what a user is told to pass, or what hindered the run."""

from __future__ import annotations

import pytest

from conformance.judge.rule import catalogue
from conformance.judge.unseen import missing_reason
from conformance.judge.verdict import judge
from conformance.wire.exchange import Exchange
from tests.builders import creation, exchange, history

TOOL_ERROR = {"content": [{"type": "text", "text": "No more today."}], "isError": True}
NOT_REACHED = "the run did not come to it"


def refused(tool: str = "export", **more: object) -> Exchange:
    return creation(tool=tool, **{"result": TOOL_ERROR, **more})  # type: ignore[arg-type]


def reason(*seen: Exchange, rule: str = "jsonrpc.invalid-params", **circumstances: object) -> str:
    return missing_reason(catalogue()[rule], history(*seen, **circumstances))


def test_calls_that_were_refused_later_are_told() -> None:
    told = reason(creation(), refused(), refused(), refused())
    assert told == (
        f"{NOT_REACHED}: 3 calls of tools that had become tasks before were answered with an"
        " error, such as 'No more today.'"
    )
    error = {"code": -32000, "message": "Too many tasks"}
    told = reason(creation(), *(refused(result=None, error=error) for _ in range(4)))
    assert told.startswith(f"{NOT_REACHED}: 4 calls")
    assert told.endswith("such as 'Too many tasks'")


@pytest.mark.parametrize(
    "seen",
    [
        (creation(), refused(), refused()),
        (refused(), refused(), refused(), creation()),
        (creation(tool="another"), refused(), refused(), refused()),
        (creation(), *(refused(intent="undeclared") for _ in range(3))),
        (creation(), *(refused(capabilities={}) for _ in range(3))),
        (creation(), *(refused(result={"content": []}) for _ in range(3))),
    ],
    ids=["twice", "before", "another tool", "on purpose", "undeclared", "no error"],
)
def test_what_is_no_hindrance_is_not_told(seen: tuple[Exchange, ...]) -> None:
    assert reason(*seen, effort="standard") == NOT_REACHED


@pytest.mark.parametrize("words", [{}, {"content": []}, {"content": ["text"]}])
def test_a_refusal_without_words(words: dict[str, object]) -> None:
    made = creation()
    silent = [refused(result={**words, "isError": True}) for _ in range(3)]
    assert reason(made, *silent).endswith("were answered with an error")


def test_a_quick_run_may_do_more() -> None:
    assert reason(creation(), effort="quick") == f"{NOT_REACHED}: pass --effort standard"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("security.foreign-get", "--other-header"),
        ("endurance.replicas", "--replica"),
        ("endurance.restart", "--restart-command"),
        ("input.resumes", "--tool input:"),
    ],
)
def test_what_to_pass_comes_first(rule: str, words: str) -> None:
    seen = (creation(), refused(), refused(), refused())
    assert words in reason(*seen, rule=rule, permitted=("export",))


def test_what_only_users_can_give_is_no_matter_of_what_is_wrong() -> None:
    never_answered = exchange("tools/list", status=200)
    judgement = judge(catalogue(), history(creation(), never_answered))
    by_id = {verdict.rule.id: verdict for verdict in judgement.verdicts}
    assert by_id["transport.answered"].violated
    assert "transport.answered" in by_id["cancellation.acknowledged"].rule.after
    assert by_id["cancellation.acknowledged"].cause == "transport.answered"
    assert by_id["endurance.replicas"].cause is None
    assert "--replica" in by_id["endurance.replicas"].reason
