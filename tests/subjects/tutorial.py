"""The Node server of a public tutorial on the tasks extension, which follows an older design.

The article is not part of this repository. Its server is cut out of a copy of the article, where
one lies beside the checkout; the tests that need it are skipped elsewhere.
"""

import os
from pathlib import Path

ARTICLE = "000_f40eec88e6ec1e0b.txt"
SEEDS_VARIABLE = "CONFORMANCE_SEEDS"
CHECKOUT = Path(__file__).resolve().parents[2]
FIRST_LINE = "// A minimal, dependency-free MCP server that demonstrates the Tasks extension"
LINE_AFTER = "The client - drives the two scenarios"

STARTER = """\
import { createTasksServer } from "./server.mjs";

const server = createTasksServer();
server.listen(Number(process.argv[2]), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}/`);
});
"""


def extract(directory: Path) -> Path | None:
    """Write the article's server and a starter for it into a directory.

    Gives the starter, to be run as ``node STARTER PORT``; it prints the URL once it listens.
    Gives None where there is no copy of the article. The folder that holds the article is
    ``../shared/seeds`` seen from the checkout, or what CONFORMANCE_SEEDS names.

    Raises:
        ValueError: the article is there, but its server is not found in it.
    """
    seeds = os.environ.get(SEEDS_VARIABLE) or CHECKOUT.parent / "shared" / "seeds"
    article = Path(seeds) / ARTICLE
    if not article.is_file():
        return None
    text = article.read_text(encoding="utf-8")
    start, end = text.find(FIRST_LINE), text.find(LINE_AFTER)
    if not 0 <= start < end:
        raise ValueError(f"{article} does not contain the tutorial's server")
    (directory / "server.mjs").write_text(text[start:end].rstrip() + "\n", encoding="utf-8")
    starter = directory / "start.mjs"
    starter.write_text(STARTER, encoding="utf-8")
    return starter
