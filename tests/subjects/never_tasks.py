"""A conformant server that offers the tasks extension and answers every call at once.

That is allowed: the server alone decides which calls become tasks. One of its two tools deletes
for good, and carries no annotations to say so.

Run it as ``python -m tests.subjects.never_tasks PORT``.
"""

import sys
from typing import Any

from starlette.applications import Starlette

from .modern import Tool, application
from .serving import serve


def dictionary(*, offers_tasks: bool) -> Starlette:
    """Build a server that keeps a small dictionary in memory."""
    words = {"sloop": "a boat with one mast", "yawl": "a boat with two masts"}

    def define(arguments: dict[str, Any]) -> str:
        word = arguments["word"]
        return f"{word}: {words.get(word, 'not in the dictionary')}"

    def delete(arguments: dict[str, Any]) -> str:
        removed = words.pop(arguments["word"], None)
        return "Nothing to delete." if removed is None else f"Deleted {arguments['word']}."

    tools = [
        Tool("define_word", "Define a word.", define, "word", {"readOnlyHint": True}),
        Tool("delete_word", "Delete a word from the dictionary.", delete, "word"),
    ]
    return application("Dictionary", tools, offers_tasks=offers_tasks)


if __name__ == "__main__":
    serve(dictionary(offers_tasks=True), int(sys.argv[1]))
