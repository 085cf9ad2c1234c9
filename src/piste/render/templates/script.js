"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { show, colour, strike, bows } = linking();
  show(data);

  const select = document.getElementById("score");
  const side = document.getElementById("key-label");
  const own = side.textContent;
  const { pairs } = data;
  const views = [...document.querySelectorAll("[data-view]")];
  const buttons = [...document.querySelectorAll("[data-score]")];
  let seen = 0; // which class is shown; the first is the explained one
  function choose() {
    const name = data.names[select.value];
    // "value: neutral" speaks for another class than the page does.
    side.textContent = name.includes(": ") ? name.slice(name.indexOf(": ") + 2) : own;
    colour(name);
    look(data.views[select.value], Number(select.value));
  }

  // The answer for another class: its sentence, its steps, its order of the table.
  function look(view, score) {
    for (const button of buttons) {
      button.setAttribute("aria-pressed", data.views[button.dataset.score] === view);
    }
    if (view === seen) return;
    seen = view;
    for (const part of views) part.hidden = Number(part.dataset.view) !== view;
    data.pairs = view ? [] : pairs; // they are those of the explained class
    document.querySelector(".stage").classList.toggle("other", view !== 0);
    unturn();
    sort(score + 2, (a, b) => Math.abs(b) - Math.abs(a));
  }

  select.addEventListener("change", choose);
  for (const button of buttons) {
    button.addEventListener("click", () => {
      select.value = button.dataset.score;
      choose();
    });
  }

  // Sorting: numbers from the largest, words from A.
  const heads = [...document.querySelectorAll("thead th")];
  const body = document.querySelector("tbody");
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    return column === 0 ? cell.textContent : Number(cell.dataset.v ?? cell.textContent);
  };

  // by: how two values compare, for an order that no click on a heading gives.
  function sort(column, by) {
    const head = heads[column];
    const first = column === 0 ? "ascending" : "descending";
    const second = column === 0 ? "descending" : "ascending";
    const order = head.getAttribute("aria-sort") === first ? second : first;
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", by ? "other" : order);
    const sign = order === "ascending" ? 1 : -1;
    const rows = [...body.rows].map((row) => [valueOf(row, column), row]);
    const compare = column === 0 ? (a, b) => a.localeCompare(b) : (a, b) => a - b;
    rows.sort((a, b) => (by ? by(a[0], b[0]) : sign * compare(a[0], b[0])));
    body.append(...rows.map(([, row]) => row));
  }

  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => sort(column)));

  // What would turn it: a click strikes the words out and shows what the model said then.
  const turns = [...document.querySelectorAll(".turns button")];
  function turn(chosen) {
    const pressed = chosen.getAttribute("aria-pressed") !== "true";
    for (const button of turns) {
      const on = pressed && button === chosen;
      button.setAttribute("aria-pressed", on);
      document.getElementById(button.getAttribute("aria-controls")).hidden = !on;
    }
    strike(pressed ? chosen.dataset.out.split(" ").map(Number) : []);
  }
  for (const button of turns) button.addEventListener("click", () => turn(button));
  const unturn = () => turns.filter((button) => button.getAttribute("aria-pressed") === "true").forEach(turn);

  // A browser may keep the choice over a reload while the colours start anew.
  choose();

  // Paper has a width of its own: the arcs are drawn anew for it, and nothing stays folded.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const fold of opened) fold.open = true;
    document.documentElement.classList.add("printing");
    bows();
  });
  addEventListener("afterprint", () => {
    for (const fold of opened) fold.open = false;
    document.documentElement.classList.remove("printing");
    bows();
  });
})();
