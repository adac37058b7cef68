
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
