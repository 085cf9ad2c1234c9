// A plain list of what the API offers, read from its own schema.
import { json } from "./api.js";
import { el } from "./draw.js";

function fields(operation, schemas) {
  const body = operation.requestBody?.content["application/json"].schema.$ref;
  const schema = body ? schemas[body.split("/").pop()] : null;
  if (!schema) return [];
  return Object.entries(schema.properties).map(([name, about]) => {
    const must = schema.required?.includes(name) ? "required" : `else ${JSON.stringify(about.default ?? null)}`;
    return el("li", {}, el("code", {}, name), ` (${must}) ${about.description ?? ""}`);
  });
}

try {
  const schema = await json("/openapi.json");
  for (const [path, verbs] of Object.entries(schema.paths)) {
    for (const [verb, operation] of Object.entries(verbs)) {
      const list = el("ul", { class: "hint" }, ...fields(operation, schema.components.schemas));
      const head = el("code", {}, `${verb.toUpperCase()} ${path}`);
      document.getElementById("endpoints").append(el("div", { class: "endpoint" }, head, el("p", {}, operation.description ?? ""), list));
    }
  }
} catch (error) {
  const problem = document.getElementById("problem");
  problem.hidden = false;
  problem.textContent = error.message;
}
