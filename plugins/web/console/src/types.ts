/** Shapes of the HTTP interface: those of the socket, and those that only the console uses. */

import type { AttachmentKind, SenderId, Timestamp } from "../../../../clients/typescript/src/types.js";

export type * from "../../../../clients/typescript/src/types.js";

/** The answer of `POST /v1/web/login`. */
export interface Login {
  token: string;
  /** The id of this browser. */
  browser: string;
  /** The sender of the messages that are sent with the token. */
  sender: SenderId;
  expires_at: Timestamp;
}

/** An entry of `GET /v1/web/browsers`. */
export interface WebBrowser {
  id: string;
  /** The person who made its link. */
  sender: SenderId;
  name: string;
  signed_in_at: Timestamp;
  expires_at: Timestamp;
  /** Its last request since the start of the daemon. */
  seen_at: Timestamp | null;
}

/** The answer of `POST /v1/files`, and an entry of `attachments` in `POST /v1/messages`. */
export interface UploadedFile {
  reference: string;
  name: string;
  media_type: string;
  bytes: number;
}

export interface MessageAttachment extends UploadedFile {
  kind: AttachmentKind;
}

/** The answer of `POST /v1/messages`. */
export interface AcceptedMessage {
  id: string;
  duplicate: boolean;
}

/** The answer of `GET /v1/config`. */
export interface ConfigFile {
  path: string;
  text: string;
  digest: string;
  is_writable: boolean;
}

export interface ConfigRemark {
  line: number | null;
  key: string | null;
  message: string;
}

/** The answer of `POST /v1/config/check`. */
export interface ConfigCheck {
  faults: ConfigRemark[];
  warnings: ConfigRemark[];
}
