// Searches, copies samples, and sends the requests of the forms. An API key stays only in the memory of the page.
"use strict";

const search = document.getElementById("search");
const found = document.getElementById("found");
const results = document.getElementById("results");
const nav = document.querySelector("#contents nav");
let sections; // of all pages, after the first search

async function load() {
  sections ??= fetch("/docs/search.json").then(async (response) => {
    const entries = await response.json();
    return entries.map((entry) => ({
      ...entry, name: entry.title.toLowerCase(), all: `${entry.title} ${entry.page} ${entry.text}`.toLowerCase(),
    }));
  });
  return sections;
}

search.addEventListener("focus", () => load().catch(() => (sections = undefined)));

search.addEventListener("input", async () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let matches = [];
  if (words.length > 0) {
    try {
      matches = (await load()).filter(({ all }) => words.every((word) => all.includes(word)));
    } catch (error) {
      sections = undefined;
      found.textContent = `The search failed: ${error.message}`;
      return;
    }
    // Those with a word in their title come first.
    const weight = ({ name }) => words.filter((word) => name.includes(word)).length;
    matches.sort((a, b) => weight(b) - weight(a));
  }
  if (words.join() !== search.value.toLowerCase().split(/\s+/).filter(Boolean).join()) return; // typed meanwhile
  nav.hidden = words.length > 0;
  results.hidden = words.length === 0;
  results.replaceChildren(...matches.slice(0, 50).map(({ title, page, url }) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    const place = document.createElement("span");
    link.href = url;
    link.textContent = title;
    place.textContent = page === title ? "" : page;
    link.append(place);
    item.append(link);
    return item;
  }));
  found.textContent = words.length === 0 ? "" : matches.length === 1 ? "1 result" : `${matches.length} results`;
});

// Enter opens the first result.
search.form.addEventListener("submit", (event) => {
  event.preventDefault();
  results.querySelector("a")?.click();
});

addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, dialog")) return;
  event.preventDefault();
  const contents = document.getElementById("contents");
  if (!search.checkVisibility()) contents.showPopover();
  search.focus();
  search.select();
});

// On a phone the contents are a popover.
document.getElementById("contents").addEventListener("click", (event) => {
  const contents = document.getElementById("contents");
  if (event.target.closest("a") && contents.matches(":popover-open")) contents.hidePopover();
});

// Links of earlier releases lead to operations of one page, which is now the list of them.
if (location.pathname === "/docs" && location.hash !== "") {
  const moved = document.querySelector(`#main .index li[id="${CSS.escape(location.hash.slice(1))}"] a`);
  if (moved) location.replace(moved.href);
}

for (const block of document.querySelectorAll("main pre:not(.answer, .try pre)")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(block.innerText);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not copied";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  const frame = document.createElement("div");
  frame.className = "code";
  block.replaceWith(frame);
  frame.append(block, button);
}

// All samples of a page show the same language.
for (const sample of document.querySelectorAll(".samples details")) {
  sample.addEventListener("toggle", () => {
    if (!sample.open) return;
    for (const other of document.querySelectorAll(`.samples details[data-language="${sample.dataset.language}"]`)) {
      other.open = true;
    }
  });
}

// All forms use the same key.
addEventListener("input", (event) => {
  if (!event.target.matches(".key")) return;
  for (const other of document.querySelectorAll(".key")) other.value = event.target.value;
});

addEventListener("submit", async (event) => {
  const form = event.target.closest("[data-path]");
  if (!form) return;
  event.preventDefault();
  const status = form.querySelector("[role=status]");
  const answer = form.querySelector(".answer");
  const [sent, headers] = [form.querySelector(".sent"), form.querySelector(".headers")];
  const button = form.querySelector("button");
  answer.hidden = sent.hidden = headers.hidden = true;
  if (form.dataset.confirm && !(await confirmed(form))) {
    status.textContent = "Not sent";
    return;
  }
  button.disabled = true;
  status.textContent = "Sending …";
  sent.querySelector("pre").textContent = curl(...request(form));
  sent.hidden = false;
  try {
    const started = performance.now();
    const response = await fetch(...request(form));
    const text = await response.text();
    headers.querySelector("pre").textContent = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    headers.hidden = false;
    status.textContent = `${response.status} after ${Math.round(performance.now() - started)} ms`;
    answer.textContent = readable(response.headers.get("Content-Type") ?? "", text);
    answer.hidden = answer.textContent === "";
  } catch (error) {
    status.textContent = `The request was not sent: ${error.message}`;
  } finally {
    button.disabled = false;
  }
});

// confirmed asks whether to send a request that cannot be undone.
function confirmed(form) {
  const dialog = document.getElementById("confirm");
  dialog.querySelector("h2").textContent = form.dataset.confirm;
  dialog.querySelector("code").textContent = `${form.dataset.method} ${request(form)[0]}`;
  dialog.returnValue = "";
  dialog.showModal();
  dialog.querySelector("button:not(.danger)").focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "send"), { once: true });
  });
}

// request returns the arguments of fetch for a form. Empty fields are left out.
function request(form) {
  const { method, path } = form.dataset;
  const query = new URLSearchParams();
  const headers = new Headers();
  let filled = path;
  for (const input of form.querySelectorAll("input[data-in]")) {
    if (input.value === "") continue;
    if (input.dataset.in === "query") query.append(input.name, input.value);
    else if (input.dataset.in === "header") headers.set(input.name, input.value);
    else filled = filled.replace(`{${input.name}}`, encodeURIComponent(input.value));
  }
  const key = form.querySelector(".key").value.trim();
  if (key !== "") headers.set("Authorization", `Bearer ${key}`);
  const body = form.elements.body?.value;
  if (body !== undefined) headers.set("Content-Type", "application/json");
  return [filled + (query.size > 0 ? `?${query}` : ""), { method, headers, body, credentials: "omit", cache: "no-store" }];
}

// curl returns the command that sends a request, with the key in a variable.
function curl(path, { method, headers, body }) {
  const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
  const lines = [`curl -sS -X ${method} ${quoted(new URL(path, location).href)}`];
  for (const [name, value] of headers) {
    lines.push(name === "authorization" ? '-H "Authorization: Bearer $KEY"' : `-H ${quoted(`${name}: ${value}`)}`);
  }
  if (body !== undefined) lines.push(`-d ${quoted(body)}`);
  return lines.join(" \\\n  ");
}

// readable returns the beginning of a body as text.
function readable(type, text) {
  if (type.startsWith("application/json")) text = JSON.stringify(JSON.parse(text), null, 2);
  else if (!type.startsWith("text/") && !type.includes("json")) return `${text.length} characters of ${type}`;
  const limit = 100_000;
  return text.length > limit ? text.slice(0, limit) + "\n…" : text;
}
