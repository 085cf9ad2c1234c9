// The link: the whole question is in the fragment, the part behind #, which browsers do not send.

const ASKED = "asked"; // the fragment that was explained last in this tab

const written = (question) => `#${new URLSearchParams(Object.entries(question))}`;

export const address = (question) => location.origin + location.pathname + written(question);

// The question goes into the address; a reload of this tab may then ask it again.
export function remember(question) {
  history.replaceState(null, "", written(question));
  sessionStorage.setItem(ASKED, location.hash);
}

// The question that the address holds, and whether this tab has asked it before.
export function arrived() {
  const question = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  if (!question.text) return null;
  return { question, known: sessionStorage.getItem(ASKED) === location.hash };
}

// Whether the link is in the clipboard now: browsers allow it over https and on this machine only.
export const copied = async (link) => {
  if (!navigator.clipboard) return false;
  return navigator.clipboard.writeText(link).then(() => true, () => false);
};
