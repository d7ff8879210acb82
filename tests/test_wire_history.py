"""Histories on disk: what is written is read again, and what is no history is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.errors import UsageError
from conformance.wire.exchange import Exchange, Fault, Seen, Sent, from_record, to_record
from conformance.wire.history import (
    FORMAT,
    Circumstances,
    History,
    HistoryWriter,
    is_history,
    put_circumstances,
    read,
)
from conformance.wire.parsing import dump_json, parse_json
from conformance.wire.sse import Event
from tests import builders

# ---- exchanges as the wire can produce them ------------------------------------------------

TEXT = st.text(max_size=20)
# Headers are bytes read as Latin-1, whatever they are.
HEADERS = st.lists(
    st.tuples(TEXT, st.binary(max_size=20).map(lambda raw: raw.decode("latin-1"))), max_size=3
).map(tuple)
SECONDS = st.floats(min_value=0, max_value=1e9)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | SECONDS | TEXT | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
BODIES = st.binary(max_size=50) | JSON_VALUES.map(lambda value: dump_json(value).encode())
EVENTS = st.builds(Event, SECONDS, TEXT, TEXT)
EXCHANGES = st.builds(
    Exchange,
    scenario=st.just("scenario"),
    number=st.integers(1, 10**6),
    started=SECONDS,
    ended=SECONDS,
    intent=TEXT,
    sent=st.builds(Sent, st.sampled_from(["POST", "GET"]), TEXT, HEADERS, BODIES),
    seen=st.none()
    | st.builds(
        Seen,
        st.integers(100, 599),
        HEADERS,
        BODIES,
        st.lists(EVENTS, max_size=3).map(tuple),
        st.booleans(),
    ),
    fault=st.none() | st.builds(Fault, TEXT, TEXT),
    caller=TEXT,
    replica=st.integers(0, 5),
    connection=TEXT,
    control=st.none() | st.integers(1, 100),
    notes=st.dictionaries(TEXT, JSON_VALUES, max_size=3),
)


@given(EXCHANGES)
def test_an_exchange_is_read_as_it_was_written(exchange: Exchange) -> None:
    line = dump_json(to_record(exchange))
    assert "\n" not in line
    line.encode("utf-8")
    assert from_record(parse_json(line).value, "scenario") == exchange


@settings(max_examples=25)
@given(st.lists(EXCHANGES, max_size=5))
def test_a_file_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, exchanges: list[Exchange]
) -> None:
    path = tmp_path_factory.mktemp("history") / "scenario.jsonl"
    circumstances = Circumstances(url="http://127.0.0.1/", callers=("first", "second"))
    write(path, *exchanges, circumstances=circumstances)
    history = read([path])
    assert history.circumstances == circumstances
    assert sorted(map(repr, history)) == sorted(map(repr, exchanges))


def write(path: Path, *exchanges: Exchange, circumstances: Circumstances | None = None) -> Path:
    writer = HistoryWriter(path, circumstances or Circumstances())
    for exchange in exchanges:
        writer.append(exchange)
    writer.close()
    return path


def test_all_circumstances_are_read_as_they_were_written(tmp_path: Path) -> None:
    circumstances = Circumstances(
        url="http://127.0.0.1:1/mcp",
        started="2026-07-28T12:00:00Z",
        seed=7,
        effort="quick",
        max_wait=1.5,
        explore="all",
        callers=("first", "second"),
        replicas=2,
        restart=True,
        loopback=False,
        permitted=("a", "b"),
        forbidden=("c",),
        named={"a": ["slow"], "b": []},
    )
    path = write(tmp_path / "a.jsonl", circumstances=circumstances)
    assert read([path]).circumstances == circumstances


def test_each_exchange_is_on_disk_as_soon_as_it_is_appended(tmp_path: Path) -> None:
    writer = HistoryWriter(tmp_path / "a.jsonl", Circumstances())
    writer.append(builders.exchange(scenario="a"))
    assert len(read([tmp_path])) == 1
    writer.append(builders.exchange(scenario="a"))
    assert len(read([tmp_path])) == 2
    writer.close()


# ---- killed while writing ------------------------------------------------------------------


def test_half_a_last_line_is_passed_over_wherever_it_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    exchanges = [builders.exchange(result={"text": "é🎈" * 3}, scenario="a") for _ in range(2)]
    write(path, *exchanges)
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for end in range(last, len(whole) - 1):
        path.write_bytes(whole[:end])
        assert len(read([path])) == 1


def test_a_file_without_a_whole_first_line_is_passed_over_among_others(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", builders.exchange(scenario="a"))
    whole = (tmp_path / "a.jsonl").read_bytes().splitlines(keepends=True)[0]
    for end in (0, 1, 20, 60, len(whole) - 1):
        (tmp_path / "b.jsonl").write_bytes(whole[:end])
        assert len(read([tmp_path])) == 1


def test_nothing_but_empty_files_is_no_history(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    with pytest.raises(UsageError, match="empty, not a history"):
        read([tmp_path])


# ---- several files -------------------------------------------------------------------------


def test_files_and_folders_are_read_together_and_once(tmp_path: Path) -> None:
    one = write(tmp_path / "one" / "a.jsonl", builders.exchange(scenario="a", started=3.0))
    two = write(tmp_path / "two" / "b.jsonl", builders.exchange(scenario="b", started=1.0))
    (tmp_path / "one" / "pytest.ini").write_text("not a history")
    history = read([one, two, one.parent, tmp_path / "two" / ".." / "two"])
    assert [exchange.scenario for exchange in history] == ["b", "a"]


@pytest.mark.parametrize(
    "other",
    [
        Circumstances(url="http://127.0.0.1:2/"),
        Circumstances(started="2026-07-29T00:00:00Z"),
        Circumstances(seed=8),
    ],
)
def test_two_runs_are_not_judged_together(tmp_path: Path, other: Circumstances) -> None:
    write(tmp_path / "a.jsonl")
    write(tmp_path / "b.jsonl", circumstances=other)
    with pytest.raises(UsageError, match="another run"):
        read([tmp_path])


def test_a_name_of_the_file_is_not_needed(tmp_path: Path) -> None:
    path = write(tmp_path / "polling.x.jsonl", builders.exchange(scenario="polling.x"))
    renamed = path.rename(tmp_path / "something else")
    assert [exchange.scenario for exchange in read([renamed])] == ["polling.x"]


# ---- what is no history --------------------------------------------------------------------

HEAD = json.dumps({"format": FORMAT, "scenario": "a", "circumstances": {}})
SENT = {"method": "POST", "url": "", "headers": [], "body": ""}
LINE: dict[str, Any] = {"exchange": 1, "started": 1, "ended": 2, "intent": "x", "sent": SENT}


def line(**changes: object) -> str:
    return json.dumps({**LINE, **changes})


def test_the_least_that_is_an_exchange(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{HEAD}\n\n{line()}\n\n")
    assert len(read([path])) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("\n\n\n", "first line should have"),
        ("hello\n", "first line should have"),
        ("[]\n", "first line should have"),
        ("null\n", "first line should have"),
        ('{"a": 1}\n', "first line should have"),
        ('{"format": "mcp-tasks-conformance/history/2"}\n', "first line should have"),
        ('{"format": "mcp-tasks-conformance/results/1"}\n', "first line should have"),
        (HEAD[:40] + "\n", "first line should have"),
        (HEAD.replace("{}", "[]") + "\n", "circumstances should be an object"),
        (HEAD.replace("{}", '{"max_wait": "long"}') + "\n", "circumstances.max_wait"),
        (HEAD.replace("{}", '{"max_wait": null}') + "\n", "circumstances.max_wait"),
        (HEAD.replace("{}", '{"seed": true}') + "\n", "circumstances.seed"),
        (HEAD.replace("{}", '{"callers": "first"}') + "\n", "circumstances.callers"),
        (HEAD.replace("{}", '{"permitted": [1]}') + "\n", "circumstances.permitted"),
        (HEAD.replace("{}", '{"named": {"a": 1}}') + "\n", "circumstances.named"),
        (HEAD + "\nhello\n", "line 2"),
        (HEAD + "\n[]\n", "line 2"),
        (HEAD + "\n{}\n", "line 2"),
        (HEAD + "\n" + "[" * 100_000 + "\n", "line 2"),
        (f"{HEAD}\n{line()}\n{line(started=None)}\n", "line 3"),
        (f"{HEAD}\n{line(started='soon')}\n", "line 2"),
        (f"{HEAD}\n{line(started='NaN')}\n", "line 2"),
        (f"{HEAD}\n{line(ended=10**400)}\n", "line 2"),
        (f"{HEAD}\n{line(sent=None)}\n", "line 2"),
        (f"{HEAD}\n{line(sent='x')}\n", "line 2"),
        (f"{HEAD}\n{line(sent={**SENT, 'headers': [['a']]})}\n", "line 2"),
        (f"{HEAD}\n{line(sent={**SENT, 'headers': 7})}\n", "line 2"),
        (f"{HEAD}\n{line(sent={**SENT, 'bodyBase64': '!'})}\n", "line 2"),
        (f"{HEAD}\n{line(seen='x')}\n", "line 2"),
        (f"{HEAD}\n{line(seen={})}\n", "line 2"),
        (f"{HEAD}\n{line(fault=[])}\n", "line 2"),
        (f"{HEAD}\n{line(notes=7)}\n", "line 2"),
        (f"{HEAD}\n{line(control='x')}\n", "line 2"),
        (f"{HEAD}\n" + line(sent={**SENT, "body": "\ud800"}) + "\n", "line 2"),
    ],
)
def test_what_is_no_history_is_told_in_one_line(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(content)
    with pytest.raises(UsageError) as raised:
        read([path])
    assert message in str(raised.value)
    assert "a.jsonl" in str(raised.value)
    assert "\n" not in str(raised.value)


def _missing(path: Path) -> None:
    pass


def _folder(path: Path) -> None:
    path.mkdir()


def _binary(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 100)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("make", [_missing, _folder, _binary, _device])
def test_what_is_no_file_of_ours_is_told(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "a.jsonl"
    make(path)
    with pytest.raises(UsageError, match=r"a\.jsonl"):
        read([path])


def test_a_folder_without_histories_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no history"):
        read([tmp_path])


# ---- afterwards ----------------------------------------------------------------------------


def test_circumstances_can_be_put_afterwards(tmp_path: Path) -> None:
    exchanges = [builders.exchange(scenario="a") for _ in range(3)]
    path = write(tmp_path / "a.jsonl", *exchanges)
    put_circumstances(path, Circumstances(permitted=("é",)))
    history = read([path])
    assert list(history) == exchanges
    assert history.circumstances.permitted == ("é",)
    assert [each.name for each in tmp_path.iterdir()] == ["a.jsonl"]


def test_only_histories_are_taken_for_ours(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl")
    assert is_history(path)
    for end in (0, 1, 30):
        path.write_bytes(path.read_bytes()[:end])
        assert is_history(path)
    (tmp_path / "b.jsonl").write_text('{"somebody": "elses"}\n')
    assert not is_history(tmp_path / "b.jsonl")


# ---- views ---------------------------------------------------------------------------------


def test_exchanges_are_in_the_order_they_began() -> None:
    late, early = builders.exchange(started=2.0), builders.exchange(started=1.0)
    assert list(History([late, early])) == [early, late]


def test_views() -> None:
    control = builders.exchange("tasks/get", intent="ordinary")
    probe = builders.exchange("tasks/get", intent="unknown-id", control=control)
    other = builders.exchange("tasks/cancel", intent="unknown-id")
    history = History([control, probe, other])
    assert history.intended("unknown-id") == [probe, other]
    assert history.intended("unknown-id", method="tasks/get") == [probe]
    assert history.intended("unknown-id", "ordinary") == [control, probe, other]
    assert history.of_method("tasks/cancel") == [other]
    assert history.control_of(probe) == control
    assert history.control_of(other) is None


def test_a_view_is_made_once() -> None:
    made: list[int] = []

    def view(history: History) -> int:
        made.append(len(history))
        return len(history)

    history = builders.history(builders.exchange())
    assert history.derive(view) == history.derive(view) == 1
    assert made == [1]
