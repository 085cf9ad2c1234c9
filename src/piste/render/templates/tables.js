"use strict";
// Tables that sort, search, filter and open their rows. Without this script they are plain tables.
(() => {
  const PAGE = 15;
  const holder = document.getElementById("data");
  const examples = holder ? JSON.parse(holder.textContent) : {};
  const form = document.getElementById("filters");
  const field = (name) => document.getElementById(name);
  const value = (name) => field(name)?.value ?? "";
  const made = (tag, name, text) => {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const number = (cell) => (cell.dataset.v === undefined ? null : Number(cell.dataset.v));

  function piece(part) {
    if (typeof part === "string") return document.createTextNode(part);
    const [text, level, marked] = part;
    const space = text.length - text.trimStart().length;
    const word = made(marked ? "mark" : "span", "w", text.slice(space));
    word.dataset.hue = level > 0 ? "f" : "a";
    word.dataset.k = Math.abs(level);
    const both = document.createDocumentFragment();
    both.append(text.slice(0, space), word);
    return both;
  }

  function excerpt([id, said, wrong, parts]) {
    const item = made("li");
    const text = made("p");
    text.dir = "auto";
    text.lang = "";
    text.append(...parts.map(piece));
    item.append(text, made("p", wrong ? "said wrong" : "said", `${said}${wrong ? ": wrong" : ""} · text ${id}`));
    return item;
  }

  function table(element) {
    const { key, unit } = element.dataset;
    const body = element.tBodies[0];
    const heads = [...element.tHead.rows[0].cells];
    const rows = [...body.rows].map((row, place) => ({
      row, place,
      classes: (row.dataset.c ?? "").split(" "),
      marks: (row.dataset.m ?? "").split("|"),
      name: row.cells[0].textContent.toLocaleLowerCase(),
      shown: examples[key]?.[place] ?? [],
      opened: null,
    }));
    const numeric = heads.map((head, column) => rows.some(({ row }) => number(row.cells[column]) !== null));
    const texts = heads.findIndex((head) => head.textContent === "texts");
    let limit = PAGE;
    let order = { column: -1, sign: 1 };

    // Words in cells read from the start, numbers line up at the end.
    heads.forEach((head, column) => {
      if (column && !numeric[column]) {
        head.classList.add("prose");
        for (const { row } of rows) row.cells[column].classList.add("prose");
      }
      const button = made("button", "", head.textContent);
      button.type = "button";
      head.replaceChildren(button);
      button.addEventListener("click", () => sort(column));
    });

    const more = made("p", "more");
    const next = made("button", "", `Show ${PAGE} more`);
    const all = made("button", "", "Show all");
    next.type = all.type = "button";
    next.addEventListener("click", () => { limit += PAGE; draw(); });
    all.addEventListener("click", () => { limit = Infinity; draw(); });
    more.append(next, all);
    const scroll = element.closest(".scroll");
    scroll.classList.add("paged");
    scroll.after(more);
    const none = made("p", "none", `No ${unit} match.`);
    more.before(none);

    for (const entry of rows) if (entry.shown.length) makeOpen(entry);

    function makeOpen(entry) {
      const chip = entry.row.cells[0].firstElementChild;
      const button = made("button", "opens");
      button.type = "button";
      button.setAttribute("aria-expanded", "false");
      chip.replaceWith(button);
      button.append(chip);
      button.addEventListener("click", () => toggle(entry, button));
    }

    function toggle(entry, button) {
      if (entry.opened) {
        entry.opened.remove();
        entry.opened = null;
      } else {
        entry.opened = made("tr", "examples");
        const cell = made("td");
        cell.colSpan = heads.length;
        const list = made("ul");
        list.append(...entry.shown.map(excerpt));
        cell.append(list);
        entry.opened.append(cell);
        entry.row.after(entry.opened);
      }
      button.setAttribute("aria-expanded", String(entry.opened !== null));
    }

    function sort(column) {
      const first = numeric[column] ? -1 : 1;
      order = { column, sign: order.column === column ? -order.sign : first };
      for (const head of heads) head.removeAttribute("aria-sort");
      heads[column].setAttribute("aria-sort", order.sign > 0 ? "ascending" : "descending");
      const { sign } = order;
      rows.sort((a, b) => {
        const [one, other] = [a, b].map(({ row }) => row.cells[column]);
        if (!numeric[column]) return sign * one.textContent.localeCompare(other.textContent) || a.place - b.place;
        const [left, right] = [number(one), number(other)];
        if (left === null || right === null) return (left === null) - (right === null) || a.place - b.place;
        return sign * (left - right) || a.place - b.place;
      });
      draw();
    }

    function matches(entry) {
      const wanted = value("class");
      if (wanted !== "" && entry.classes[0] !== "" && !entry.classes.includes(wanted)) return false;
      if (!("search" in element.dataset)) return true;
      if (!entry.name.includes(value("search").trim().toLocaleLowerCase())) return false;
      if ("marked" in element.dataset && value("mark") && !entry.marks.includes(value("mark"))) return false;
      const least = field("least");
      if (texts < 0 || !least) return true;
      // Rare words are in the table because they stand out: shown where these are asked for.
      // Pairs have a limit of their own.
      const asked = !("marked" in element.dataset) || value("mark") !== "" || value("search").trim() !== "";
      return number(entry.row.cells[texts]) >= Number(least.value) || (asked && !narrowed(least));
    }

    const narrowed = (least) => Number(least.value) > Number(least.min);

    // Whether the reader asked for less than everything; rare words are left out unasked.
    function filtered() {
      const least = field("least");
      return ["class", "mark", "search"].some((name) => value(name).trim() !== "") || (least && narrowed(least));
    }

    function draw() {
      const fitting = rows.filter(matches);
      const shown = fitting.slice(0, limit);
      body.replaceChildren(...shown.flatMap(({ row, opened }) => (opened ? [row, opened] : [row])));
      const counted = (count) => count.toLocaleString("en");
      const of = fitting.length === rows.length || !filtered() ? "" : ` (of ${counted(rows.length)})`;
      const first = shown.length < fitting.length ? `first ${shown.length} of ` : "";
      document.getElementById(`${key}-count`).textContent = `${first}${counted(fitting.length)} ${unit}${of}`;
      more.hidden = shown.length === fitting.length;
      none.hidden = fitting.length > 0;
    }

    return { draw, reset: () => { limit = PAGE; draw(); } };
  }

  const tables = [...document.querySelectorAll("table[data-key]")].map(table);

  function pictures() {
    const drawn = [...document.querySelectorAll(".picture[data-class]")];
    if (!drawn.length) return;
    const wanted = value("class");
    const known = drawn.some(({ dataset }) => dataset.class === wanted);
    const chosen = known ? wanted : drawn[0].dataset.class;
    for (const one of drawn) one.hidden = wanted !== "" && !known ? true : one.dataset.class !== chosen;
  }

  function update() {
    pictures();
    for (const one of tables) one.reset();
  }

  if (form) {
    form.hidden = false;
    form.addEventListener("input", update);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(update));
  }
  update();

  // In a notebook the frame grows with the page.
  const frame = window.frameElement;
  if (frame && frame.hasAttribute("data-piste-fit")) {
    const fit = () => { frame.height = Math.ceil(document.body.getBoundingClientRect().height) + 2; };
    new ResizeObserver(fit).observe(document.body);
  }
})();
