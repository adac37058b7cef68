// Filters the sidebar, and sends the requests of the forms. An API key stays only in the memory of the page.
"use strict";

const search = document.getElementById("search");
const found = document.getElementById("found");
const entries = [...document.querySelectorAll("#contents li")].map((item) => {
  const section = document.getElementById(item.firstElementChild.hash.slice(1));
  return { item, text: section.textContent.toLowerCase() };
});

search.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const { item, text } of entries) {
    item.hidden = !words.every((word) => text.includes(word));
    if (!item.hidden) count++;
  }
  for (const section of document.querySelectorAll("#contents section")) {
    section.hidden = !section.querySelector("li:not([hidden])");
  }
  found.textContent = words.length === 0 ? "" : count === 1 ? "1 result" : `${count} results`;
});

// Enter opens the first result.
search.form.addEventListener("submit", (event) => {
  event.preventDefault();
  document.querySelector("#contents li:not([hidden]) a")?.click();
});

// On a phone the contents are a popover.
document.querySelector("#contents nav").addEventListener("click", (event) => {
  const contents = document.getElementById("contents");
  if (event.target.closest("a") && contents.matches(":popover-open")) contents.hidePopover();
});

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
  const button = form.querySelector("button");
  answer.hidden = true;
  if (form.dataset.confirm && !(await confirmed(form))) {
    status.textContent = "Not sent";
    return;
  }
  button.disabled = true;
  status.textContent = "Sending …";
  try {
    const started = performance.now();
    const response = await fetch(...request(form));
    const text = await response.text();
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

// readable returns the beginning of a body as text.
function readable(type, text) {
  if (type.startsWith("application/json")) text = JSON.stringify(JSON.parse(text), null, 2);
  else if (!type.startsWith("text/") && !type.includes("json")) return `${text.length} characters of ${type}`;
  const limit = 100_000;
  return text.length > limit ? text.slice(0, limit) + "\n…" : text;
}
