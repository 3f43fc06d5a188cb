"use strict";
(() => {
  // Clipboard access is refused to some pages; then the text is selected and copied as of old.
  const select = (text) => {
    getSelection().selectAllChildren(text);
    return document.execCommand("copy");
  };
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      return true;
    } catch {
      return select(text);
    }
  };
  for (const button of document.querySelectorAll("button[data-copy]")) {
    const label = button.textContent;
    button.hidden = false;
    button.addEventListener("click", async () => {
      const text = document.getElementById(button.dataset.copy);
      const folded = text.closest("details");
      folded.open = true;
      const done = await copy(text);
      if (done) folded.open = false;
      button.textContent = done ? "Copied" : "Press Ctrl+C to copy";
      setTimeout(() => (button.textContent = label), 2000);
    });
  }
})();
