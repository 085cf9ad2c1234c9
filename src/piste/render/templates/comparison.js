"use strict";
// A word under the pointer is outlined in every method's row, so that the eye can compare.
{
  const light = (player, on) => {
    for (const word of document.querySelectorAll(`.w[data-p="${player}"]`)) word.classList.toggle("on", on);
  };
  const follow = (kind, on) => document.addEventListener(kind, (event) => {
    const word = event.target.closest?.(".w");
    if (word) light(word.dataset.p, on);
  });
  follow("pointerover", true);
  follow("pointerout", false);
}
