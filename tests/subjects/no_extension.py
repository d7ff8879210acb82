"""A conformant server of revision 2026-07-28 that does not offer the tasks extension.

Run it as ``python -m tests.subjects.no_extension PORT``.
"""

import sys

from .never_tasks import dictionary
from .serving import serve

if __name__ == "__main__":
    serve(dictionary(offers_tasks=False), int(sys.argv[1]))
