"""``upgrade``: what has to be done for another revision, as text, Markdown, JSON and HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from conformance.judge.upgrade import (
    CHANGE,
    FREE,
    GO,
    KINDS,
    NEW,
    NOT_OFFERED,
    RIGHT,
    UNSEEN,
    Step,
    Upgrade,
)
from conformance.judge.verdict import FAIL, NOT_APPLICABLE, NOT_EXERCISED, PASS, WARN
from conformance.report.markdown import code, plain
from conformance.report.page import asset, digest, template
from conformance.report.visible import visible
from conformance.version import __version__
from conformance.wire.parsing import dump_json

FORMAT = "mcp-tasks-conformance/upgrade/1"

WORDS_OF = {
    CHANGE: "Asked for today too, in another way or the other way round; or wrong already.",
    GO: "What the server does today and the newer revision has no place for. It may stay for"
    " clients that speak the older one.",
    FREE: "What the newer revision asks for within other rules, or leaves open.",
    NEW: "What the older revision does not ask for.",
    UNSEEN: "What the run could not look at, and why.",
    RIGHT: "What was seen to be as the newer revision wants it.",
    NOT_OFFERED: "What is about something that the server does not offer.",
}
_STYLE_OF = {
    CHANGE: "not-applicable",
    GO: "not-applicable",
    NEW: "not-applicable",
    UNSEEN: "not-exercised",
    RIGHT: "pass",
    FREE: "not-applicable",
    NOT_OFFERED: "not-applicable",
}
_TODAY_WORDS = {
    PASS: "right today",
    FAIL: "wrong today",
    WARN: "warned today",
    NOT_EXERCISED: "not seen",
    NOT_APPLICABLE: "not offered",
}
# In a terminal these are counted, and listed in the files.
_ONLY_COUNTED = (RIGHT, FREE, NOT_OFFERED)
_ONLY_NAMED = (GO, NEW)
_TEXT_LIMIT = 300


@dataclass(frozen=True)
class Told:
    """An upgrade with what is known of its server. ``started`` is UTC, ISO 8601."""

    upgrade: Upgrade
    name: str
    url: str
    started: str

    @property
    def old(self) -> str:
        return self.upgrade.old

    @property
    def new(self) -> str:
        return self.upgrade.new

    @property
    def speaks(self) -> str:
        """The revisions that it speaks today, in words."""
        spoken = " and ".join(self.upgrade.spoken)
        mistaken = self.old not in self.upgrade.spoken
        return f"{spoken} by name, with the tasks of {self.old}" if mistaken else spoken

    @property
    def conclusion(self) -> str:
        counts = {kind: len(self.upgrade.of(kind)) for kind in KINDS}
        broken = sum(promise.kept == "no" for promise in self.upgrade.promises)
        if self.upgrade.ready:
            return (
                f"Nothing that was seen has to change for {self.new}: {counts[RIGHT]} rules are"
                f" already right, {counts[UNSEEN]} were not seen."
            )
        both = f" Of what is asked of servers that speak both, {broken} is not kept." * bool(broken)
        return (
            f"For {self.new}: {counts[RIGHT]} rules are already right, {counts[CHANGE]} must"
            f" change, {counts[GO]} must go, {counts[NEW]} are new; {counts[UNSEEN]} were not"
            f" seen.{both}"
        )


def text(told: Told) -> str:
    """For a terminal: what is right already is counted only."""
    lines = [f"{visible(told.name, 80)} speaks {told.speaks}"]
    for what, names in told.upgrade.difference.words:
        lines += [f"  {what} that come: {', '.join(names.come)}"] if names.come else []
        lines += [f"  {what} that go: {', '.join(names.go)}"] if names.go else []
    for promise in told.upgrade.promises:
        lines.append(f"  {promise.kept:8} {promise.text}")
        if promise.kept != "yes":
            lines.append(f"           {visible(promise.words, _TEXT_LIMIT)}")
    for kind in KINDS:
        steps = told.upgrade.of(kind)
        if steps and kind not in _ONLY_COUNTED:
            lines += ["", f"{kind} ({len(steps)})"]
            lines += _named(steps) if kind in _ONLY_NAMED else map(_line, steps)
    return "\n".join([*lines, "", told.conclusion])


def _line(step: Step) -> str:
    return f"  {step.rule.id} ({step.rule.level}): {visible(step.words, _TEXT_LIMIT)}"


def _named(steps: Sequence[Step]) -> Iterator[str]:
    for topic, of_topic in groupby(steps, lambda step: step.rule.topic):
        names = ", ".join(step.rule.id.partition(".")[2] for step in of_topic)
        yield f"  {topic}: {names}"


def markdown(told: Told) -> str:
    """The same for a job summary or an issue, with sources."""
    return "\n".join(_markdown(told)) + "\n"


def _markdown(told: Told) -> Iterator[str]:
    yield f"## Upgrade from {told.old} to {told.new}: {plain(told.name)}"
    yield ""
    yield plain(told.conclusion)
    yield ""
    yield f"{code(told.url)} speaks {told.speaks} today."
    yield ""
    for what, names in told.upgrade.difference.words:
        if names.come:
            yield f"- {what} that come: {', '.join(map(code, names.come))}"
        if names.go:
            yield f"- {what} that go: {', '.join(map(code, names.go))}"
    if told.upgrade.promises:
        yield ""
        yield f"### Both at once ([SEP-2663]({told.upgrade.promises[0].source}))"
        yield ""
        yield "| it asks | kept | what was seen |"
        yield "| --- | --- | --- |"
        for promise in told.upgrade.promises:
            yield f"| {plain(promise.text)} | {promise.kept} | {plain(promise.words)} |"
    for kind in KINDS:
        steps = told.upgrade.of(kind)
        if steps:
            yield ""
            yield f"### {kind.capitalize()} ({len(steps)})"
            yield ""
            yield WORDS_OF[kind]
            yield ""
            for step in steps:
                linked = f"[{code(step.rule.id)}]({step.rule.source})"
                yield f"- {linked} ({step.rule.level}): {plain(step.words)}"


def json_text(told: Told) -> str:
    """The same for programs."""
    return dump_json(
        {
            "format": FORMAT,
            "suite": __version__,
            "target": {"name": told.name, "url": told.url},
            "started": told.started,
            "from": told.old,
            "to": told.new,
            "spoken": list(told.upgrade.spoken),
            "ready": told.upgrade.ready,
            "words": {
                what: {"come": list(names.come), "go": list(names.go)}
                for what, names in told.upgrade.difference.words
            },
            "both": [
                {
                    "asks": promise.text,
                    "source": promise.source,
                    "kept": promise.kept,
                    "reason": promise.words,
                }
                for promise in told.upgrade.promises
            ],
            "rules": [
                {
                    "id": step.rule.id,
                    "level": step.rule.level,
                    "title": step.rule.title,
                    "source": step.rule.source,
                    "becomes": step.kind,
                    "words": step.words,
                    "today": step.today,
                    "asksToday": step.asks,
                }
                for step in told.upgrade.steps
            ],
        }
    )


def html(told: Told) -> str:
    """One page, without network and without scripts."""
    style = asset("report.css")
    return template("upgrade.html.jinja").render(
        told=told,
        kinds=KINDS,
        words_move=any(names.come or names.go for _, names in told.upgrade.difference.words),
        words_of=WORDS_OF,
        style_of=_STYLE_OF,
        today_words=_TODAY_WORDS,
        change=CHANGE,
        style=Markup(style),  # our own file
        style_hash=digest(style),
    )
