// Copies text, clears secrets when the page is left, shows the progress of imports, and has the keys of the keyboard.
"use strict";

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  let copied = true;
  try {
    await navigator.clipboard.writeText(source.textContent);
  } catch {
    const range = document.createRange();
    range.selectNodeContents(source);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    copied = document.execCommand("copy");
  }
  const announcement = document.getElementById("announcement"); // for screen readers
  const label = button.dataset.label ??= button.textContent;
  announcement.textContent = button.textContent = copied ? document.body.dataset.copied : document.body.dataset.selected;
  setTimeout(() => { announcement.textContent = ""; button.textContent = label; }, 2000);
});

// The browser may keep the page in memory and show it again after the back button.
addEventListener("pagehide", () => {
  for (const secret of document.querySelectorAll("[data-secret]")) secret.textContent = document.body.dataset.hidden;
});

// The progress of an import. The page is loaded again when its state changes.
const running = document.querySelector("[data-progress]");
if (running) {
  const bar = running.querySelector("progress");
  const text = running.querySelector("progress + span");
  let submitted = false; // a reload would interrupt the form
  addEventListener("submit", () => { submitted = true; });
  const poll = async () => {
    try {
      const response = await fetch(running.dataset.progress);
      const now = await response.json();
      if (submitted) return;
      if (now.state !== running.dataset.state) return location.reload();
      text.textContent = now.text;
      if (now.percent >= 0) bar.value = now.percent;
    } catch {
      // The next poll tries again.
    }
    setTimeout(poll, 1000);
  };
  setTimeout(poll, 1000);
}

// Files can be dropped, and the upload shows its progress.
const upload = document.querySelector("form[data-upload]");
if (upload) {
  const drop = upload.querySelector("[data-drop]");
  const input = upload.querySelector("input[type=file]");
  for (const type of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(type, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", type === "dragover");
      if (type === "drop" && event.dataTransfer.files.length) input.files = event.dataTransfer.files;
    });
  }
  upload.addEventListener("submit", (event) => {
    event.preventDefault();
    const row = upload.querySelector("[data-upload-progress]");
    const request = new XMLHttpRequest();
    row.hidden = false;
    upload.querySelector("button").disabled = true;
    request.upload.addEventListener("progress", ({ loaded, total }) => {
      const percent = Math.floor(100 * loaded / total);
      row.querySelector("progress").value = percent;
      row.querySelector("span").textContent = `${percent} %`;
    });
    request.addEventListener("loadend", () => {
      if (request.status === 200) return location.assign(request.responseURL); // the page of the import
      const answer = request.response?.querySelector(".field-error, main h1");
      row.querySelector("span").textContent = answer ? answer.textContent : upload.dataset.failed;
      row.querySelector("progress").value = 0;
      upload.querySelector("button").disabled = false;
    });
    request.responseType = "document";
    request.open("POST", upload.action);
    request.send(new FormData(upload));
  });
}

// A box chooses all products of a page.
const pickAll = document.querySelector("[data-pick-all]");
if (pickAll) {
  pickAll.hidden = false;
  pickAll.addEventListener("change", (event) => {
    for (const box of pickAll.closest("form").querySelectorAll("input[name=id]")) box.checked = event.target.checked;
  });
}
const print = document.querySelector("[data-print]");
if (print) {
  print.hidden = false;
  print.addEventListener("click", () => window.print());
}
// Each quantity of a stock count was counted when it was typed, not when the form is sent.
const sheet = document.querySelector("form[data-typed]");
if (sheet) {
  const typed = new Map();
  sheet.addEventListener("input", ({ target }) => {
    if (target.inputMode === "numeric") typed.set(target.name, Date.now());
  });
  sheet.addEventListener("formdata", ({ formData }) => {
    for (const [name, at] of typed) formData.set(`ago-${name}`, Math.round((Date.now() - at) / 1000));
  });
}

// The keys of the page Keyboard. A field, an open dialog and a key of the browser come first.
let previous = "";
addEventListener("keydown", (event) => {
  const { target, key } = event;
  const types = target.closest?.("input, select, textarea, [contenteditable]");
  if (types || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const link = previous === "g" ? document.querySelector(`header a[data-key="${CSS.escape(key)}"]`) : null;
  const search = key === "/" ? document.getElementById("search") : null;
  previous = key;
  if (search) {
    event.preventDefault();
    search.focus();
  } else if (key === "?") {
    document.querySelector("[data-help]")?.click();
  } else if (link) {
    event.preventDefault();
    location.assign(link.href);
  }
});
