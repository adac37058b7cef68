// Copies text, and clears what may be seen once when its page is left.
"use strict";

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  const text = document.getElementById(button.dataset.copy).textContent;
  let copied = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const range = document.createRange();
    range.selectNodeContents(document.getElementById(button.dataset.copy));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    copied = document.execCommand("copy");
  }
  const told = document.getElementById("told"); // read aloud
  told.textContent = button.textContent = copied ? "Copied" : "Selected";
  setTimeout(() => { told.textContent = ""; button.textContent = "Copy"; }, 2000);
});

// A page that the browser keeps for going back would show the key again.
addEventListener("pagehide", () => {
  for (const secret of document.querySelectorAll("[data-secret]")) secret.textContent = "Shown once; not any more.";
});
