// The engine as the plugin really uses it: one object per turn that opens the database by itself, and
// a lease that keeps the connection between turns.

import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { type LcmConfig, resolveConfig } from "../../src/db/config.js";
import type { Database } from "../../src/db/connection.js";
import { type Lease, leaseDatabase } from "../../src/db/registry.js";
import type { LcmContextEngine } from "../../src/engine.js";
import type { CommitTurnCall } from "../../src/host-calls.js";
import { createSelfOpeningEngine } from "../../src/lcm.js";
import type { AgentMessage, SessionRef } from "../../src/types.js";
import { FakeHost } from "./fake-host.js";
import { assistantMessage, userMessage } from "./messages.js";
import { recordingLog } from "./recording-log.js";
import { temporaryDirectory } from "./workspace.js";

const KEY = "agent:main:web1";

export class Gateway {
  readonly host = new FakeHost();
  readonly log = recordingLog();
  readonly path: string;
  readonly config: LcmConfig;
  #kept: Lease | undefined;

  constructor(path = join(temporaryDirectory(), "lcm.db")) {
    const stateDir = dirname(path);
    this.path = path;
    this.config = {
      ...resolveConfig({ env: {}, stateDir, homeDir: "/" }).config,
      databasePath: path,
    };
    onTestFinished(() => this.#kept?.release());
  }

  get session(): SessionRef {
    return this.host.ref(KEY);
  }

  get transcript(): { entryId: string; message: AgentMessage }[] {
    return this.host.transcript(KEY);
  }

  /** The connection that is kept between turns. Opens it. */
  get database(): Database {
    const lease = leaseDatabase(this.path);
    this.#kept?.release();
    this.#kept = lease;
    return lease.db;
  }

  engine(): LcmContextEngine {
    const { config, host, log } = this;
    const engine = createSelfOpeningEngine({ config, source: host, log, now: host.now });
    onTestFinished(() => engine.dispose());
    return engine;
  }

  /** Plays a turn into the transcript and gives its commit. */
  play(text: string): CommitTurnCall {
    const { host } = this;
    return host.turn(KEY, [
      userMessage(text, host.tick()),
      assistantMessage(`re: ${text}`, host.tick()),
    ]);
  }

  /** A whole turn through the engine. */
  async turn(text: string): Promise<void> {
    const engine = this.engine();
    await engine.bootstrap(this.session);
    await engine.assemble({ ...this.session, messages: [] });
    await engine.commitTurn(this.play(text));
    await engine.dispose();
  }
}
