// The honest test: words are removed or replaced, the model is asked again, and for removals the
// prediction of the explanation stands beside its answer.

import { Failure, json } from "./api.js";
import { bar, el, percent } from "./draw.js";
import { input } from "./editing.js";

const $ = (id) => document.getElementById(id);
const PAUSE = 150; // milliseconds: several quick clicks are one question

export class Removal {
  // link: the page's linking; problem: shows an error; say: speaks to a screen reader.
  constructor(link, problem, say) {
    Object.assign(this, { link, problem, say, removed: new Set(), edits: new Map(), asked: null, view: null });
    $("text").addEventListener("click", (event) => this.clicked(event.target));
    $("text").addEventListener("keydown", (event) => this.key(event));
    $("back").addEventListener("click", () => this.only([]));
    for (const radio of document.querySelectorAll("[name=mode]")) radio.addEventListener("change", () => this.invite());
    this.dragging();
  }

  // A new explanation: nothing is changed yet.
  begin(view, asked) {
    Object.assign(this, { view, asked: view.in_windows ? null : asked, removed: new Set(), edits: new Map(), answer: null });
    this.shown();
    $("answer").hidden = true;
    $("trying").hidden = view.in_windows;
    this.invite();
  }

  get replacing() {
    return document.querySelector("[name=mode]:checked").value === "replace";
  }

  invite() {
    $("invite").textContent = this.replacing
      ? "Type another word in its place: the model reads the new text, and you see how its answer moves."
      : "The model reads what is left, and its answer stands beside the one that the explanation predicts. Click again to put a word back.";
  }

  key(event) {
    if (!["Enter", " ", "F2"].includes(event.key)) return;
    event.preventDefault();
    if (event.key === "F2") this.edit(event.target);
    else this.clicked(event.target);
  }

  clicked(target) {
    const word = target.closest(".w");
    if (!word || !this.asked) return;
    if (this.replacing) this.edit(word);
    else this.toggle(word);
    this.link.dark(); // the word has answered; its scores would cover the text
  }

  toggle(word) {
    const players = this.link.playersOf(word);
    const changed = players.every((player) => this.removed.has(player)) || this.edits.has(players[0]);
    changed ? this.restore(players) : this.remove(players);
  }

  // A field in place of the word; Enter takes what it says, Escape leaves the word as it was.
  edit(word) {
    if (!this.asked || !word.matches(".w")) return;
    const [player] = this.link.playersOf(word);
    input(word, this.original(player), (text) => this.replace(player, text));
  }

  replace(player, text) {
    this.removed.delete(player);
    this.edits.delete(player);
    if (!text) this.removed.add(player);
    else if (text !== this.original(player)) this.edits.set(player, text);
    this.changed();
  }

  original(player) {
    return this.view.parts.find(([, players]) => players[0] === player)?.[0] ?? this.view.labels[player];
  }

  remove(players) {
    for (const player of players) {
      this.edits.delete(player);
      this.removed.add(player);
    }
    this.changed();
  }

  restore(players) {
    for (const player of players) {
      this.removed.delete(player);
      this.edits.delete(player);
    }
    this.changed();
  }

  // These players are removed, and nothing else is changed.
  only(players) {
    this.removed = new Set(players);
    this.edits = new Map();
    this.changed();
  }

  // The edited texts, as the server wrote them.
  edited() {
    return { text: this.answer.text, pair: this.answer.pair ?? undefined };
  }

  changed() {
    this.shown();
    clearTimeout(this.timer);
    this.asking?.abort();
    $("answer").classList.add("stale");
    if (this.removed.size + this.edits.size) this.timer = setTimeout(() => this.ask(), PAUSE);
    else $("answer").hidden = true;
  }

  // Words struck through or rewritten, their points faint once no occurrence is left, and the tray.
  shown() {
    for (const word of document.querySelectorAll("#text .w")) this.mark(word);
    const groups = this.view.groups;
    const gone = (player) => this.removed.has(player) || this.edits.has(player);
    const left = new Set(groups.filter((_, player) => !gone(player)));
    for (const mark of document.querySelectorAll(".picture .mark, .picture .name")) {
      mark.classList.toggle("out", !left.has(groups[this.link.playersOf(mark)[0]]));
    }
    const players = [...this.removed, ...this.edits.keys()].sort((a, b) => a - b);
    this.link.bows?.(); // a new word may be wider
    $("tray").hidden = !players.length;
    $("gone").replaceChildren(...players.map((player) => this.chip(player)));
  }

  mark(word) {
    const players = this.link.playersOf(word);
    const out = players.every((player) => this.removed.has(player));
    const edit = this.edits.get(players[0]);
    const original = this.original(players[0]);
    word.classList.toggle("out", out);
    word.classList.toggle("edited", edit !== undefined);
    word.setAttribute("aria-pressed", out || edit !== undefined);
    if (word.textContent !== (edit ?? original)) word.textContent = edit ?? original;
    if (edit === undefined) word.removeAttribute("aria-label");
    else word.setAttribute("aria-label", `${edit}, in place of ${original}`);
  }

