// What the pages share: calls to the server with its token, and what is tried again.
"use strict";

const $ = (id) => document.getElementById(id);

// Kept for this tab, and never in an address: those end up in histories and process lists.
let token = sessionStorage.getItem("adjudge-token") || "";

function newNonce() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function say(message, calm = false) {
  $("notice").textContent = message;
  $("notice").classList.toggle("calm", calm);
  $("notice").hidden = !message;
}

async function send(path, body) {
  const headers = {};
  if (token) headers["Authorization"] = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, {
    method: body ? "POST" : "GET",
    headers,
    body: body ? JSON.stringify(body) : undefined,
  });
  if (answer.ok) return answer;
  const reply = await answer.json().catch(() => ({}));
  const error = new Error(reply.detail || `the server answered ${answer.status}`);
  error.status = answer.status;
  error.final = answer.status >= 400 && answer.status < 500 && answer.status !== 408;
  throw error;
}

async function call(path, body) {
  const answer = await send(path, body);
  return answer.json().catch(() => ({}));
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

function askToken() {
  $("token").value = "";
  $("token").focus();
  return token ? "That is not the server's token." : "";
}

function takeToken(then) {
  $("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    token = $("token").value.trim();
    sessionStorage.setItem("adjudge-token", token);
    then();
  });
}
