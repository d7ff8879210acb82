"""What the estimate says of ids of many shapes, made as servers make them."""

from __future__ import annotations

import base64
import hashlib
import math
import random
import secrets
import string
import uuid
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.judge.entropy import (
    CLOCK,
    COUNTER,
    FEWEST,
    MOST,
    SHARED,
    SMALL,
    IdSample,
    estimate,
)

NOW = 1_785_240_000.0
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
BASE62 = string.digits + string.ascii_letters
NANOID = string.ascii_letters + string.digits + "-_"

Make = Callable[[int, float], str]


def samples(make: Make, count: int = 20, step: float = 0.037, **more: str) -> list[IdSample]:
    """``count`` ids; ``make`` gets the number of each and its time."""
    times = [NOW + number * step for number in range(count)]
    return [IdSample(make(n, at), at, **more) for n, at in enumerate(times)]


def in_base(value: int, alphabet: str, width: int = 0) -> str:
    text = ""
    while value or not text:
        value, digit = divmod(value, len(alphabet))
        text = alphabet[digit] + text
    return text.rjust(width, alphabet[0])


def uuid7(at: float, random_bits: int | None = None) -> str:
    rest = secrets.randbits(74) if random_bits is None else random_bits
    value = int(at * 1000) << 80 | 7 << 76 | (rest >> 62) << 64 | 2 << 62 | rest & (1 << 62) - 1
    return str(uuid.UUID(int=value))


def uuid1(at: float, node: int = 0x0242AC120002, clock: int = 0x2F3) -> str:
    ticks = int((at + 12_219_292_800) * 10**7)
    fields = (ticks & 0xFFFFFFFF, ticks >> 32 & 0xFFFF, ticks >> 48 & 0xFFF)
    return str(uuid.UUID(fields=(*fields, clock >> 8, clock & 0xFF, node), version=1))


def ulid(at: float, rest: int | None = None) -> str:
    rest = secrets.randbits(80) if rest is None else rest
    return in_base(int(at * 1000), CROCKFORD, 10) + in_base(rest, CROCKFORD, 16)


def token(alphabet: str, length: int) -> str:
    return "".join(secrets.choice(alphabet) for _ in range(length))


SAFE: dict[str, Make] = {
    "uuid4": lambda n, at: str(uuid.uuid4()),
    "uuid4 without dashes": lambda n, at: uuid.uuid4().hex,
    "uuid4 in capitals": lambda n, at: str(uuid.uuid4()).upper(),
    "uuid4 in braces": lambda n, at: "{" + str(uuid.uuid4()) + "}",
    "uuid4 as urn": lambda n, at: uuid.uuid4().urn,
    "uuid4 with a prefix": lambda n, at: f"task_{uuid.uuid4()}",
    "uuid4 with a suffix": lambda n, at: f"{uuid.uuid4()}:leg",
    "uuid4 with a counting suffix": lambda n, at: f"{uuid.uuid4()}:leg-{n}",
    "uuid4 after a counter": lambda n, at: f"{n}-{uuid.uuid4()}",
    "uuid4 after a clock": lambda n, at: f"{int(at * 1000)}-{uuid.uuid4()}",
    "uuid7": lambda n, at: uuid7(at),
    "uuid7 with a prefix": lambda n, at: f"job-{uuid7(at)}",
    "ulid": lambda n, at: ulid(at),
    "ulid in small letters": lambda n, at: f"task:{ulid(at).lower()}",
    "ksuid": lambda n, at: in_base(int(at) << 128 | secrets.randbits(128), BASE62, 27),
    "uuid6 with a random node": lambda n, at: uuid1(
        at, secrets.randbits(48), secrets.randbits(14)
    ).replace("-1", "-6", 1),
    "nanoid": lambda n, at: token(NANOID, 21),
    "token_urlsafe(32)": lambda n, at: secrets.token_urlsafe(32),
    "token_urlsafe(24)": lambda n, at: secrets.token_urlsafe(24),
    "token_urlsafe(8)": lambda n, at: secrets.token_urlsafe(8),
    "base64 of 8 bytes": lambda n, at: base64.b64encode(secrets.token_bytes(8)).decode(),
    "base64 of 16 bytes": lambda n, at: base64.b64encode(secrets.token_bytes(16)).decode(),
    "hex of 8 bytes": lambda n, at: secrets.token_hex(8),
    "hex of 16 bytes": lambda n, at: secrets.token_hex(16),
    "base32 of 10 bytes": lambda n, at: base64.b32encode(secrets.token_bytes(10)).decode(),
    "13 of base36": lambda n, at: token(string.digits + string.ascii_lowercase, 13),
    "11 of base62": lambda n, at: token(BASE62, 11),
    "64 bits as a decimal": lambda n, at: str(secrets.randbits(64)),
    "64 bits as a padded decimal": lambda n, at: f"{secrets.randbits(64):020d}",
    "64 bits as a hex number": lambda n, at: f"{secrets.randbits(64):x}",
    "64 bits in groups": lambda n, at: "-".join(secrets.token_hex(2) for _ in range(4)),
    "64 bits in binary": lambda n, at: f"{secrets.randbits(64):064b}",
    "letters only": lambda n, at: token(string.ascii_lowercase, 16),
    "a clock and 64 bits": lambda n, at: f"{int(at * 1000):x}{secrets.token_hex(8)}",
    "a counter and 64 bits": lambda n, at: f"{n:08x}{secrets.token_hex(8)}",
    "a hash of a counter": lambda n, at: hashlib.sha256(str(n).encode()).hexdigest(),
    "a signed token": lambda n, at: (
        "eyJhbGciOiJIUzI1NiJ9."
        + base64.urlsafe_b64encode(f'{{"task":{n}}}'.encode()).decode().rstrip("=")
        + "."
        + secrets.token_urlsafe(32)
    ),
    "a very long token": lambda n, at: secrets.token_urlsafe(5000),
    "letters beyond ASCII": lambda n, at: token("αβγδεζηθικλμνξοπρστυφχψω", 16),
    "a name with a space": lambda n, at: f"task {uuid.uuid4()}",
}

