// Copies text, and clears secrets when the page is left.
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
  announcement.textContent = button.textContent = copied ? "Copied" : "Selected";
  setTimeout(() => { announcement.textContent = ""; button.textContent = "Copy"; }, 2000);
});

// The browser may keep the page in memory and show it again after the back button.
addEventListener("pagehide", () => {
  for (const secret of document.querySelectorAll("[data-secret]")) secret.textContent = "This value is no longer shown.";
});
