"""The words of the protocol: methods, headers, keys of ``_meta`` and error codes."""

from __future__ import annotations

EXTENSION = "io.modelcontextprotocol/tasks"

META_PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
META_CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
META_SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
META_RELATED_TASK = "io.modelcontextprotocol/related-task"

DISCOVER = "server/discover"
TOOLS_LIST = "tools/list"
TOOLS_CALL = "tools/call"
TASKS_GET = "tasks/get"
TASKS_UPDATE = "tasks/update"
TASKS_CANCEL = "tasks/cancel"
LISTEN = "subscriptions/listen"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
TASK_NOTIFICATION = "notifications/tasks"

# Of 2025-11-25 alone.
INITIALIZE = "initialize"
TASKS_RESULT = "tasks/result"
TASKS_LIST = "tasks/list"
STATUS_NOTIFICATION = "notifications/tasks/status"

TASK_METHODS = (TASKS_GET, TASKS_UPDATE, TASKS_CANCEL)

# The versions that have tasks and are agreed on once, by ``initialize``, for a whole session.
VERSIONS_OF_SESSIONS = ("2025-11-25",)

HEADER_METHOD = "Mcp-Method"
HEADER_NAME = "Mcp-Name"
HEADER_VERSION = "MCP-Protocol-Version"
HEADER_SESSION = "Mcp-Session-Id"
HEADER_PARAMETER_PREFIX = "Mcp-Param-"

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

CODE_NAMES = {
    PARSE_ERROR: "Parse error",
    INVALID_REQUEST: "Invalid Request",
    METHOD_NOT_FOUND: "Method not found",
    INVALID_PARAMS: "Invalid params",
    INTERNAL_ERROR: "Internal error",
    HEADER_MISMATCH: "Header mismatch",
    MISSING_CAPABILITY: "Missing required client capability",
    UNSUPPORTED_VERSION: "Unsupported protocol version",
}

# An error with one of these says something definite, so it cannot also mean "too early".
CODES_WITH_ANOTHER_MEANING = (
    PARSE_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    INVALID_PARAMS,
    HEADER_MISMATCH,
    MISSING_CAPABILITY,
    UNSUPPORTED_VERSION,
)

# Codes of drafts and of earlier revisions that are still met on the wire.
OBSOLETE_CODES = {
    -32001: "the obsolete draft code of the header mismatch (now -32020), and the not-found code"
    " of other protocols",
    -32003: "the obsolete draft code of the missing capability (now -32021)",
    -32004: "the obsolete draft code of the unsupported version (now -32022)",
    -32002: "the not-found code of 2025-11-25 and earlier",
    -32042: "the URL elicitation code of 2025-11-25",
}


def code_words(code: object) -> str:
    """``-32602 (Invalid params)``, with a word on obsolete codes."""
    if isinstance(code, int) and not isinstance(code, bool):
        if code in CODE_NAMES:
            return f"{code} ({CODE_NAMES[code]})"
        if code in OBSOLETE_CODES:
            return f"{code} ({OBSOLETE_CODES[code]})"
    return str(code)
