// The viewer. The server renders what is shown; this sends what was chosen, and puts the answer in
// its place. Everything chosen is in the address, so that each row and each view of it has a link.
"use strict";

const FIRST = JSON.parse(document.body.dataset.first);
// Of this browser, not of this tab: a row that was read in another tab was read.
const reader = localStorage.getItem("adjudge-reader") || newNonce();
localStorage.setItem("adjudge-reader", reader);

let at = {};
let list = { row: null, start: 0, n: 0 };
let opinion = false; // whether this one row is read blind
let asked = 0; // the latest request: older answers are dropped
let dragging = false;

const wide = () => matchMedia("(min-width: 801px)").matches;
const page = () => at.page || "rows";

function arrive() {
  at = location.hash.length > 1 ? Object.fromEntries(new URLSearchParams(location.hash.slice(1))) : { ...FIRST };
}

function link(change) {
  const next = Object.entries({ ...at, ...change }).filter(([, value]) => value !== "");
  return `#${new URLSearchParams(next)}`;
}

function go(change, instead = false) {
  const to = link(change);
  if (to !== location.hash) history[instead ? "replaceState" : "pushState"](null, "", to === "#" ? "#page=rows" : to);
  if ("row" in change || "blind" in change) opinion = false;
  return show();
}

async function show(more = {}) {
  arrive();
  const request = ++asked;
  const query = new URLSearchParams({ ...at, ...more, reader });
  if (opinion) query.set("opinion", "1");
  if (!wide()) query.set("narrow", "1");
  if (page() === "threshold") query.set("width", Math.round(($("plot") || $("threshold")).clientWidth || innerWidth - 60));
  try {
    const answer = await call(`/api/${page()}?${query}`);
    if (request === asked) put(answer);
  } catch (error) {
    $("token-form").hidden = error.status !== 401;
    say(error.status === 401 ? askToken() : error.message);
  }
}

// The server made this HTML: a template that escapes, and Markdown with raw HTML off. The page's
// policy runs no script in it.
function put(answer) {
  say("");
  $("token-form").hidden = true;
  for (const name of ["rows", "threshold", "compare"]) $(name).hidden = page() !== name;
  for (const a of document.querySelectorAll("nav a")) {
    a.toggleAttribute("aria-current", false);
    if (a.dataset.page === page()) a.setAttribute("aria-current", "page");
  }
  options("judge", answer.judges.map((name) => [name, name]), answer.judge);
  $("judge-part").hidden = page() === "compare" || answer.judges.length < 2;
  $("blind").setAttribute("aria-pressed", Boolean(at.blind));
  const focus = focused();
  if (page() === "rows") putRows(answer);
  else {
    const top = $(page()).scrollTop;
    $(page()).innerHTML = answer.html;
    $(page()).scrollTop = top;
    fitPlot();
  }
  document.body.classList.toggle("reading", page() === "rows" && Boolean(at.row || (!wide() && answer.row)));
  document.title = `adjudge · view${page() === "rows" && list.row ? ` · ${list.row}` : ""}`;
  if (focus && document.activeElement === document.body) document.querySelector(focus)?.focus({ preventScroll: true });
  highlight();
}

// The drawing is in pixels: it is asked for again if its place has another width.
function fitPlot() {
  const drawn = Number($("plot")?.firstElementChild.getAttribute("width") || 0);
  if (drawn && Math.abs(drawn - Math.min(1200, Math.max(280, $("plot").clientWidth))) > 2) show();
}

function putRows(answer) {
  const row = list.row;
  const written = row === answer.row ? $("comment")?.value : "";
  list = answer;
  // Other chips say the same to a reader who decides blind.
  if ((at.only || "") !== answer.only) {
    history.replaceState(null, "", link({ only: answer.only }));
    arrive();
  }
  options("order", Object.entries(answer.orders), answer.order);
  if (document.activeElement !== $("find")) $("find").value = at.find || "";
  for (const part of ["chips", "tally", "items", "foot", "bar"]) $(part).innerHTML = answer[part];
  const top = row === answer.row ? $("one").querySelector(".body")?.scrollTop : 0;
  $("one").innerHTML = answer.one || '<p class="empty">Choose a row.</p>';
  // The end of a conversation is what is answered.
  for (const text of document.querySelectorAll("#one .asked .text:has(.turn)")) text.scrollTop = text.scrollHeight;
  $("one").querySelector(".body")?.scrollTo(0, top || 0);
  $("items").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  if ($("rater")) $("rater").value = localStorage.getItem("adjudge-rater") || "";
  if ($("comment")) $("comment").value = written || "";
}