  chip(player) {
    const [label, edit] = [this.view.labels[player], this.edits.get(player)];
    const spoken = edit === undefined ? `Put back ${label}` : `Put back ${label} in place of ${edit}`;
    const attributes = { type: "button", class: "gone", draggable: true, "data-player": player, "aria-label": spoken };
    const button = el("button", attributes, el("bdi", {}, label), edit === undefined ? "" : " → ", edit === undefined ? "" : el("bdi", {}, edit));
    button.addEventListener("click", () => this.restore([player]));
    return button;
  }

  async ask() {
    this.asking = new AbortController();
    const { signal } = this.asking;
    try {
      this.answered(await (this.edits.size ? this.askEdited(signal) : this.askRemoved(signal)));
    } catch (error) {
      if (error.name === "AbortError") return;
      $("answer").hidden = true;
      this.problem(error instanceof Failure ? error : new Failure(String(error)));
    }
  }

  askRemoved(signal) {
    return json("/api/answer", { ...this.asked, removed: [...this.removed] }, signal);
  }

  askEdited(signal) {
    const edits = [...this.edits, ...[...this.removed].map((player) => [player, ""])];
    return json("/api/edit", { ...this.asked, edits: edits.map(([player, text]) => ({ player, text })) }, signal);
  }

  answered(answer) {
    this.problem(null);
    this.answer = answer;
    const edited = answer.text !== undefined;
    const rows = [
      this.row("whole text", answer.whole, "model"),
      this.row(edited ? "edited: the model" : "without: the model", answer.true, "model"),
      answer.predicted ? this.row("without: predicted", answer.predicted, "guess") : null,
    ];
    $("certainty").textContent = answer.whole.probability === null ? "" : "probability";
    $("scale").textContent = answer.scale;
    document.querySelector(".truth tbody").replaceChildren(...rows.filter(Boolean));
    $("finding").replaceChildren(...this.finding(answer, edited));
    $("afterwards").hidden = !edited;
    $("answer").hidden = false;
    $("answer").classList.remove("stale");
    this.say($("finding").textContent);
  }

  row(title, said, kind) {
    const share = said.probability;
    const cells = [
      el("td", {}, share === null ? "" : bar(share)),
      el("td", {}, share === null ? "" : percent(share)),
      el("td", {}, this.link.signed(said.score), said.error ? el("small", {}, this.link.margin(said.error, Math.abs(said.score))) : ""),
    ];
    return el("tr", { class: kind }, el("th", { scope: "row" }, title), ...cells);
  }

  // In a sentence, for reading aloud too.
  finding({ whole, true: real, predicted, scale, label, before, decision, why }, edited) {
    const told = (said) => (said.probability === null ? this.link.signed(said.score) : percent(said.probability));
    const sentences = [`The model now says ${told(real)} for “${label}” (${told(whole)} for the whole text).`];
    if (edited) sentences.push(` The score moves by ${this.link.signed(real.score - whole.score)} (${scale}).`);
    if (predicted) {
      const off = Math.abs(real.score - predicted.score).toFixed(2);
      const expected = predicted.error ? `; its standard error is ${predicted.error.toFixed(2)}` : "";
      const judged = predicted.error === 0 ? "the model was asked this very part before, so this is known" : `off by ${off} (${scale})${expected}`;
      const guess = predicted.probability === null ? this.link.signed(predicted.score) : told(predicted);
      sentences.push(` The explanation predicted ${guess}: ${judged}.`);
    } else if (why) sentences.push(` ${why}`);
    return [sentences.join(""), decision !== before ? el("span", { class: "turned" }, ` The decision is now “${decision}”.`) : ""];
  }

  // Words can also be dragged: out of the text, and from the tray back into it.
  dragging() {
    const players = (event) => event.dataTransfer.getData("application/x-piste").split(" ").map(Number);
    document.addEventListener("dragstart", (event) => {
      const given = event.target.dataset?.player ?? event.target.closest?.("#text .w")?.dataset.p;
      if (given !== undefined) event.dataTransfer.setData("application/x-piste", given);
    });
    const target = (element, drop) => {
      const ours = (event) => this.asked && event.dataTransfer.types.includes("application/x-piste");
      element.addEventListener("dragover", (event) => {
        if (ours(event)) event.preventDefault();
        element.classList.toggle("drop", ours(event));
      });
      element.addEventListener("dragleave", () => element.classList.remove("drop"));
      element.addEventListener("drop", (event) => {
        element.classList.remove("drop");
        if (!ours(event)) return;
        event.preventDefault();
        drop(players(event));
      });
    };
    target($("text"), (dropped) => this.restore(dropped));
    target(document.querySelector(".try"), (dropped) => this.remove(dropped));
  }
}
