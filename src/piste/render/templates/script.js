"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { show, colour } = linking();
  show(data);

  const select = document.getElementById("score");
  const side = document.getElementById("key-label");
  const own = side.textContent;
  function choose() {
    const name = data.names[select.value];
    // "value: neutral" speaks for another class than the page does.
    side.textContent = name.includes(": ") ? name.slice(name.indexOf(": ") + 2) : own;
    colour(name);
  }
  select.addEventListener("change", choose);
  // A browser may keep the choice over a reload while the colours start anew.
  choose();

  // Sorting: numbers from the largest, words from A.
  const heads = [...document.querySelectorAll("thead th")];
  const body = document.querySelector("tbody");
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    return column === 0 ? cell.textContent : Number(cell.dataset.v ?? cell.textContent);
  };

  function sort(column) {
    const head = heads[column];
    const first = column === 0 ? "ascending" : "descending";
    const second = column === 0 ? "descending" : "ascending";
    const order = head.getAttribute("aria-sort") === first ? second : first;
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const rows = [...body.rows].map((row) => [valueOf(row, column), row]);
    const compare = column === 0 ? (a, b) => a.localeCompare(b) : (a, b) => a - b;
    rows.sort((a, b) => sign * compare(a[0], b[0]));
    body.append(...rows.map(([, row]) => row));
  }

  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => sort(column)));

  // In a notebook the frame grows with the page.
  const frame = window.frameElement;
  if (frame && frame.hasAttribute("data-piste-fit")) {
    const fit = () => { frame.height = Math.ceil(document.body.getBoundingClientRect().height) + 2; };
    new ResizeObserver(fit).observe(document.body);
  }
})();
