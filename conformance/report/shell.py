"""Words of a shell: whatever bytes were sent, quoted so that the shell hands them to curl and does
nothing else with them; but for what the server made up, which stands in variables.

They are for a shell that knows ``$'…'``, such as bash or zsh.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping

from conformance.target.target import FIRST, SECOND, WRONG_TOKEN
from conformance.wire.headers import decoded
from conformance.wire.parsing import dump_json

# An id of so many characters does not stand within another text by chance.
TELLING_LENGTH = 12


def header(name: str, expression: str) -> str:
    """A header whose value the shell puts together; ``expression`` is our own text."""
    if name.replace("-", "").isalnum():
        return f'"{name}: {expression}"'
    return f'{quoted(f"{name}: ".encode("latin-1", "replace"))}"{expression}"'


def name_header(name: str, value: str, variables: Mapping[str, str]) -> str:
    """``Mcp-Name`` with the id in its variable, in Base64 where it was sent so."""
    plain = decoded(value) or ""
    if plain in variables:
        text = f"${variables[plain]}"
        argument = f'"{text}"'
    else:
        argument = quoted(plain.encode("utf-8", "surrogatepass"), ids_in_text(variables))
        text = ""
    if value != plain:
        return header(name, f"=?base64?$(printf %s {argument} | base64 | tr -d '\\n')?=")
    return header(name, text) if text else f'"{name}: "{argument}'


def secret_variable(header: str, caller: str) -> str:
    word = "".join(c if c.isascii() and c.isalnum() else "_" for c in header.upper())
    prefixes = {FIRST: "", SECOND: "OTHER_", WRONG_TOKEN: "WRONG_"}
    return prefixes.get(caller, "") + word


def data_of(body: bytes, variables: Mapping[bytes, str]) -> tuple[str, str]:
    """What has to be piped into curl, most often nothing, and the words that give it the body."""
    if b"\x00" in body or body.startswith(b"@"):
        # No argument can hold a NUL, and curl takes what begins with @ for a file's name.
        return f"printf '{''.join(_octal(byte) for byte in body)}' | ", "--data-binary @-"
    return "", f"--data-binary {quoted(body, variables)}"


def ids_in_json(variables: Mapping[str, str]) -> dict[bytes, str]:
    """Patterns of the ids as strings of JSON, not as names of members."""
    whole = {
        b'(?<=")' + re.escape(text[1:-1].encode()) + b'(?="(?!\\s*:))': word
        for task_id, word in variables.items()
        for text in (dump_json(task_id), json.dumps(task_id))
    }
    return {**whole, **ids_in_text(variables)}


def ids_in_text(variables: Mapping[str, str]) -> dict[bytes, str]:
    """Patterns of the ids that are long enough to be told anywhere."""
    return {
        re.escape(task_id.encode("utf-8", "surrogatepass")): word
        for task_id, word in variables.items()
        if len(task_id) >= TELLING_LENGTH
    }


def quoted(data: bytes, variables: Mapping[bytes, str] | None = None) -> str:
    """The bytes as one word of the shell. What matches a pattern of ``variables`` becomes that
    variable."""
    words = list((variables or {}).values())
    pattern = b"|".join(b"(" + each + b")" for each in variables or {})
    parts: list[str] = []
    at = 0
    for match in re.finditer(pattern, data) if words else ():
        parts.append(_literal(data[at : match.start()]))
        parts.append(f'"${words[(match.lastindex or 1) - 1]}"')
        at = match.end()
    if at < len(data) or not parts:
        parts.append(_literal(data[at:]))
    return "".join(parts)


def _literal(data: bytes) -> str:
    # Bytes that are not UTF-8 become lone surrogates here, which are not printable.
    text = data.decode("utf-8", "surrogateescape")
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(map(_in_dollar_quotes, text)) + "'"


def _in_dollar_quotes(character: str) -> str:
    if character in "'\\":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))


def _octal(byte: int) -> str:
    character = chr(byte)
    plain = character.isascii() and character.isprintable() and character not in "'\\%-"
    return character if plain else f"\\{byte:03o}"
