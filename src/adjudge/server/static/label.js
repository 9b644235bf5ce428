// The labelling page. A click is named once (nonce) and sent until the server has kept it, so that
// neither a lost answer nor a reload can lose a label or count it twice.
"use strict";

const $ = (id) => document.getElementById(id);
// Which label each key gives: every button names its own keys.
const SIDES = {};

// Kept for this tab, and never in an address: those end up in histories and process lists.
let token = sessionStorage.getItem("adjudge-token") || "";
let rater = localStorage.getItem("adjudge-rater") || "";
let item = null;
let nonce = null;
let busy = false;

function newNonce() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function say(message, calm = false) {
  $("notice").textContent = message;
  $("notice").classList.toggle("calm", calm);
  $("notice").hidden = !message;
}

async function call(path, body) {
  const headers = {};
  if (token) headers["Authorization"] = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, {
    method: body ? "POST" : "GET",
    headers,
    body: body ? JSON.stringify(body) : undefined,
  });
  const reply = await answer.json().catch(() => ({}));
  if (!answer.ok) {
    const error = new Error(reply.detail || `the server answered ${answer.status}`);
    error.status = answer.status;
    error.final = answer.status >= 400 && answer.status < 500 && answer.status !== 408;
    throw error;
  }
  return reply;
}

// Keeps trying while the server is away; a refusal is shown and not repeated.
async function insist(path, body) {
  for (let wait = 500; ; wait = Math.min(wait * 2, 8000)) {
    try {
      const reply = await call(path, body);
      say("");
      return reply;
    } catch (error) {
      if (error.final) throw error;
      say("Not saved yet: the server does not answer. Trying again…");
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}

function show(view) {
  for (const id of ["instructions", "stage", "bar", "done", "name-form", "token-form"]) $(id).hidden = true;
  for (const id of view) $(id).hidden = false;
}

function askName() {
  show(["name-form"]);
  $("name").value = rater;
  $("name").focus();
}

function askToken() {
  show(["token-form"]);
  $("token").value = "";
  $("token").focus();
  return token ? "That is not the server's token." : "";
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
  for (const part of ["prompt", "left", "right", "response", "reference", "context"]) {
    $(part).innerHTML = item[part] || "";
    $(part).scrollTop = 0;
  }
  for (const part of ["reference", "context"]) $(`${part}-part`).hidden = !item[part];
  for (const side of document.querySelectorAll(".side")) side.classList.remove("chosen");
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
    const chosen = { left: "left", right: "right" }[side];
    if (chosen) $(chosen).closest(".side").classList.add("chosen");
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
  $("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    token = $("token").value.trim();
    sessionStorage.setItem("adjudge-token", token);
    guarded(advance);
  });
  if (rater) guarded(advance);
  else askName();
});
