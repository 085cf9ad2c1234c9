// The form: a text, and a field for every setting that the server offers.

import { el } from "./draw.js";

const $ = (id) => document.getElementById(id);
const FRONT = ["target", "against", "effort"]; // the others are folded away
const TITLES = { target: "Label", against: "Rather than", long: "Long texts", spans: "Own units", pair_spans: "Own units of the second text", marks: "Own units marked as [[…]]" };
const EVERY = { all: "all labels" }; // said longer in the list
const CONTEXT = "context"; // the one method that has an effort

export class Form {
  constructor() {
    this.about = { models: [], settings: [], targets: [], max_chars: Infinity, example: "" };
    $("two").addEventListener("click", () => this.twoTexts($("second").hidden));
    $("model").addEventListener("change", () => this.fill());
    $("method").addEventListener("change", () => this.described());
    $("given").addEventListener("focus", () => {
      if ($("given").value === this.about.example) $("given").select(); // what is typed replaces it
    });
    for (const id of ["given", "pair"]) $(id).addEventListener("input", () => this.room());
  }

  // What the server offers: once, before anything else.
  offer(about) {
    this.about = about;
    for (const setting of about.settings) if (!$(setting.name)) this.place(setting);
    this.fill();
    $("of-model").hidden = about.models.length < 2;
    $("example").hidden = !about.example;
  }

  place(setting) {
    const title = TITLES[setting.name] ?? setting.name[0].toUpperCase() + setting.name.slice(1);
    const control = this.control(setting);
    if (FRONT.includes(setting.name)) {
      $("front").insertBefore(el("label", { title: setting.help }, `${title} `, control), $("front").querySelector(".push"));
      return;
    }
    const hint = el("p", { class: "hint", id: `help-${setting.name}` }, setting.help);
    $("choices").append(el("div", {}, el("label", {}, `${title} `, control), hint));
  }

  control({ name, kind, names, default: usual }) {
    const shared = { id: name, "aria-describedby": FRONT.includes(name) ? null : `help-${name}` };
    if (names.length || ["target", "against"].includes(name)) return el("select", shared);
    if (kind === "yes or no") return el("input", { ...shared, type: "checkbox" });
    const number = kind === "text" ? {} : { inputmode: kind === "number" ? "decimal" : "numeric" };
    return el("input", { ...shared, ...number, type: "text", size: 8, placeholder: usual ?? "default" });
  }

  get model() {
    return this.about.models.find(({ name }) => name === $("model").value) ?? this.about.models[0];
  }

  // wanted: values to choose; all others stay as they are.
  fill(wanted = {}) {
    options($("model"), this.about.models.map(({ name }) => [name, name]), wanted.model ?? $("model").value);
    const { methods } = this.model;
    options($("method"), Object.keys(methods).map((name) => [name, name]), wanted.method ?? $("method").value);
    for (const setting of this.about.settings) this.choose(setting, wanted[setting.name]);
    this.described();
  }

  choose({ name, names, default: usual }, wanted) {
    const field = $(name);
    if (field.tagName === "SELECT") options(field, this.values(name, names, usual), wanted ?? field.value);
    else if (field.type === "checkbox") field.checked = wanted === undefined ? field.checked : wanted === true;
    else if (wanted !== undefined) field.value = Array.isArray(wanted) ? wanted.map((span) => span.join("-")).join(", ") : wanted;
  }

  values(name, names, usual) {
    const labels = this.model.labels.map((label) => [label, label]);
    const ranks = this.about.targets.map((rank) => [rank, EVERY[rank] ?? rank]);
    if (name === "target") return [...ranks, ...labels];
    if (name === "against") return [["", "all others"], ...ranks.slice(0, 2), ...labels];
    const given = names.map((value) => [value, value]);
    return usual === null ? [["", "default"], ...given] : given;
  }

  described() {
    const method = $("method").value;
    $("about").textContent = this.model.methods[method] ?? "";
    if ($("effort")) $("effort").closest("label").hidden = method !== CONTEXT;
  }

  twoTexts(open) {
    $("second").hidden = !open;
    $("two").setAttribute("aria-expanded", open);
    $("two").textContent = open ? "Only one text" : "Second text";
    this.room();
  }

  // The question: what is left at its default is left out.
  question() {
    const pair = $("second").hidden || !$("pair").value.trim() ? null : $("pair").value;
    const asked = { text: $("given").value, ...(pair === null ? {} : { pair }), model: $("model").value, method: $("method").value };
    for (const { name, kind, default: usual } of this.about.settings) {
      const value = this.value(name, kind);
      if (value !== null && value !== usual) asked[name] = value;
    }
    return asked;
  }

  value(name, kind) {
    const field = $(name);
    if (field.type === "checkbox") return field.checked || null;
    const given = field.value.trim();
    const unused = name === "effort" && $("method").value !== CONTEXT;
    if (!given || unused || (name === "target" && given === this.about.targets[0])) return null;
    return kind === "text" || Number.isNaN(Number(given)) ? given : Number(given);
  }

  // A question back into the form; what it does not name gets its default.
  restore(asked) {
    $("given").value = asked.text;
    $("pair").value = asked.pair ?? "";
    const defaults = this.about.settings.map(({ name, default: usual }) => [name, name === "target" ? this.about.targets[0] : usual ?? ""]);
    this.fill({ ...Object.fromEntries(defaults), ...asked });
    this.twoTexts(Boolean(asked.pair));
    $("options").open = this.about.settings.some(({ name }) => name in asked && !FRONT.includes(name));
  }

  room() {
    const most = this.about.max_chars;
    const size = $("given").value.length + ($("second").hidden ? 0 : $("pair").value.length);
    $("room").hidden = size < most * 0.8;
    $("room").textContent = `${size.toLocaleString("en")} of ${most.toLocaleString("en")} characters.`;
  }
}

export function options(select, pairs, chosen) {
  select.replaceChildren(...pairs.map(([value, text]) => el("option", { value }, text)));
  if (pairs.some(([value]) => value === chosen)) select.value = chosen;
}
