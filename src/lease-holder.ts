// Who holds a lease: a visit of one process of one machine. A process that was killed, or ended while a
// model was thinking, leaves its lease behind; whoever comes next on that machine can tell.

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";

export function newHolder(): string {
  return `${hostname()}#${process.pid}#${randomUUID()}`;
}

/** True when the holder's process is known to have ended; of another machine nothing is known. */
export function hasEnded(holder: string): boolean {
  const [machine, pid] = holder.split("#");
  return machine === hostname() && /^\d+$/.test(pid ?? "") && !isRunning(Number(pid));
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process may not be asked, but it is there.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