GUESSABLE: dict[str, tuple[Make, str]] = {
    "a counter": (lambda n, at: str(n + 1), COUNTER),
    "a counter over a power of ten": (lambda n, at: f"task-{n + 95}", COUNTER),
    "a padded counter": (lambda n, at: f"task-{n:08d}", COUNTER),
    "a padded counter of 26 digits": (lambda n, at: f"{n:026d}", COUNTER),
    "a counter in hex": (lambda n, at: f"{0x7FFFFFF0 + n:x}", COUNTER),
    "a counter in base36": (
        lambda n, at: in_base(46_000 + 7 * n, string.digits + string.ascii_lowercase),
        COUNTER,
    ),
    "a counter in base64": (lambda n, at: base64.b64encode(f"task-{n}".encode()).decode(), ""),
    "a counter between words": (lambda n, at: f"job-{n}-of-worker", COUNTER),
    "a counter with a checksum": (lambda n, at: f"{n}-{n * 7 % 97:02d}", SMALL),
    "a counter of 128 bits": (lambda n, at: f"{(0xC0FFEE << 100) + n:032x}"[-8:], COUNTER),
    "a counter written as uuid4": (
        lambda n, at: f"00000000-0000-4000-8000-{n:012d}",
        COUNTER,
    ),
    "seconds": (lambda n, at: f"task-{int(at) + n}", CLOCK),
    "milliseconds": (lambda n, at: f"task-{int(at * 1000)}", CLOCK),
    "microseconds": (lambda n, at: str(int(at * 10**6)), CLOCK),
    "nanoseconds": (lambda n, at: str(int(at * 10**6) * 1000 + n * 137 % 1000), CLOCK),
    "milliseconds in hex": (lambda n, at: f"{int(at * 1000):x}", CLOCK),
    "milliseconds in base36": (
        lambda n, at: in_base(int(at * 1000), string.digits + string.ascii_lowercase),
        CLOCK,
    ),
    "milliseconds and a small random number": (
        lambda n, at: f"{int(at * 1000)}-{secrets.randbelow(1000):03d}",
        CLOCK,
    ),
    "milliseconds and a counter": (lambda n, at: f"{int(at * 1000)}-{n}", CLOCK),
    "uuid1": (lambda n, at: uuid1(at), CLOCK),
    "uuid6 with a fixed node": (
        lambda n, at: _uuid6(at),
        CLOCK,
    ),
    "an object id": (
        lambda n, at: f"{int(at):08x}" + "d4e5f60718" + f"{0xA1B2C0 + n:06x}",
        CLOCK,
    ),
    "an object id with a prefix": (
        lambda n, at: "task_" + f"{int(at):08x}" + "9a3f5c7e1b" + f"{0x0B2C00 + n:06x}",
        CLOCK,
    ),
    "a snowflake": (lambda n, at: str(int(at * 1000 - 1_288_834_974_657) << 22 | 5 << 12), ""),
    "four digits": (lambda n, at: f"{secrets.randbelow(10_000):04d}", ""),
    "eight hex digits": (lambda n, at: secrets.token_hex(4), ""),
    "the first part of a uuid4": (lambda n, at: f"task-{str(uuid.uuid4())[:8]}", ""),
    "six letters": (lambda n, at: token(string.ascii_lowercase, 6), ""),
    "words": (
        lambda n, at: f"{secrets.choice(['red', 'tan', 'sky'])}-{secrets.randbelow(100):02d}",
        "",
    ),
}


