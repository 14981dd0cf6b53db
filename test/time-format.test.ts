// Times as people read them, in zones with every kind of oddity.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isoAt, timeFormat } from "../src/time-format.js";

const LA = "America/Los_Angeles";
const DAY_MS = 86_400_000;

describe("a timestamp", () => {
  test.each([
    [LA, "2026-02-17T23:37:42.123Z", "2026-02-17 15:37 PST"],
    [LA, "2026-07-01T07:00:00.000Z", "2026-07-01 00:00 PDT"],
    ["UTC", "2026-02-17T23:37:59.999Z", "2026-02-17 23:37 UTC"],
    ["UTC", "2026-02-18T00:05:00.000Z", "2026-02-18 00:05 UTC"],
    ["Europe/Berlin", "2026-01-31T23:05:00.000Z", "2026-02-01 00:05 GMT+1"],
    ["Europe/Berlin", "2026-07-01T10:00:00.000Z", "2026-07-01 12:00 GMT+2"],
    ["Asia/Kolkata", "2026-02-17T18:35:00.000Z", "2026-02-18 00:05 GMT+5:30"],
    ["Asia/Kathmandu", "2026-02-17T18:20:00.000Z", "2026-02-18 00:05 GMT+5:45"],
    ["Australia/Lord_Howe", "2026-01-10T12:00:00.000Z", "2026-01-10 23:00 GMT+11"],
    ["Australia/Lord_Howe", "2026-07-10T12:00:00.000Z", "2026-07-10 22:30 GMT+10:30"],
    ["America/St_Johns", "2026-02-17T12:00:00.000Z", "2026-02-17 08:30 GMT-3:30"],
    ["America/Santiago", "2026-01-10T12:00:00.000Z", "2026-01-10 09:00 GMT-3"],
    ["Pacific/Apia", "2026-02-17T12:00:00.000Z", "2026-02-18 01:00 GMT+13"],
    ["Pacific/Pago_Pago", "2026-02-18T10:59:00.000Z", "2026-02-17 23:59 GMT-11"],
    ["Pacific/Kiritimati", "2026-12-31T10:00:00.000Z", "2027-01-01 00:00 GMT+14"],
  ])("in %s: %s is %s", (zone, iso, expected) => {
    expect(timeFormat(zone).timestamp(iso)).toBe(expected);
  });

  test("tells the two passes of a repeated hour apart", () => {
    const { timestamp } = timeFormat(LA);
    expect(timestamp("2026-11-01T08:30:00.000Z")).toBe("2026-11-01 01:30 PDT");
    expect(timestamp("2026-11-01T09:30:00.000Z")).toBe("2026-11-01 01:30 PST");
  });

  test("goes from one side of a skipped hour to the other", () => {
    const { timestamp } = timeFormat("Europe/Berlin");
    expect(timestamp("2026-03-29T00:59:00.000Z")).toBe("2026-03-29 01:59 GMT+1");
    expect(timestamp("2026-03-29T01:00:00.000Z")).toBe("2026-03-29 03:00 GMT+2");
  });
});

describe("a range", () => {
  test.each([
    ["within a day", "2026-02-17T15:37:00Z", "2026-02-18T01:21:00Z", "2026-02-17 07:37–17:21 PST"],
    [
      "across midnight",
      "2026-02-18T06:10:00Z",
      "2026-02-18T09:30:00Z",
      "2026-02-17 22:10 – 2026-02-18 01:30 PST",
    ],
    ["within a minute", "2026-02-17T15:37:01Z", "2026-02-17T15:37:59Z", "2026-02-17 07:37 PST"],
    ["of one moment", "2026-02-17T15:37:00Z", "2026-02-17T15:37:00Z", "2026-02-17 07:37 PST"],
    [
      "to midnight",
      "2026-02-18T07:50:00Z",
      "2026-02-18T08:00:00Z",
      "2026-02-17 23:50 – 2026-02-18 00:00 PST",
    ],
    [
      "over the change to summer time",
      "2026-03-08T09:30:00Z",
      "2026-03-08T10:30:00Z",
      "2026-03-08 01:30 PST–03:30 PDT",
    ],
    [
      "over the change from summer time",
      "2026-11-01T08:30:00Z",
      "2026-11-01T09:10:00Z",
      "2026-11-01 01:30 PDT–01:10 PST",
    ],
    [
      "of a repeated minute",
      "2026-11-01T08:30:00Z",
      "2026-11-01T09:30:00Z",
      "2026-11-01 01:30 PDT–01:30 PST",
    ],
    [
      "of months",
      "2026-01-05T20:00:00Z",
      "2026-07-01T20:00:00Z",
      "2026-01-05 12:00 PST – 2026-07-01 13:00 PDT",
    ],
    [
      "of years",
      "2025-12-31T20:00:00Z",
      "2027-01-01T20:00:00Z",
      "2025-12-31 12:00 – 2027-01-01 12:00 PST",
    ],
  ])("%s", (_, from, to, expected) => {
    expect(timeFormat(LA).range(from, to)).toBe(expected);
  });

  test.each([
    ["UTC", "2026-02-17 23:50 – 2026-02-18 00:05 UTC"],
    ["Asia/Kolkata", "2026-02-18 05:20–05:35 GMT+5:30"],
    ["Asia/Kathmandu", "2026-02-18 05:35–05:50 GMT+5:45"],
    ["Pacific/Apia", "2026-02-18 12:50–13:05 GMT+13"],
  ])("of the same moments in %s", (zone, expected) => {
    const { range } = timeFormat(zone);
    expect(range("2026-02-17T23:50:00.000Z", "2026-02-18T00:05:00.000Z")).toBe(expected);
  });

  test("over the half hour that Lord Howe changes by", () => {
    const { range } = timeFormat("Australia/Lord_Howe");
    expect(range("2026-04-04T14:50:00Z", "2026-04-04T15:10:00Z")).toBe(
      "2026-04-05 01:50 GMT+11–01:40 GMT+10:30",
    );
  });

  test("over the day that Samoa skipped", () => {
    const { range } = timeFormat("Pacific/Apia");
    expect(range("2011-12-30T09:50:00Z", "2011-12-30T10:10:00Z")).toBe(
      "2011-12-29 23:50 GMT-10 – 2011-12-31 00:10 GMT+14",
    );
  });
});

