"""What an error message should not show: traces, paths and queries of the server's inside.

Only what is unmistakable is found: a word like ``select`` or a JSON pointer is no leak.
"""

from __future__ import annotations

import re
from collections.abc import Collection

# Longer messages are looked at in part.
_LONGEST = 20_000

TRACE, PATH, QUERY = "a stack trace", "a path of its file system", "a database query"

_SOURCE = r"(?:py|pyc|js|mjs|cjs|ts|tsx|jsx|go|rs|rb|java|kt|scala|php|cs|ex|exs|cpp|hpp)"
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (TRACE, re.compile(r"Traceback \(most recent call last\)")),
    (TRACE, re.compile(r'\bFile "[^"\n]{1,300}", line \d+')),
    (TRACE, re.compile(rf"(?:^|\n)\s*at [^\n]{{1,300}}\.{_SOURCE}:\d+")),
    (TRACE, re.compile(r"(?:^|\n)\s*at [\w.$<>]{1,200}\([\w$]{1,100}\.(?:java|kt|scala):\d+\)")),
    (TRACE, re.compile(r"(?:^|\n)\s+at [^\n]{1,300} in [^\n]{1,300}:line \d+")),
    (TRACE, re.compile(r"\bgoroutine \d+ \[")),
    (TRACE, re.compile(r"\bthread '[^'\n]{1,100}' panicked at ")),
    (TRACE, re.compile(rf"(?:^|\n)#\d+ [^\n]{{1,300}}\.{_SOURCE}\(\d+\)")),
    (PATH, re.compile(rf"(?<![\w.:/-])(?:/[\w.@ -]{{1,80}}){{2,12}}\.{_SOURCE}\b")),
    (
        PATH,
        re.compile(
            r"(?<![\w.:/-])/(?:home|root|usr|var|opt|etc|srv|tmp|Users|private|proc)"
            r"/[\w.@-]{1,80}"
        ),
    ),
    (PATH, re.compile(r"(?<![\w])[A-Za-z]:\\(?:[\w .-]{1,80}\\){1,12}[\w.-]{1,80}")),
    (
        QUERY,
        re.compile(
            r"\bSELECT\b[^\n]{1,300}\bFROM\b\s+[\w\"`.\[]|\bINSERT\s+INTO\s+[\w\"`.\[]"
            r"|\bUPDATE\s+[\w\"`.\[\]]{1,80}\s+SET\b|\bDELETE\s+FROM\s+[\w\"`.\[]"
        ),
    ),
    (QUERY, re.compile(r"\b(?:sqlite3?|psycopg2?|asyncpg|pymysql|SQLSTATE|ORA-\d{5})\b[.\[:]")),
)
_ADDRESS = re.compile(r"\b(?!file:)[a-z][a-z0-9+.-]{1,20}://[^\s\"'<>]{1,2000}", re.IGNORECASE)


def leak_in(text: str, sent: str = "", *, but: Collection[str] = ()) -> tuple[str, str] | None:
    """What a message shows of the inside, and the passage; ``None`` where it shows nothing.

    ``sent`` is the request: what a message merely repeats of it, and addresses on the web, are
    no leaks. ``but`` are kinds that may stand there.
    """
    text = _ADDRESS.sub(" ", text[:_LONGEST])
    for kind, pattern in _PATTERNS:
        if kind in but:
            continue
        for found in pattern.finditer(text):
            if found.group().strip() not in sent:
                return kind, " ".join(found.group().split())[:120]
    return None