def _uuid6(at: float) -> str:
    ticks = int((at + 12_219_292_800) * 10**7)
    high, low = f"{ticks:015x}"[:12], f"{ticks:015x}"[12:]
    return str(uuid.UUID(f"{high}6{low}92f30242ac120002"))


@pytest.mark.parametrize("shape", SAFE)
@pytest.mark.parametrize("count", [FEWEST, 7, 40])
def test_enough_randomness_is_never_accused(shape: str, count: int) -> None:
    found = estimate(samples(SAFE[shape], count))
    assert found is not None
    assert found.guessable is False, found.sentence
    assert found.bits >= 50


@pytest.mark.parametrize("shape", SAFE)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_few_ids_of_a_good_shape_prove_nothing(shape: str, count: int) -> None:
    found = estimate(samples(SAFE[shape], count))
    assert found is not None
    assert found.guessable is None


@pytest.mark.parametrize("shape", GUESSABLE)
@pytest.mark.parametrize("count", [8, 40])
def test_what_can_be_guessed_is_told(shape: str, count: int) -> None:
    make, pattern = GUESSABLE[shape]
    found = estimate(samples(make, count))
    assert found is not None
    assert found.guessable is True, found.sentence
    if pattern:
        assert found.pattern == pattern, found.sentence


@pytest.mark.parametrize("make", [uuid7, ulid])
def test_ordered_formats_within_one_millisecond(make: Callable[[float, int], str]) -> None:
    """Some makers count the random part up within a millisecond, as both formats allow."""
    first = secrets.randbits(60) << 12
    found = estimate([IdSample(make(NOW, first + n), NOW) for n in range(12)])
    assert found is not None
    assert found.guessable is False


@pytest.mark.parametrize(
    "make",
    [
        lambda: str(uuid.uuid4()),
        lambda: uuid7(NOW),
        lambda: ulid(NOW),
        lambda: secrets.token_hex(8),
        lambda: secrets.token_urlsafe(8),
    ],
)
def test_many_runs_of_few_ids_accuse_nobody(make: Callable[[], str]) -> None:
    for _ in range(500):
        found = estimate([IdSample(make(), NOW) for _ in range(FEWEST)])
        assert found is not None
        assert found.guessable is False, found.sentence


def test_the_tool_in_the_id_counts_nothing() -> None:
    tools = ["export_report", "shout", "train_model", "dump_logs"]
    ids = [IdSample(f"call-tool-{tools[n % 4]}-{n}", NOW, tool=tools[n % 4]) for n in range(12)]
    found = estimate(ids)
    assert found is not None
    assert found.guessable is True
    assert found.pattern == COUNTER


def test_the_tool_beside_a_uuid_does_no_harm() -> None:
    tools = ["export_report", "shout", "train_model"]
    ids = [
        IdSample(f"call-tool-{tools[n % 3]}-{uuid.uuid4()}", NOW, tool=tools[n % 3])
        for n in range(9)
    ]
    found = estimate(ids)
    assert found is not None
    assert found.guessable is False


def test_one_tool_of_several_may_be_the_poor_one() -> None:
    good = [IdSample(str(uuid.uuid4()), NOW, tool="export") for _ in range(10)]
    poor = [IdSample(f"shout-{n}", NOW, tool="shout") for n in range(10)]
    for ids in (good + poor, poor + good):
        found = estimate(ids)
        assert found is not None
        assert found.guessable is True
        assert found.count == 10