function options(id, pairs, chosen) {
  $(id).replaceChildren(...pairs.map(([value, name]) => new Option(name, value, false, value === chosen)));
}

// What had the focus has it again after its place was drawn again.
function focused() {
  const node = document.activeElement;
  if (!node || node === document.body) return "";
  if (node.id) return `#${CSS.escape(node.id)}`;
  const name = Object.keys(node.dataset)[0];
  if (!name) return "";
  return node.dataset.row ? '#items [aria-current]' : `[data-${name}="${CSS.escape(node.dataset[name])}"]`;
}

// What was searched for is painted over the texts; nothing in them is changed.
function highlight() {
  const words = (at.find || "").trim().toLowerCase();
  const ranges = [];
  CSS.highlights?.delete("found");
  if (!CSS.highlights || !words || page() !== "rows") return;
  for (const node of document.querySelectorAll("#items .title, #items .snippet, #one .text")) {
    const walk = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const text = walk.currentNode.data.toLowerCase();
      for (let i = text.indexOf(words); i >= 0 && ranges.length < 2000; i = text.indexOf(words, i + words.length)) {
        if (i + words.length > walk.currentNode.data.length) break;
        const range = new Range();
        range.setStart(walk.currentNode, i);
        range.setEnd(walk.currentNode, i + words.length);
        ranges.push(range);
      }
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
}

function toggle(key) {
  const only = (at.only || "").split(".").filter(Boolean);
  const next = only.includes(key) ? only.filter((k) => k !== key) : [...only, key];
  return go({ only: next.join("."), row: "", start: "" });
}

async function step(by) {
  if (list.at === null || list.at === undefined) return;
  const next = list.at + by;
  if (next < 0 || next >= list.n) return;
  opinion = false;
  const row = at.row;
  history.replaceState(null, "", link({ row: "", start: "" }));
  await show({ at: next });
  if (list.row !== null) history.replaceState(null, "", link({ row: list.row }));
  arrive();
  document.body.classList.add("reading");
  $("status").textContent = $("items").querySelector("[aria-current] .title")?.textContent || row || "";
}

function turnJudge(by) {
  const names = Array.from($("judge").options, (option) => option.value);
  const next = (names.indexOf($("judge").value) + by + names.length) % names.length;
  if (names.length > 1) go({ judge: names[next], cut: "" });
}

// A click is named once and sent until the server has kept it, as on the labelling page.
async function decide(side) {
  const form = document.querySelector(".answer");
  if (!form) return;
  const rater = $("rater").value.trim();
  if (!rater) {
    say("Labels are kept under a name: write yours first.", true);
    return $("rater").focus();
  }
  localStorage.setItem("adjudge-rater", rater);
  const body = { reader, rater, id: JSON.parse(form.dataset.id), nonce: newNonce(), side, comment: $("comment").value.trim() || null };
  if (form.dataset.order) body.shown_order = form.dataset.order;
  if (!at.row) history.replaceState(null, "", link({ row: body.id }));
  try {
    const kept = await insist("/api/opinion", body);
    opinion = false;
    await show();
    $("status").textContent = `Kept: ${kept.label}. The verdicts are shown now.`;
  } catch (error) {
    say(error.message);
  }
}

async function undo() {
  try {
    const undone = await insist("/api/undo", { reader, id: list.row, nonce: newNonce() });
    await show();
    if ($("comment")) $("comment").value = undone.comment || "";
    $("status").textContent = "Undone.";
  } catch (error) {
    say(error.message);
  }
}

function secondOpinion() {
  if (page() !== "rows" || !list.row || document.querySelector(".answer")) return;
  opinion = true;
  if (!at.row) history.replaceState(null, "", link({ row: list.row }));
  show();
}

function skip() {
  if (at.blind) return step(1);
  opinion = false;
  return show();
}

async function save(kind) {
  const query = new URLSearchParams({ ...at, reader });
  try {
    const answer = await send(`/api/${kind}?${query}`);
    const a = document.createElement("a");
    a.href = URL.createObjectURL(await answer.blob());
    a.download = kind === "file" ? "rows.jsonl" : "rows.html";
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
  } catch (error) {
    say(error.message);
  }
}

const ACTS = {
  opinion: secondOpinion, undo, skip,
  reason: () => $("comment")?.focus(),
  clear: () => go({ ...Object.fromEntries(Object.keys(at).filter((key) => key.startsWith("by.")).map((key) => [key, ""])), only: "", find: "", row: "", start: "" }),
  export: () => $("save").showModal(),
  copy: () => navigator.clipboard?.writeText($("command").textContent.trim()).then(() => { $("status").textContent = "Copied."; }, () => {}),
};

document.addEventListener("click", (event) => {
  const node = event.target.closest("[data-chip],[data-start],[data-step],[data-act],[data-side],[data-go],[data-page]");
  if (!node) return;
  const { chip, start, step: by, act, side, go: change, page: name } = node.dataset;
  if (node.matches("a")) event.preventDefault();
  if (chip) toggle(chip);
  else if (start !== undefined) go({ start, row: "" });
  else if (by) step(Number(by));
  else if (act) ACTS[act]();
  else if (side) decide(side);
  else if (name) go({ page: name });
  else if (change) go(JSON.parse(change));
});
document.addEventListener("submit", (event) => { if (event.target.matches(".answer")) event.preventDefault(); });
document.addEventListener("change", (event) => {
  const { key, by } = event.target.dataset;
  const value = event.target.value;
  if (key === "judge") go({ judge: value, cut: "" });
  else if (key === "before" || key === "after") go({ [key]: value, way: "" });
  else if (key) go({ [key]: value, row: "", start: "" });
  else if (by) go({ [`by.${by}`]: value, row: "", start: "", cut: "" });
});

let typing = 0;
$("find").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => go({ find: $("find").value, row: "", start: "" }, true), 150);
});

