// Token estimates for stored messages. Pure; no model knowledge.
//
// One pass over the text cuts it as byte-pair tokenizers do: a word, every third digit, a run of signs,
// of spaces or of line ends begins a token. A token has room for so much, each character strains it,
// and what finds no room is counted as fractions of further tokens. A common pair of letters strains
// a token hardly, a rare one like a token of its own: so English, Finnish and base64 differ.
//
// The numbers were fitted against o200k_base on 1.5 kB samples of code, data, logs, and prose in fifty
// languages, by squared error with more weight on what is too low, and then rounded: too low an
// estimate overflows a context. `test/tokens.test.ts` holds them to other samples.

/** Providers charge images by size; this is the common upper bound for one that was scaled to fit. */
export const IMAGE_TOKENS = 1_600;

/** Longer text is estimated from samples, one at a varying place in each of as many equal parts. */
const WHOLE_TEXT_LIMIT = 1_048_576;
const SAMPLES = 1_024;
const SAMPLE_LENGTH = WHOLE_TEXT_LIMIT / SAMPLES;
/** Its multiples spread evenly over the unit interval, so that the places meet no period of the text. */
const GOLDEN_RATIO = 0.618_033_988_75;

// The kinds of characters. Comparisons rely on their order: what separates words, digits, letters.
const LINE_END = 0;
const SPACE = 1;
/** A sign that shares its token with the word after it: `.name`, `_name`, `(name`. */
const JOINER = 2;
const MARK = 3;
const DIGIT = 4;
const LOWER = 5;
const UPPER = 6;
/** A letter outside ASCII. */
const LETTER = 7;

/** A token, in the unit of room and strain. */
const TOKEN = 100;
const ROOM = 120;
const WORD_ROOM = 52;
/** Of a word that shares its token with a sign. */
const JOINED_WORD_ROOM = 15;
/** The strain of a sign, space or line end that repeats the one before it. */
const REPEATED = 2;
/** The strain of a small letter after several capitals, as in `HTMLElement` and in base64. */
const CASE_CHANGE = 40;
const PAIR_STEP = 12;

const ALPHABET = "abcdefghijklmnopqrstuvwxyz";
const ASCII: readonly (readonly [characters: string, kind: number, strain: number])[] = [
  ["\n\r", LINE_END, 0],
  [" \t", SPACE, 44],
  ["._(-/\\<,#'", JOINER, 55],
  ["0123456789", DIGIT, 0],
  [ALPHABET, LOWER, 0],
  [ALPHABET.toUpperCase(), UPPER, 12],
];

/** The strain of characters that tokenizers cut into bytes; letters in no range are such. */
const UNLISTED = 200;
const RANGES: readonly (readonly [first: number, end: number, kind: number, strain: number])[] = [
  [0x00, 0x20, MARK, UNLISTED], // control characters
  [0x20, 0x80, MARK, 55], // ASCII signs
  [0x80, 0xc0, MARK, 90], // Latin-1 signs
  [0xc0, 0x180, LETTER, 100], // Latin with diacritics; high on behalf of the plain words around it
  [0x370, 0x400, LETTER, 37], // Greek
  [0x410, 0x450, LETTER, 24], // Russian; its neighbors' letters pay for the rest of their words
  [0x530, 0x590, LETTER, 29], // Armenian
  [0x590, 0x600, LETTER, 37], // Hebrew
  [0x591, 0x5c8, LETTER, 150], // its points
  [0x600, 0x700, LETTER, 29], // Arabic
  [0x64b, 0x660, LETTER, 112], // its vowel signs
  [0x900, 0xa00, LETTER, 32], // Devanagari, Bengali
  [0xa00, 0xa80, LETTER, 55], // Gurmukhi
  [0xa80, 0xc00, LETTER, 35], // Gujarati, Odia, Tamil
  [0xc00, 0xd00, LETTER, 48], // Telugu, Kannada
  [0xd00, 0xd80, LETTER, 34], // Malayalam
  [0xd80, 0xe00, LETTER, 58], // Sinhala
  [0xe00, 0xe80, LETTER, 44], // Thai
  [0x1000, 0x10a0, LETTER, 110], // Burmese
  [0x10a0, 0x1100, LETTER, 29], // Georgian
  [0x1100, 0x1200, LETTER, 310], // the parts of decomposed Hangul
  [0x1780, 0x1800, LETTER, 67], // Khmer
  [0x1e00, 0x1f00, LETTER, 19], // Vietnamese
  [0x2000, 0x2070, MARK, 90], // dashes, quotation marks
  [0x2070, 0x2c00, MARK, 145], // symbols, box drawing
  [0x3000, 0x3040, MARK, 90], // Chinese and Japanese punctuation
  [0x3040, 0x3100, LETTER, 74], // kana
  [0x3099, 0x309b, LETTER, 160], // the voicing marks of decomposed kana
  [0x4e00, 0xa000, LETTER, 90], // Chinese characters
  [0xac00, 0xd7b0, LETTER, 64], // Hangul
  [0xd800, 0xdc00, MARK, 230], // first halves of emoji and of rare letters
  [0xdc00, 0xe000, MARK, 0], // second halves
  [0xfe00, 0xfe10, MARK, 30], // variation selectors
  [0xff00, 0xfff0, MARK, 90], // full-width signs
  [0xff60, 0xffa0, LETTER, 150], // half-width kana
];

