"""Servers that are different in many ways at once: which there are, and that none is accused."""

from __future__ import annotations

import pytest

from fixtures.variants import load_variants
from tests.combined import CONTRARY, combined, row_of


@pytest.mark.parametrize("seed", range(1, 40))
def test_the_variants_of_a_server_get_along(seed: int) -> None:
    chosen = combined(seed)
    assert len(chosen.variants) == len(set(chosen.names)) == 8
    assert not any(pair <= set(chosen.names) for pair in CONTRARY)
    for variant in chosen.variants:
        for name, value in variant.settings.items():
            assert getattr(chosen.settings, name) == value
    server = type(chosen.server(chosen.settings))
    for variant in chosen.variants:
        own = [name for name in vars(variant.server) if not name.startswith("__")]
        assert all(getattr(server, name) is getattr(variant.server, name) for name in own)


def test_a_seed_stands_for_the_same_server_each_time() -> None:
    assert combined(5).names == combined(5).names != combined(6).names
    assert combined(5).settings == combined(5).settings


def test_the_contrary_pairs_are_variants() -> None:
    assert frozenset().union(*CONTRARY) <= load_variants().keys()


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1001, 1013))
def test_no_server_is_accused(seed: int) -> None:
    assert row_of(seed).accused == {}
