// A field in the place of a word.

import { el } from "./draw.js";

// take: called with the new text; not where Escape was pressed or nothing has changed.
export function input(word, original, take) {
  const before = word.textContent;
  const field = el("input", {
    class: "edit", type: "text", dir: "auto", spellcheck: "false", autocomplete: "off",
    size: Math.max(4, before.length + 2), "aria-label": `Another word for ${original}; Enter takes it, Escape leaves the old one`,
  });
  field.value = before;
  word.hidden = true;
  word.before(field);
  let open = true;

  function close(given, back) {
    if (!open) return;
    open = false; // removing a field blurs it
    field.remove();
    word.hidden = false;
    if (back) word.focus();
    if (given !== null && given !== before) take(given);
  }

  field.addEventListener("keydown", (event) => {
    event.stopPropagation(); // arrow keys move in the field, not from word to word
    if (event.key === "Enter") close(field.value.trim(), true);
    if (event.key === "Escape") close(null, true);
  });
  for (const kind of ["click", "pointerdown"]) field.addEventListener(kind, (event) => event.stopPropagation());
  field.addEventListener("blur", () => close(field.value.trim(), false));
  field.focus();
  field.select();
}
