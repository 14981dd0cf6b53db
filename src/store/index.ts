// All stores over one database.

import type { Database } from "../db/connection.js";
import { ConversationStore } from "./conversation-store.js";
import { EventStore } from "./event-store.js";
import { LeftSegmentStore } from "./left-segment-store.js";
import { MessageStore } from "./message-store.js";
import { ReceiptStore } from "./receipt-store.js";
import { StatusStore } from "./status-store.js";
import { ViewStore } from "./view-store.js";

export interface Stores {
  readonly db: Database;
  readonly conversations: ConversationStore;
  readonly left: LeftSegmentStore;
  readonly messages: MessageStore;
  readonly receipts: ReceiptStore;
  readonly views: ViewStore;
  readonly events: EventStore;
  readonly status: StatusStore;
}

export function createStores(db: Database): Stores {
  return {
    db,
    conversations: new ConversationStore(db),
    left: new LeftSegmentStore(db),
    messages: new MessageStore(db),
    receipts: new ReceiptStore(db),
    views: new ViewStore(db),
    events: new EventStore(db),
    status: new StatusStore(db),
  };
}
