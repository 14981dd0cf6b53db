// The form in which text goes into the full-text index, and in which a query asks for it. Pure.
//
// The tokenizer splits at everything but letters and digits, which covers paths and snake_case. Added
// here: the parts of camelCase identifiers behind the whole, and overlapping pairs for scripts that are
// written without spaces. Data that nobody types (base64, hashes of many digits) is left out.

const HUMP = /[a-z0-9][A-Z]|[A-Z]{2}[a-z]/;
const IDENTIFIER = /[A-Za-z][A-Za-z0-9]*/g;
const HUMPS = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/;
const BEYOND_LATIN = /[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\uff00-\uffef]|[\ud840-\ud88f]/;
const UNSPACED =
  /[[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u30fc]&&\p{L}]{1,4000}/gv;
/** The longest run of letters and digits that can be a word. */
const LONGEST_WORD = 64;
// Bounded, because a run of megabytes would overflow the matcher's stack.
const LONG_RUN = new RegExp(`[A-Za-z0-9+/=_-]{${LONGEST_WORD + 1},4000}`, "g");
const LONG_WORD = new RegExp(`([\\p{L}\\p{N}]{${LONGEST_WORD}})[\\p{L}\\p{N}]{1,4000}`, "gu");
const HAS_LONG_RUN = new RegExp(`[^\\s]{${LONGEST_WORD + 1}}`);
/** Base64 changes between small letters, capitals and digits all the time; paths and slugs do not. */
const DATA_CHANGES = 0.3;

export function indexForm(text: string): string {
  return splitHumps(dropData(pairUp(text.replaceAll("\0", " "))));
}

/** The parts of a camelCase identifier; none of a word that has no humps. */
export function humpsOf(word: string): string[] {
  const parts = word.split(HUMPS);
  return parts.length > 1 ? parts : [];
}

function dropData(text: string): string {
  if (!HAS_LONG_RUN.test(text)) return text;
  return text.replace(LONG_RUN, (run) => (isData(run) ? " " : run)).replace(LONG_WORD, "$1 ");
}

function isData(run: string): boolean {
  let changes = 0;
  let last = -1;
  for (let index = 0; index < run.length; index += 1) {
    const kind = kindOf(run.charCodeAt(index));
    if (kind !== last && last !== -1) changes += 1;
    last = kind;
  }
  return changes > run.length * DATA_CHANGES;
}

function kindOf(code: number): number {
  if (code >= 97) return 0;
  if (code >= 65 && code <= 90) return 1;
  return code >= 48 && code <= 57 ? 2 : 3;
}

function splitHumps(text: string): string {
  if (!HUMP.test(text)) return text;
  return text.replace(IDENTIFIER, (word) => {
    if (!HUMP.test(word)) return word;
    const parts = humpsOf(word);
    return parts.length === 0 ? word : `${word} ${parts.join(" ")}`;
  });
}

function pairUp(text: string): string {
  if (!BEYOND_LATIN.test(text)) return text;
  return text.normalize("NFKC").replace(UNSPACED, (run) => ` ${pairsOf(run).join(" ")} `);
}

function pairsOf(run: string): string[] {
  const characters = [...run];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

/** True for text without the spaces that part words elsewhere. */
export function isUnspaced(text: string): boolean {
  return BEYOND_LATIN.test(text) && text.normalize("NFKC").search(UNSPACED) !== -1;
}

const MONTHS =
  "january february march april may june july august september october november december".split(
    " ",
  );
const WEEKDAYS = "sunday monday tuesday wednesday thursday friday saturday".split(" ");

/** `17 february 2026 tuesday`, in this order, so that dates can be asked for as phrases. */
export function dateWords(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return "";
  const month = MONTHS[date.getUTCMonth()];
  return `${date.getUTCDate()} ${month} ${date.getUTCFullYear()} ${WEEKDAYS[date.getUTCDay()]}`;
}

/** The full name of a month or a weekday that is named or abbreviated. */
export function calendarWord(word: string): string | undefined {
  const lower = word.toLowerCase();
  if (lower.length < 3) return undefined;
  const matches = (name: string): boolean =>
    name === lower || name.slice(0, 3) === lower || (lower === "sept" && name === "september");
  return [...MONTHS, ...WEEKDAYS].find(matches);
}

export function isMonth(word: string): boolean {
  return MONTHS.includes(word);
}

/** The token that stands for a conversation. */
export function scopeToken(conversation: number): string {
  return `c${conversation}`;
}
