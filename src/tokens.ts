// Token estimates for stored messages. Pure; no model knowledge.

import { estimateTokenCount } from "tokenx";

/** Text longer than this is estimated from samples: an estimate must not cost what a tokenizer costs. */
const WHOLE_TEXT_LIMIT = 65_536;
const SAMPLE_LENGTH = 8_192;
const SAMPLES = 6;

/** Providers charge images by size; this is the common upper bound for one that was scaled to fit. */
export const IMAGE_TOKENS = 1_600;

export function estimateTokens(text: string): number {
  if (text.length <= WHOLE_TEXT_LIMIT) return estimateTokenCount(text);
  const stride = Math.floor((text.length - SAMPLE_LENGTH) / (SAMPLES - 1));
  let sampled = 0;
  for (let index = 0; index < SAMPLES; index += 1) {
    const start = index * stride;
    sampled += estimateTokenCount(text.slice(start, start + SAMPLE_LENGTH));
  }
  return Math.ceil((sampled * text.length) / (SAMPLES * SAMPLE_LENGTH));
}
