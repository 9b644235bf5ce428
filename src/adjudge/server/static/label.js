// The labelling page. A click is named once (nonce) and sent until the server has kept it, so that
// neither a lost answer nor a reload can lose a label or count it twice.
"use strict";

// Which label each key gives: every button names its own keys.
const SIDES = {};

let rater = localStorage.getItem("adjudge-rater") || "";
let item = null;
let nonce = null;
let busy = false;

function show(view) {
  for (const id of ["instructions", "stage", "bar", "done", "name-form", "token-form"]) $(id).hidden = true;
  for (const id of view) $(id).hidden = false;
}

function askName() {
  show(["name-form"]);
  $("name").value = rater;
  $("name").focus();
}

async function advance() {
  const reply = await insist(`/api/next?rater=${encodeURIComponent(rater)}`);
  const { progress } = reply;
  item = reply.item;
  nonce = newNonce();
  $("who").textContent = rater;
  $("who").hidden = false;
  $("count").textContent = `${progress.answered} / ${progress.total}`;
  $("fill").style.width = `${(100 * progress.answered) / Math.max(progress.total, 1)}%`;
  const meter = document.querySelector(".meter");
  meter.setAttribute("aria-valuenow", progress.answered);
  meter.setAttribute("aria-valuemax", progress.total);
  // Read out once per pair; the numbers beside the bar are for the eye.
  $("status").textContent =
    `${progress.answered} of ${progress.total} answered.` + (item ? ` Next ${reply.noun}.` : " That was the last.");
  instruct(reply.instructions);
  if (!item) {
    const kept = `${progress.labels} ${progress.labels === 1 ? "label" : "labels"} kept`;
    $("done-text").textContent =
      `${kept}, ${progress.skipped} skipped. You can close this page.`;
    show(["done"]);
    return;
  }
  // The server made this HTML from Markdown with raw HTML off; the page's policy runs no script in it.
  $("texts").innerHTML = item.texts;
  // The end of a conversation is what is answered.
  if ($("prompt")?.querySelector(".turn")) $("prompt").scrollTop = $("prompt").scrollHeight;
  show(["instructions", "stage", "bar"]);
  window.scrollTo(0, 0);
  if ($("score")) $("score").value = "";
  // Text in a field is never markup; what was undone comes back with its comment.
  $("comment").value = item.comment || "";
  leaveComment();
}

// The field is open while somebody writes in it or something is written in it.
function openComment(open) {
  $("comment-part").hidden = !open;
  $("comment-open").setAttribute("aria-expanded", open);
}

function writeComment() {
  openComment(true);
  $("comment").focus();
}

function leaveComment() {
  measureComment();
  openComment($("comment").value.trim() !== "");
  if ($("score")) $("score").focus();
  else $("comment").blur();
}

// Whether the comment can be kept; the line under the field counts once it is nearly full.
function measureComment() {
  const longest = Number($("comment").dataset.longest);
  const length = Array.from($("comment").value.trim()).length;
  const line = `${length.toLocaleString("en")} of ${longest.toLocaleString("en")} characters`;
  const fits = length <= longest;
  $("comment-length").textContent = fits ? line : `${line}: shorten the comment to save your answer.`;
  $("comment-length").hidden = length <= 0.9 * longest;
  $("comment-length").classList.toggle("over", !fits);
  return fits;
}

// Guidelines are open until somebody closes them, closed in this tab from then on.
function instruct(html) {
  if (!html || $("instructions-text").innerHTML) return;
  $("instructions-text").innerHTML = html;
  $("instructions-text").hidden = false;
  $("instructions").open = sessionStorage.getItem("adjudge-instructions") !== "closed";
}

async function guarded(work) {
  if (busy) return;
  busy = true;
  try {
    await work();
  } catch (error) {
    if (error.status === 401) show(["token-form"]);
    say(error.status === 401 ? askToken() : error.message);
  } finally {
    busy = false;
    $("comment").readOnly = false;
  }
}

function choose(side) {
  if (!item) return;
  if (!measureComment()) return writeComment();
  guarded(async () => {
    $("comment").readOnly = true;
    $(side)?.closest(".card").classList.add("chosen");
    await insist("/api/label", {
      rater, id: item.id, side, shown_order: item.shown_order, nonce,
      comment: $("comment").value.trim() || null,
    });
    await advance();
  });
}

// A button's own word, without its key; a score is its number.
function wordOf(side) {
  const button = document.querySelector(`[data-side="${CSS.escape(side)}"]`);
  const places = Array.from(button?.querySelectorAll(".sideways, .stacked") || []);
  if (places.length) return places.find((place) => getComputedStyle(place).display !== "none").textContent;
  return button ? Array.from(button.childNodes).filter((node) => node.nodeType === Node.TEXT_NODE)
    .map((node) => node.textContent).join("").trim() : side;
}

function undo() {
  guarded(async () => {
    const { undone, side } = await insist("/api/undo", { rater, nonce: newNonce() });
    await advance();
    const comment = item && item.comment ? " with your comment" : "";
    say(undone ? `Undone: your answer “${wordOf(side)}”. It is shown again${comment}.`
      : "There is nothing to undo.", true);
  });
}

document.addEventListener("keydown", (event) => {
  if (event.isComposing || $("bar").hidden && $("done").hidden) return;
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target === $("comment") && event.key === "Escape") return leaveComment();
  // A score is typed in digits: in its field, letters are still keys.
  if (event.target.matches("textarea, input:not([type=number])")) return;
  const key = event.key.toLowerCase();
  if (key === "u") undo();
  else if (key === "c" && !$("bar").hidden) writeComment();
  else if (key in SIDES) choose(SIDES[key]);
  else return;
  event.preventDefault();
});

document.addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll("[data-side]")) {
    button.addEventListener("click", () => choose(button.dataset.side));
    for (const key of button.dataset.keys || "") SIDES[key] = button.dataset.side;
  }
  if ($("score-form")) {
    $("score-form").addEventListener("submit", (event) => {
      event.preventDefault();
      choose(String($("score").valueAsNumber));
    });
  }
  $("comment-open").addEventListener("click", () => {
    if ($("comment-part").hidden || $("comment").value) writeComment();
    else leaveComment();
  });
  $("comment").addEventListener("input", measureComment);
  $("instructions").addEventListener("toggle", () => {
    sessionStorage.setItem("adjudge-instructions", $("instructions").open ? "open" : "closed");
  });
  for (const button of document.querySelectorAll(".undo")) button.addEventListener("click", undo);
  $("who").addEventListener("click", askName);
  $("name-form").addEventListener("submit", (event) => {
    event.preventDefault();
    rater = $("name").value.trim();
    if (!rater) return;
    localStorage.setItem("adjudge-rater", rater);
    guarded(advance);
  });
  takeToken(() => guarded(advance));
  if (rater) guarded(advance);
  else askName();
});