// The handle of the threshold: it is where the nearest rows end.
let waiting = null;
function drag(event) {
  const plot = $("plot")?.querySelector("svg");
  if (!plot) return;
  const { left, right, rows } = plot.dataset;
  const share = (event.clientX - plot.getBoundingClientRect().left - left) / (right - left);
  const cut = String(Math.round(Math.min(1, Math.max(0, share)) * rows));
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => go({ cut }, true));
}
$("threshold").addEventListener("pointerdown", (event) => {
  if (!event.target.closest("#plot svg")) return;
  dragging = true;
  drag(event);
  event.preventDefault();
});
addEventListener("pointermove", (event) => { if (dragging) drag(event); });
addEventListener("pointerup", () => { dragging = false; });

function moveHandle(key, knob) {
  const now = Number(knob.getAttribute("aria-valuenow"));
  const far = Math.ceil(knob.getAttribute("aria-valuemax") / 20);
  const steps = {
    ArrowRight: knob.dataset.more, ArrowUp: knob.dataset.more, ArrowLeft: knob.dataset.less, ArrowDown: knob.dataset.less,
    PageUp: now + far, PageDown: Math.max(0, now - far), Home: 0, End: knob.getAttribute("aria-valuemax"),
  };
  if (!(key in steps)) return false;
  go({ cut: String(steps[key]) }, true);
  return true;
}

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.target.matches("select")) return;
  const knob = event.target.closest("#knob");
  if (knob && moveHandle(event.key, knob)) return event.preventDefault();
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const keys = {
    r: () => go({ page: "rows" }), t: () => go({ page: "threshold" }), d: () => go({ page: "compare" }),
    b: () => go({ blind: at.blind ? "" : "1" }), "?": () => $("help").showModal(),
    "[": () => turnJudge(-1), "]": () => turnJudge(1),
  };
  if (page() === "rows") {
    Object.assign(keys, {
      j: () => step(1), k: () => step(-1), "/": () => $("find").focus(), o: secondOpinion, u: undo,
      e: ACTS.export, c: ACTS.reason, Escape: () => (opinion ? skip() : at.row && go({ row: "" })),
    });
    if (document.querySelector(".answer")) keys.s = skip;
    // Every button names its own keys, as on the labelling page.
    for (const button of document.querySelectorAll(".answer [data-keys]")) {
      for (const name of button.dataset.keys) keys[name] = () => decide(button.dataset.side);
    }
  }
  if (!keys[key]) return;
  keys[key]();
  event.preventDefault();
});

$("blind").addEventListener("click", () => go({ blind: at.blind ? "" : "1" }));
$("help-open").addEventListener("click", () => $("help").showModal());
$("save").addEventListener("close", () => { if ($("save").returnValue) save($("save").returnValue); });
takeToken(() => show());
addEventListener("popstate", () => { opinion = false; show(); });
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  show();
});
show();
