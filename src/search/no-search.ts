// Stands where no search was handed in: it says so instead of finding nothing.

import type { Search } from "./types.js";

export const NO_SEARCH: Search = {
  run: async () => ({
    kind: "refused",
    reason: "Searching is not set up here. lcm_describe still shows an item whose id you know.",
  }),
  close: async () => {},
};
