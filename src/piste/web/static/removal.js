// The honest test: words are taken out, the model is asked again, and the prediction stands beside.

import { Failure, json } from "./api.js";
import { bar, el, percent } from "./draw.js";

const $ = (id) => document.getElementById(id);
const PAUSE = 150; // milliseconds: several quick clicks are one question

export class Removal {
  // link: the page's linking; problem: shows an error; say: speaks to a screen reader.
  constructor(link, problem, say) {
    Object.assign(this, { link, problem, say, removed: new Set(), asked: null, view: null });
    $("text").addEventListener("click", (event) => this.toggle(event.target));
    $("text").addEventListener("keydown", (event) => this.key(event));
    $("back").addEventListener("click", () => this.restore([...this.removed]));
    this.dragging();
  }

  // A new explanation: nothing is removed yet.
  begin(view, asked) {
    Object.assign(this, { view, asked, removed: new Set() });
    this.shown();
    $("answer").hidden = true;
    $("invite").textContent =
      `Click ${view.unit}s to take them out, click again to put them back. The model reads what is left, ` +
      "and its answer stands beside the one that the explanation predicts.";
  }

  key(event) {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    this.toggle(event.target);
  }

  toggle(target) {
    const word = target.closest(".w");
    if (!word || !this.asked) return;
    const players = this.link.playersOf(word);
    const gone = players.every((player) => this.removed.has(player));
    gone ? this.restore(players) : this.remove(players);
    this.link.dark(); // the word has answered; its scores would cover the text
  }

  remove(players) {
    for (const player of players) this.removed.add(player);
    this.changed();
  }

  restore(players) {
    for (const player of players) this.removed.delete(player);
    this.changed();
  }

  changed() {
    this.shown();
    clearTimeout(this.timer);
    this.asking?.abort();
    $("answer").classList.add("stale");
    if (this.removed.size) this.timer = setTimeout(() => this.ask(), PAUSE);
    else $("answer").hidden = true;
  }

  // Words struck through, their points faint once no occurrence is left, and the tray.
  shown() {
    const out = (element) => this.link.playersOf(element).every((player) => this.removed.has(player));
    for (const word of document.querySelectorAll("#text .w")) {
      word.classList.toggle("out", out(word));
      word.setAttribute("aria-pressed", out(word));
    }
    const groups = this.view.groups;
    const left = new Set(groups.filter((_, player) => !this.removed.has(player)));
    for (const mark of document.querySelectorAll("#charts [data-p]")) {
      mark.classList.toggle("out", !left.has(groups[this.link.playersOf(mark)[0]]));
    }
    $("tray").hidden = !this.removed.size;
    $("gone").replaceChildren(...[...this.removed].sort((a, b) => a - b).map((player) => this.chip(player)));
  }

  chip(player) {
    const label = this.view.labels[player];
    const attributes = { type: "button", class: "gone", draggable: true, "data-player": player, "aria-label": `Put back ${label}` };
    const button = el("button", attributes, label);
    button.addEventListener("click", () => this.restore([player]));
    return button;
  }

  async ask() {
    this.asking = new AbortController();
    const body = { ...this.asked, removed: [...this.removed] };
    try {
      this.answered(await json("/api/answer", body, this.asking.signal));
    } catch (error) {
      if (error.name === "AbortError") return;
      $("answer").hidden = true;
      this.problem(error instanceof Failure ? error : new Failure(String(error)));
    }
  }

  answered(answer) {
    this.problem(null);
    const rows = [
      this.row("whole text", answer.whole, "model"),
      this.row("without: the model", answer.true, "model"),
      answer.predicted ? this.row("without: predicted", answer.predicted, "guess") : null,
    ];
    $("certainty").textContent = answer.whole.probability === null ? "" : "probability";
    $("scale").textContent = answer.scale;
    document.querySelector(".truth tbody").replaceChildren(...rows.filter(Boolean));
    $("finding").replaceChildren(...this.finding(answer));
    $("answer").hidden = false;
    $("answer").classList.remove("stale");
    this.say($("finding").textContent);
  }

  row(title, said, kind) {
    const share = said.probability;
    const cells = [
      el("td", {}, share === null ? "" : bar(share)),
      el("td", {}, share === null ? "" : percent(share)),
      el("td", {}, this.link.signed(said.score), said.error ? el("small", {}, this.link.margin(said.error)) : ""),
    ];
    return el("tr", { class: kind }, el("th", { scope: "row" }, title), ...cells);
  }

  // In a sentence, for reading aloud too.
  finding({ whole, true: real, predicted, scale, label, before, decision, why }) {
    const told = (said) => (said.probability === null ? this.link.signed(said.score) : percent(said.probability));
    const sentences = [`Without them the model says ${told(real)} for “${label}”, before it was ${told(whole)}.`];
    if (predicted) {
      const off = Math.abs(real.score - predicted.score).toFixed(2);
      const expected = predicted.error ? `, its standard error is ${predicted.error.toFixed(2)}` : "";
      const judged = predicted.error === 0 ? "it asked this very part, so it knows" : `it is off by ${off} (${scale})${expected}`;
      sentences.push(` The explanation predicted ${told(predicted)}: ${judged}.`);
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