test.each([
  [LA, "2026-02-17T15:37:42.999Z", "2026-02-17T07:37:42"],
  ["UTC", "2026-02-17T00:00:00.000Z", "2026-02-17T00:00:00"],
  ["Asia/Kathmandu", "2026-02-17T18:15:09.000Z", "2026-02-18T00:00:09"],
])("the time on the wall in %s at %s is %s", (zone, iso, expected) => {
  expect(timeFormat(zone).local(iso)).toBe(expected);
});

describe("the start of a day", () => {
  test.each([
    ["UTC", "2026-02-17T00:00:00.000Z", "2026-02-17T00:00:00.000Z"],
    ["UTC", "2026-02-17T23:59:59.999Z", "2026-02-17T00:00:00.000Z"],
    [LA, "2026-02-17T07:59:59.999Z", "2026-02-16T08:00:00.000Z"],
    [LA, "2026-02-17T08:00:00.000Z", "2026-02-17T08:00:00.000Z"],
    // 23 and 25 hours.
    [LA, "2026-03-09T06:59:00.000Z", "2026-03-08T08:00:00.000Z"],
    [LA, "2026-11-02T07:59:00.000Z", "2026-11-01T07:00:00.000Z"],
    ["Europe/Berlin", "2026-03-29T21:59:00.000Z", "2026-03-28T23:00:00.000Z"],
    ["Europe/Berlin", "2026-10-25T22:59:00.000Z", "2026-10-24T22:00:00.000Z"],
    ["Asia/Kolkata", "2026-02-17T18:29:59.000Z", "2026-02-16T18:30:00.000Z"],
    ["Asia/Kathmandu", "2026-02-17T18:15:00.000Z", "2026-02-17T18:15:00.000Z"],
    ["Australia/Lord_Howe", "2026-04-05T12:00:00.000Z", "2026-04-04T13:00:00.000Z"],
    // Midnight itself is skipped: the day begins at 01:00.
    ["America/Santiago", "2026-09-06T12:00:00.000Z", "2026-09-06T04:00:00.000Z"],
    ["Pacific/Apia", "2011-12-30T12:00:00.000Z", "2011-12-30T10:00:00.000Z"],
  ])("in %s at %s is %s", (zone, iso, expected) => {
    expect(timeFormat(zone).dayStart(iso)).toBe(expected);
  });

  test("lies on that day, and the moment before it on another", () => {
    const zone = fc.constantFrom(
      "UTC",
      LA,
      "Europe/Berlin",
      "Asia/Kolkata",
      "Asia/Kathmandu",
      "Australia/Lord_Howe",
      "America/St_Johns",
      "America/Santiago",
      "Asia/Beirut",
      "Pacific/Apia",
      "Pacific/Chatham",
    );
    // Half of the moments within a day of a change of clocks somewhere.
    const changes = [
      "2026-03-08",
      "2026-03-29",
      "2026-11-01",
      "2026-10-25",
      "2026-04-05",
      "2011-12-30",
      "2010-11-07",
    ].map((day) => Date.parse(day));
    const moment = fc.oneof(
      fc.integer({ min: Date.parse("1975-01-01"), max: Date.parse("2090-01-01") }),
      fc
        .tuple(fc.constantFrom(...changes), fc.integer({ min: -DAY_MS, max: 2 * DAY_MS }))
        .map(([change, offset]) => change + offset),
    );
    fc.assert(
      fc.property(zone, moment, (name, ms) => {
        const { local, dayStart } = timeFormat(name);
        const day = (iso: string) => local(iso).slice(0, 10);
        const iso = isoAt(ms);
        const start = dayStart(iso);
        expect(start <= iso).toBe(true);
        expect(day(start)).toBe(day(iso));
        expect(day(isoAt(Date.parse(start) - 1))).not.toBe(day(iso));
      }),
      { numRuns: 100 },
    );
  });
});

