"use strict";
// Everything here is a comfort: the report is complete without it.
const rules = [...document.querySelectorAll(".rule")];
const filters = document.querySelector(".filters");
const shown = document.querySelector(".shown");

function filter() {
  const on = new Set([...filters.querySelectorAll("input:checked")].map((box) => box.value));
  for (const rule of rules) {
    rule.hidden = !(on.has(rule.dataset.verdict) && on.has(rule.dataset.level));
  }
  for (const topic of document.querySelectorAll(".topic")) {
    topic.hidden = !topic.querySelector(".rule:not([hidden])");
  }
  const count = rules.filter((rule) => !rule.hidden).length;
  shown.textContent = `${count} of ${rules.length} rules shown`;
}
filters.hidden = false;
filters.addEventListener("change", filter);
filter();

// A link to a rule leads to it also where a filter hides it, and opens it.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.hidden) {
    for (const box of filters.querySelectorAll("input")) box.checked = true;
    filter();
  }
  const details = target.querySelector("details");
  if (target.classList.contains("rule") && details) details.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();

// What decided is in sight without scrolling, also in a long answer.
function bringMarksIntoSight(part) {
  for (const printed of part.querySelectorAll("pre")) {
    const mark = printed.querySelector("mark");
    if (mark) printed.scrollTop = mark.offsetTop - printed.clientHeight / 3;
  }
}
document.addEventListener("toggle", (event) => bringMarksIntoSight(event.target), true);
bringMarksIntoSight(document);

if (navigator.clipboard) {
  for (const lines of document.querySelectorAll("pre.shell")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy the curl lines");
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(lines.textContent);
      button.textContent = "Copied";
    });
    lines.before(button);
  }
}

// On paper nothing can be opened: what belongs to a finding is printed open.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll(".finding details:not([open])")];
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
});
