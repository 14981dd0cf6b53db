// Times as people read them, in the operator's zone. Pure.

/** `2026-02-17 15:37 PST`: date, time to the minute, zone. */
export function formatTimestamp(iso: string, timeZone: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  const parts = new Map(
    new Intl.DateTimeFormat("en-US", {
      timeZone,
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      hourCycle: "h23",
      timeZoneName: "short",
    })
      .formatToParts(date)
      .map(({ type, value }) => [type, value]),
  );
  const [year, month, day, hour, minute, zone] = (
    ["year", "month", "day", "hour", "minute", "timeZoneName"] as const
  ).map((type) => parts.get(type));
  return `${year}-${month}-${day} ${hour}:${minute} ${zone}`;
}