def test_a_counter_after_a_shared_uuid_cannot_be_told_from_one_caller() -> None:
    """The shared part may be a secret of this caller, or the same for everybody."""
    shared = uuid.uuid4()
    mine = [IdSample(f"{shared}-{n}", NOW) for n in range(8)]
    found = estimate(mine)
    assert found is not None
    assert found.guessable is None
    assert found.pattern == SHARED
    theirs = [IdSample(f"{shared}-{n}", NOW, caller="second") for n in range(8, 12)]
    both = estimate(mine + theirs)
    assert both is not None
    assert both.guessable is True
    assert both.pattern == COUNTER


def test_a_counter_after_a_secret_of_each_caller_is_not_accused() -> None:
    secrets_of = {"first": uuid.uuid4(), "second": uuid.uuid4()}
    ids = [
        IdSample(f"{secret}-{n}", NOW, caller=caller)
        for caller, secret in secrets_of.items()
        for n in range(6)
    ]
    found = estimate(ids)
    assert found is not None
    assert found.guessable is not True


def test_ids_derived_from_one_another() -> None:
    parents = [uuid.uuid4() for _ in range(5)]
    ids = [IdSample(f"{parent}:leg{n}", NOW) for parent in parents for n in range(3)]
    found = estimate(ids)
    assert found is not None
    assert found.guessable is False


def test_a_single_short_id_is_short_whatever_it_is() -> None:
    found = estimate([IdSample("k7")])
    assert found is not None
    assert found.guessable is True


def test_no_ids() -> None:
    assert estimate([]) is None


def test_ids_are_counted_once_and_not_all() -> None:
    found = estimate([IdSample("task-000001")] * 50)
    assert found is not None
    assert found.count == 1
    found = estimate([IdSample(str(uuid.uuid4())) for _ in range(MOST + 50)])
    assert found is not None
    assert found.count == MOST


def test_hostile_ids_do_no_harm() -> None:
    for ids in (
        ["", "a", "b", "c", "d"],
        ["\udcff" * 9, "٣٣٣٣٣", "²³", "\x00", "9" * 5000, "1" * 4999],
        ["9" * 5000 + str(n) for n in range(9)],
        [f"{n}" * 3000 for n in range(1, 9)],
    ):
        assert estimate([IdSample(task_id, NOW) for task_id in ids]) is not None


def test_the_sentence_says_what_was_seen() -> None:
    found = estimate(samples(lambda n, at: f"task-{n:04d}", 12))
    assert found is not None
    assert found.sentence.startswith("12 ids of about 9 characters differ in 2 of them")
    assert "counts up" in found.sentence
    assert "upper bound" in found.sentence


def test_a_pseudorandom_generator_is_not_seen_through() -> None:
    """What the estimate cannot tell, it does not claim to."""
    generator = random.Random(1)
    found = estimate(samples(lambda n, at: f"{generator.getrandbits(64):016x}"))
    assert found is not None
    assert found.guessable is False


@settings(max_examples=300)
@given(
    seed=st.integers(min_value=0, max_value=2**64),
    alphabet=st.sampled_from(
        ["01", string.digits, "0123456789abcdef", CROCKFORD, BASE62, NANOID, string.printable[:94]]
    ),
    count=st.integers(min_value=FEWEST, max_value=60),
    prefix=st.text(max_size=30),
    suffix=st.text(max_size=30),
    more_bits=st.integers(min_value=0, max_value=200),
)
def test_64_random_bits_in_any_alphabet_are_enough(
    seed: int, alphabet: str, count: int, prefix: str, suffix: str, more_bits: int
) -> None:
    generator = random.Random(seed)
    length = math.ceil((64 + more_bits) / math.log2(len(alphabet)))
    ids = [
        IdSample(prefix + "".join(generator.choices(alphabet, k=length)) + suffix, NOW)
        for _ in range(count)
    ]
    found = estimate(ids)
    assert found is not None
    assert found.guessable is False, found.sentence


@settings(max_examples=300)
@given(st.lists(st.text(max_size=40), max_size=30), st.text(max_size=10))
def test_any_texts_can_be_looked_at(ids: list[str], tool: str) -> None:
    found = estimate([IdSample(task_id, NOW, tool) for task_id in ids])
    assert (found is None) == (not ids)
    if found is not None:
        assert found.bits >= 0
        assert found.count == len(set(ids))
        assert found.sentence
