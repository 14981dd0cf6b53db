// Times as people read them, in the operator's zone. Pure.

export interface TimeFormat {
  readonly zone: string;
  /** `2026-02-17 15:37 PST`: date, time to the minute, zone. */
  timestamp(iso: string): string;
  /** `2026-02-17 07:37–17:21 PST`, or across days `2026-02-17 22:10 – 2026-02-18 01:30 PST`. */
  range(from: string, to: string): string;
  /** `2026-02-17T15:37:00`: the time on the wall, without its zone. */
  local(iso: string): string;
  /** The moment that a written time means, as it is stored; one without a zone is on this wall. */
  instant(written: string): string | undefined;
  /** Midnight that began the day of a moment, as UTC. */
  dayStart(iso: string): string;
}

/** A moment as it is stored: UTC ISO-8601 with milliseconds. */
export function isoAt(ms: number): string {
  return new Date(ms).toISOString();
}

interface Wall {
  readonly date: string;
  readonly minute: string;
  readonly second: string;
  /** As people write it: `PST`, `GMT+5:30`. */
  readonly zone: string;
}

const HOUR_MS = 3_600_000;

export function timeFormat(zone: string): TimeFormat {
  const formatter = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
    timeZoneName: "short",
  });
  const wall = (iso: string): Wall | undefined => readWall(formatter, iso);
  const timestamp = (iso: string): string => {
    const at = wall(iso);
    return at ? `${at.date} ${at.minute} ${at.zone}` : iso;
  };
  const local = (iso: string): string => {
    const at = wall(iso);
    return at ? `${at.date}T${at.minute}:${at.second}` : iso;
  };
  return {
    zone,
    timestamp,
    local,
    instant: (written) => instant(written, local),
    range: (from, to) => {
      const [start, end] = [wall(from), wall(to)];
      return start && end ? formatRange(start, end) : `${timestamp(from)} – ${timestamp(to)}`;
    },
    dayStart: (iso) => dayStart(iso, (moment) => wall(moment)?.date),
  };
}

function readWall(formatter: Intl.DateTimeFormat, iso: string): Wall | undefined {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return undefined;
  const parts = Object.fromEntries(
    formatter.formatToParts(date).map(({ type, value }) => [type, value]),
  );
  return {
    date: `${parts["year"]?.padStart(4, "0")}-${parts["month"]}-${parts["day"]}`,
    minute: `${parts["hour"]}:${parts["minute"]}`,
    second: String(parts["second"]),
    zone: String(parts["timeZoneName"]),
  };
}

/** The zone is said once, but where it changed in between. */
function formatRange(start: Wall, end: Wall): string {
  const zone = start.zone === end.zone ? "" : ` ${start.zone}`;
  const from = `${start.date} ${start.minute}${zone}`;
  if (start.date !== end.date) return `${from} – ${end.date} ${end.minute} ${end.zone}`;
  return start.minute === end.minute && zone === ""
    ? `${from} ${end.zone}`
    : `${from}–${end.minute} ${end.zone}`;
}

const ISO =
  /^[1-9]\d{3}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/i;

/** Stored times are compared as text, which holds for years of four digits alone. */
const FOUR_DIGITS = /^\d{4}-/;

function isDay(date: string): boolean {
  const midnight = Date.parse(`${date}T00:00Z`);
  return !Number.isNaN(midnight) && isoAt(midnight).startsWith(date);
}

function instant(written: string, local: (iso: string) => string): string | undefined {
  const match = ISO.exec(written);
  if (!match || !isDay(written.slice(0, 10))) return undefined;
  const text = written.replace(" ", "T").toUpperCase();
  const isBare = match[1] === undefined;
  const meant = Date.parse(isBare ? `${text.length === 10 ? `${text}T00:00` : text}Z` : text);
  if (Number.isNaN(meant)) return undefined;
  const moment = isBare ? onWall(meant, local) : meant;
  if (Number.isNaN(moment)) return undefined;
  const stored = isoAt(moment);
  return FOUR_DIGITS.test(stored) ? stored : undefined;
}

/**
 * A guess is put right by what the wall shows at it; twice, for clocks that change in between. NaN where
 * the wall shows a year that is not written with four digits.
 */
function onWall(meant: number, local: (iso: string) => string): number {
  let moment = meant;
  for (let round = 0; round < 2; round += 1) {
    if (Number.isNaN(moment)) return moment;
    const seconds = Math.floor(moment / 1_000) * 1_000;
    moment = meant - (Date.parse(`${local(isoAt(seconds))}Z`) - seconds);
  }
  return moment;
}

/** Walks back: no zone is described by a fixed offset, and a day may have 23, 24 or 25 hours. */
function dayStart(iso: string, dayOf: (iso: string) => string | undefined): string {
  const day = dayOf(iso);
  let start = Math.floor(new Date(iso).getTime() / 1_000) * 1_000;
  for (const step of [HOUR_MS, HOUR_MS / 60, 1_000]) {
    while (dayOf(new Date(start - step).toISOString()) === day) start -= step;
  }
  return new Date(start).toISOString();
}
