// A search of a hundred thousand messages with patterns that backtrack without end.

import { expect, test } from "vitest";
import { RUN_AWAY, searchRunAway } from "../support/run-away.js";

test.each(RUN_AWAY)("100,000 messages and %s", async (pattern) => {
  const { tookMs, lagMs, pages } = await searchRunAway(pattern, 100_000);
  console.log(
    `${pattern}: first answer in ${Math.round(tookMs)} ms, a timer at most ${Math.round(lagMs)} ms late, ${pages} pages to the end`,
  );
  expect(tookMs).toBeLessThan(6_000);
  expect(lagMs).toBeLessThan(150);
});
