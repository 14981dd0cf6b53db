// Property tests take the same histories in every run of `npm test`, so that a failure there is the
// change's own. `npm run test:long` and LCM_TEST_SEED=random look at other ones; a number repeats one.

import fc from "fast-check";

const { LCM_TEST_SEED: asked = "20260219" } = process.env;

if (asked !== "random") fc.configureGlobal({ seed: Number(asked) });