/** The strain of a letter after another, in steps: a row for the first, a column for the second. */
const PAIR_ROWS = [
  "90207304382011726020316014 37770866313068259112155807 37260880370057146040188603", // a, b, c
  "36620739173337357515448506 24004224687331320112510217 17761448196305257030469817", // d, e, f
  "59770340396253389145459973 22970787285411077370489564 31002115713130012220918461", // g, h, i
  "16941879180723379917445966 55751403597854899944836979 43611248283284236611205908", // j, k, l
  "21640959294224106916689969 34012205572341329500506926 33212007352220029022010103", // m, n, o
  "35611970487047106020348509 58789969899187994897079999 24121227371400214111522805", // p, q, r
  "57110350394476315301352908 36351280196337308115481706 30020216151000808010551068", // s, t, u
  "49890839397039599498989877 07900781193450058007753719 16262697299856705961979445", // v, w, x
  "57895989599546639016996426 59681977587879698977697425", // y, z
];

const SINGLES = 0x3100;
const SLOTS = slotOf(0xffff) + 1;
const KINDS = new Uint8Array(SLOTS).fill(LETTER);
const STRAINS = new Uint16Array(SLOTS).fill(UNLISTED);
const PAIRS = new Uint16Array(32 * 32);
fillTables();

export function estimateTokens(text: string): number {
  if (text.length <= WHOLE_TEXT_LIMIT) return Math.ceil(scan(text, 0, text.length));
  const part = text.length / SAMPLES;
  let sampled = 0;
  for (let index = 0; index < SAMPLES; index += 1) {
    const place = ((index * GOLDEN_RATIO) % 1) * (part - SAMPLE_LENGTH);
    const start = Math.floor(index * part + place);
    sampled += scan(text, start, start + SAMPLE_LENGTH);
  }
  return Math.ceil((sampled * text.length) / WHOLE_TEXT_LIMIT);
}

function scan(text: string, from: number, to: number): number {
  let used = 0;
  let room = 0;
  let last = DIGIT;
  let lastCode = 0;
  let run = 0;
  for (let index = from; index < to; index += 1) {
    const code = text.charCodeAt(index);
    const kind = KINDS[slotOf(code)] ?? LETTER;
    const begins = beginsToken(kind, last, run);
    if (begins) used += TOKEN;
    if (beginsWord(kind, last)) room = last === JOINER ? JOINED_WORD_ROOM : WORD_ROOM;
    else if (begins) room = ROOM;
    room -= strainOf(code, kind, last, lastCode, run);
    if (room < 0) {
      used -= room;
      room = 0;
    }
    run = kind === last ? run + 1 : 1;
    // Only a sign on its own is joined to a word.
    last = kind === JOINER && !begins ? MARK : kind;
    lastCode = code;
  }
  return used / TOKEN;
}

function beginsWord(kind: number, last: number): boolean {
  return kind >= LOWER && (last < LOWER || (last === LOWER && kind === UPPER));
}

/** The last of several spaces belongs to what follows them, so two begin two tokens, as many more do. */
function beginsToken(kind: number, last: number, run: number): boolean {
  if (kind >= LOWER) return beginsWord(kind, last) && last !== SPACE && last !== JOINER;
  if (kind === DIGIT) return last !== DIGIT || run % 3 === 0;
  if (kind === SPACE) return last !== SPACE || run === 1;
  return last > MARK || (last === LINE_END && kind !== LINE_END);
}

function strainOf(code: number, kind: number, last: number, lastCode: number, run: number): number {
  const strain = STRAINS[slotOf(code)] ?? UNLISTED;
  if (code === lastCode && kind <= MARK && strain < UNLISTED) return REPEATED;
  if (!isPair(last, kind)) return strain;
  const changes = kind !== last && run > 1;
  return strain + (PAIRS[pairOf(lastCode, code)] ?? 0) + (changes ? CASE_CHANGE : 0);
}

/** True for two ASCII letters of one word. */
function isPair(first: number, second: number): boolean {
  return second === LOWER
    ? first === LOWER || first === UPPER
    : first === UPPER && second === UPPER;
}

/** What ranges cut finely has a slot each; the others share one by sixteens. */
function slotOf(code: number): number {
  return code < SINGLES ? code : SINGLES + (code >> 4);
}

/** The low five bits of an ASCII letter are its place in the alphabet. */
function pairOf(first: number, second: number): number {
  return ((first & 31) << 5) | (second & 31);
}

function fillTables(): void {
  for (const [first, end, kind, strain] of RANGES) {
    KINDS.fill(kind, slotOf(first), slotOf(end));
    STRAINS.fill(strain, slotOf(first), slotOf(end));
  }
  for (const [characters, kind, strain] of ASCII) {
    for (const character of characters) {
      KINDS[character.charCodeAt(0)] = kind;
      STRAINS[character.charCodeAt(0)] = strain;
    }
  }
  for (const [row, steps] of PAIR_ROWS.join(" ").split(" ").entries()) {
    for (const [column, step] of [...steps].entries()) {
      PAIRS[pairOf(row + 1, column + 1)] = Number(step) * PAIR_STEP;
    }
  }
}
