// XML that a model can navigate and untrusted text can not forge. Pure.

/** Text as XML content. Characters that XML does not know at all are left out. */
export function escapeText(text: string): string {
  return text
    .replace(UNKNOWN_TO_XML, "")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}

// eslint-disable-next-line no-control-regex -- these are the characters to leave out
const UNKNOWN_TO_XML = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]|\p{Surrogate}/gu;

/** ` name="value"` for each attribute that has one. */
export function attributes(values: Readonly<Record<string, string | number | undefined>>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}="${escapeText(String(value)).replaceAll('"', "&quot;")}"`)
    .join("");
}
