import { isRecord } from "./loose-json.js";
import type { Reply, Script, ScriptedToolCall } from "./model-types.js";

const DIRECTIVE = /^CALL:([\w.-]+):(\{[\s\S]*\})$/;

/** `CALL:<tool>:<json>` directives, several of them separated by ` THEN `. */
export function parseDirectives(text: string): ScriptedToolCall[] {
  const start = text.indexOf("CALL:");
  if (start < 0) return [];
  return text
    .slice(start)
    .split(" THEN ")
    .flatMap((part) => {
      const [, name, json] = DIRECTIVE.exec(part.trim()) ?? [];
      if (name === undefined || json === undefined)
        throw new Error(`not a CALL directive: ${part}`);
      const args: unknown = JSON.parse(json);
      if (!isRecord(args)) throw new Error(`arguments must be an object: ${part}`);
      return [{ name, arguments: args }];
    });
}

/** Echoes the user, or plays the tool calls the user's text spells out, one per model call. */
export function createDefaultScript(): Script {
  let replies = 0;
  return (request): Reply => {
    const text = request.lastUserText;
    const next = parseDirectives(text)[request.toolResultsSinceUser];
    if (next !== undefined) return { toolCalls: [next] };
    replies += 1;
    return { text: `REPLY#${replies} to: ${text.slice(0, 200)}` };
  };
}
