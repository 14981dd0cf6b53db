// All stores over one database.

import type { Database } from "../db/connection.js";
import { AlignmentStore } from "./alignment-store.js";
import { AttemptStore } from "./attempt-store.js";
import { BoundaryStore } from "./boundary-store.js";
import { CalibrationStore } from "./calibration-store.js";
import { ConversationStore } from "./conversation-store.js";
import { EventStore } from "./event-store.js";
import { GrantStore } from "./grant-store.js";
import { IndexStore } from "./index-store.js";
import { LeftSegmentStore } from "./left-segment-store.js";
import { MessageStore } from "./message-store.js";
import { RecallStore } from "./recall-store.js";
import { ReceiptStore } from "./receipt-store.js";
import { StatusStore } from "./status-store.js";
import { SummaryStore } from "./summary-store.js";
import { ViewStore } from "./view-store.js";
import { WorkStore } from "./work-store.js";

export interface Stores {
  readonly db: Database;
  readonly conversations: ConversationStore;
  readonly left: LeftSegmentStore;
  readonly alignments: AlignmentStore;
  readonly messages: MessageStore;
  readonly receipts: ReceiptStore;
  readonly boundaries: BoundaryStore;
  readonly views: ViewStore;
  readonly summaries: SummaryStore;
  readonly attempts: AttemptStore;
  readonly work: WorkStore;
  readonly index: IndexStore;
  readonly calibration: CalibrationStore;
  readonly events: EventStore;
  readonly grants: GrantStore;
  readonly recall: RecallStore;
  readonly status: StatusStore;
}

export function createStores(db: Database): Stores {
  return {
    db,
    conversations: new ConversationStore(db),
    left: new LeftSegmentStore(db),
    alignments: new AlignmentStore(db),
    messages: new MessageStore(db),
    receipts: new ReceiptStore(db),
    boundaries: new BoundaryStore(db),
    views: new ViewStore(db),
    summaries: new SummaryStore(db),
    attempts: new AttemptStore(db),
    work: new WorkStore(db),
    index: new IndexStore(db),
    calibration: new CalibrationStore(db),
    events: new EventStore(db),
    grants: new GrantStore(db),
    recall: new RecallStore(db),
    status: new StatusStore(db),
  };
}
