// A reader of XML that forgives nothing, for the little of XML that we write: elements, attributes in
// double quotes, text, the five named entities.

export interface XmlElement {
  readonly name: string;
  /** In order, unescaped. */
  readonly attributes: readonly (readonly [name: string, value: string])[];
  readonly children: readonly (XmlElement | string)[];
}

const TAG = /<(\/?)([A-Za-z_][\w.-]*)((?:\s+[A-Za-z_][\w.-]*="[^"]*")*)\s*(\/?)>/y;
const ATTRIBUTE = /([A-Za-z_][\w.-]*)="([^"]*)"/g;
/** The characters that XML 1.0 allows. */
const CHARACTERS = /^[\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]*$/u;
const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
};

interface OpenElement {
  name: string;
  attributes: [string, string][];
  children: (XmlElement | string)[];
}

/** The one root element of a document. Throws a sentence where it is not well-formed. */
export function parseXml(document: string): XmlElement {
  if (!CHARACTERS.test(document)) throw new Error("It holds characters that XML does not allow.");
  const top: OpenElement = { name: "", attributes: [], children: [] };
  const open = [top];
  let at = 0;
  while (at < document.length) {
    const next = document.indexOf("<", at);
    const end = next < 0 ? document.length : next;
    if (end > at) open.at(-1)?.children.push(unescapeXml(document.slice(at, end)));
    at = end;
    if (next < 0) break;
    TAG.lastIndex = at;
    const [whole, slash, name = "", attributes = "", selfClosing] = TAG.exec(document) ?? [];
    if (whole === undefined) throw new Error(`"<" begins no tag at ${at}.`);
    at += whole.length;
    if (slash) {
      const closed = open.pop();
      if (closed?.name !== name) throw new Error(`</${name}> closes <${closed?.name}>.`);
      continue;
    }
    const element = { name, attributes: readAttributes(attributes), children: [] };
    open.at(-1)?.children.push(element);
    if (!selfClosing) open.push(element);
  }
  if (open.length !== 1) throw new Error(`<${open.at(-1)?.name}> is not closed.`);
  const [root, ...more] = top.children;
  if (typeof root !== "object" || more.length > 0) throw new Error("There is not one root.");
  return root;
}

function readAttributes(text: string): [string, string][] {
  const found = [...text.matchAll(ATTRIBUTE)].map(([, name = "", value = ""]): [string, string] => {
    if (value.includes("<")) throw new Error(`The attribute ${name} holds "<".`);
    return [name, unescapeXml(value)];
  });
  const names = new Set(found.map(([name]) => name));
  if (names.size !== found.length) throw new Error("An attribute stands there twice.");
  return found;
}

function unescapeXml(text: string): string {
  if (text.includes("]]>")) throw new Error('Text holds "]]>".');
  return text.replace(/&([^;&]{0,9};)?/g, (entity, name: string | undefined) => {
    const character = ENTITIES[(name ?? "").slice(0, -1)];
    if (character === undefined) throw new Error(`"${entity}" is no entity.`);
    return character;
  });
}
