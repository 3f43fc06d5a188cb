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
  const units = { kB: 1e3, MB: 1e6, GB: 1e9 };
  const amount = (text) => {
    const [number, unit] = text.replaceAll(",", "").split(" ");
    return (parseFloat(number) || 0) * (units[unit] ?? 1);
  };
  const sort = (head) => {
    const column = [...head.parentNode.children].indexOf(head);
    const body = head.closest("table").tBodies[0];
    const down = head.getAttribute("aria-sort") !== "descending";
    const text = (row) => row.children[column].textContent;
    const order = head.classList.contains("number")
      ? (a, b) => amount(text(a)) - amount(text(b))
      : (a, b) => text(a).localeCompare(text(b), undefined, { numeric: true });
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...[...body.rows].sort((a, b) => (down ? -1 : 1) * order(a, b)));
  };
  for (const head of document.querySelectorAll("thead th")) {
    head.tabIndex = 0;
    head.addEventListener("click", () => sort(head));
    head.addEventListener("keydown", (event) => event.key === "Enter" && sort(head));
  }
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
