"""The specimen reports that the repository shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import specimens
from tests.report_samples import sample
from tests.specimens import FOLDER, LARGEST, SPECIMENS, UPGRADES, Specimen, kept, main, write

CHECKOUT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("name", SPECIMENS)
def test_each_is_there_small_and_what_its_results_make(name: str) -> None:
    """Where this fails: ``python -m tests.specimens --render``."""
    made = kept(name)
    assert {path.name for path in (FOLDER / name).iterdir()} == set(made.files)
    for file, text in made.files.items():
        content = (FOLDER / name / file).read_text(encoding="utf-8")
        assert content == text, f"{name}/{file} is not what results.json makes"
        assert len(content.encode()) < LARGEST
        assert str(CHECKOUT) not in content
        assert "token-of-the" not in content


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("reference", "conformant"),
        ("fastmcp", "non-conformant"),
        ("tutorial", "non-conformant"),
        ("six-faults", "non-conformant"),
    ],
)
def test_each_shows_what_it_is_there_for(name: str, verdict: str) -> None:
    results = kept(name).results
    assert results.verdict == verdict
    violated = [rule for rule in results.rules if rule.violated]
    if name == "reference":
        assert violated == []
    if name == "tutorial":
        assert "2025-11-25" in results.causes[0].because
    if name == "six-faults":
        assert len(violated) >= 6
        assert any(rule.life is not None for rule in violated)


@pytest.mark.parametrize("name", UPGRADES)
def test_each_upgrade_is_there_and_names_no_machine(name: str) -> None:
    """Where this fails: ``python -m tests.specimens upgrades``."""
    for suffix in ("html", "md"):
        content = (FOLDER / f"{name}.{suffix}").read_text(encoding="utf-8")
        assert "2026-07-28" in content
        assert len(content.encode()) < LARGEST
        assert str(CHECKOUT) not in content


def test_making_and_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write("one", Specimen(sample()), tmp_path)
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == [
        "report.html", "results.json", "summary.md", "terminal.txt",
    ]  # fmt: skip
    assert kept("one", tmp_path).files == Specimen(kept("one", tmp_path).results).files
    assert kept("one", tmp_path).results.verdict == sample().verdict
    monkeypatch.setattr(specimens, "LARGEST", 10)
    with pytest.raises(AssertionError, match="too large"):
        write("two", Specimen(sample()), tmp_path)
    assert main(["no-such-server"]) == 2
    assert "there are reference, fastmcp, tutorial, six-faults" in capsys.readouterr().out
