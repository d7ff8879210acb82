"""What gives a server's inside away, and what only looks like it."""

from __future__ import annotations

import pytest

from conformance.judge.leaks import PATH, QUERY, TRACE, leak_in

LEAKS = {
    'Traceback (most recent call last):\n  File "/srv/app.py", line 3, in get': TRACE,
    'KeyError in File "server.py", line 12': TRACE,
    "TypeError: x is undefined\n    at Store.get (/srv/app/store.js:14:9)": TRACE,
    "Error\n    at async file:///srv/app/server.mjs:88:12": TRACE,
    "java.lang.NullPointerException\n\tat com.example.Tasks.find(Tasks.java:41)": TRACE,
    "System.Exception\n   at App.Tasks.Get(String id) in C:\\src\\Tasks.cs:line 7": TRACE,
    "panic: nil map\n\ngoroutine 12 [running]:": TRACE,
    "thread 'main' panicked at src/store.rs:4:5": TRACE,
    "Uncaught\n#0 /var/www/tasks.php(12): get()": TRACE,
    "cannot open /var/lib/tasks/tasks.sqlite": PATH,
    "no such file: /home/alice/tasks.json": PATH,
    "failed in /service/src/tasks/store.py": PATH,
    r"failed in C:\inetpub\tasks\store.json": PATH,
    "near: SELECT * FROM tasks WHERE id = 'x'": QUERY,
    'INSERT INTO "tasks" VALUES (1)': QUERY,
    "UPDATE tasks SET status = 1": QUERY,
    "sqlite3.OperationalError: no such column": QUERY,
    "psycopg2.errors.UndefinedTable": QUERY,
    "SQLSTATE[42S02]: Base table not found": QUERY,
}

HARMLESS = [
    "",
    "Task not found",
    "Failed to retrieve task: Task has expired",
    "Invalid params: /params/taskId must be a string",
    "/params/_meta/io.modelcontextprotocol~1clientCapabilities is missing",
    "Unknown method tasks/result; use tasks/get",
    "See https://example.com/home/docs/tasks.py#errors",
    "see file:///home/you/readme.txt in your client",
    "Select one of the options from the list",
    "update your client, and set the header",
    "expected one of: and/or, read/write, input/output",
    "Content-Type must be application/json or text/event-stream",
    "The date is 2026/07/28, the ratio 3/4",
    "Validation error at body.params.taskId: Input should be a valid string",
    "1 validation error for GetTaskRequest\nparams.taskId\n  Input should be a valid string",
    "retry at 12:30",
    "the value at position 3 (line 1) is wrong",
    "version 1.2.3/build.7",
    "Header mismatch: Mcp-Name is 'a/b/c', the body says 'd'",
]


@pytest.mark.parametrize("text", LEAKS)
def test_leaks(text: str) -> None:
    found = leak_in(text)
    assert found is not None
    kind, passage = found
    assert kind == LEAKS[text]
    assert passage


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless(text: str) -> None:
    assert leak_in(text) is None


@pytest.mark.parametrize("text", ["/etc/passwd", "../../etc/passwd", "SELECT a FROM b"])
def test_what_was_sent_may_come_back(text: str) -> None:
    message = f"no task has the id {text}"
    assert leak_in(message, sent=f'{{"taskId":"{text}"}}') is None


def test_long_messages_are_read_in_part_and_soon() -> None:
    assert leak_in("/a" * 100_000 + " at " * 10_000) is None
    assert leak_in("at " + "x" * 100_000) is None
    assert leak_in("SELECT " * 20_000) is None