describe("in every zone there is", () => {
  const zones = Intl.supportedValuesOf("timeZone");

  test("hours run from 00 to 23, and never a 24", () => {
    for (const zone of zones) {
      const { timestamp } = timeFormat(zone);
      for (let hour = 0; hour < 24; hour += 1) {
        const iso = isoAt(Date.parse("2026-02-17T00:05:00.000Z") + hour * 3_600_000);
        expect(timestamp(iso)).toMatch(/^2026-02-1[678] (?:[01]\d|2[0-3]):[0-5]\d \S+$/);
      }
    }
  });
});

describe("what is not a time", () => {
  const { timestamp, range, local } = timeFormat(LA);

  test.each(["", "soon", "2026-13-45T99:99:99Z", "NaN"])("%j is shown as it is", (odd) => {
    expect(timestamp(odd)).toBe(odd);
    expect(local(odd)).toBe(odd);
    expect(range(odd, odd)).toBe(`${odd} – ${odd}`);
    expect(range("2026-02-17T15:37:00Z", odd)).toBe(`2026-02-17 07:37 PST – ${odd}`);
  });

  test("never throws", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (from, to) => {
        for (const text of [timestamp(from), local(from), range(from, to)]) {
          expect(typeof text).toBe("string");
        }
      }),
    );
  });
});

describe("a written time", () => {
  test.each([
    [LA, "2026-02-19", "2026-02-19T08:00:00.000Z"],
    [LA, "2026-07-01 10:30", "2026-07-01T17:30:00.000Z"],
    ["UTC", "2026-02-19T10:00:05.250", "2026-02-19T10:00:05.250Z"],
    ["Asia/Kolkata", "2026-02-19T00:00:00Z", "2026-02-19T00:00:00.000Z"],
    ["Asia/Kolkata", "2026-02-19t00:00+0530", "2026-02-18T18:30:00.000Z"],
    ["Europe/Berlin", "2026-03-29T04:00", "2026-03-29T02:00:00.000Z"],
  ])("in %s: %s means %s", (zone, written, expected) => {
    expect(timeFormat(zone).instant(written)).toBe(expected);
  });

  test.each(["yesterday", "12", "2026", "2026-13-01", "2026-02-19T25:00", "19.02.2026", ""])(
    "%j is none",
    (written) => {
      expect(timeFormat(LA).instant(written)).toBeUndefined();
    },
  );

  test.each([
    "0000-01-01",
    "0999-12-31",
    "2026-02-30",
    "2026-02-30T10:00Z",
    "2025-02-29",
    "2026-04-31 10:00",
    "9999-12-31T23:59-12:00",
  ])("%j is no day there is, or no year that can be stored", (written) => {
    for (const zone of [LA, "UTC", "Pacific/Kiritimati"]) {
      expect(timeFormat(zone).instant(written)).toBeUndefined();
    }
  });

  test("never throws, and is stored with a year of four digits", () => {
    const zones = fc.constantFrom(LA, "UTC", "Pacific/Kiritimati");
    const part = (max: number) =>
      fc.integer({ min: 0, max }).map((value) => String(value).padStart(2, "0"));
    const year = fc.constantFrom("0000", "0001", "1000", "2026", "9999");
    fc.assert(
      fc.property(zones, year, part(13), part(32), part(25), (zone, yyyy, mm, dd, hh) => {
        const moment = timeFormat(zone).instant(`${yyyy}-${mm}-${dd}T${hh}:59`);
        return moment === undefined || /^\d{4}-/.test(moment);
      }),
    );
  });

  test("without a zone is read as it is shown", () => {
    const zones = fc.constantFrom(LA, "Europe/Berlin", "Asia/Kathmandu", "Pacific/Apia", "UTC");
    const moments = fc.integer({ min: Date.parse("2020-01-01"), max: Date.parse("2030-01-01") });
    fc.assert(
      fc.property(zones, moments, (zone, ms) => {
        const { local, instant } = timeFormat(zone);
        const shown = local(isoAt(ms));
        // An hour that is there twice has two moments, and both are shown so.
        return local(instant(shown) ?? "") === shown;
      }),
    );
  });
});
