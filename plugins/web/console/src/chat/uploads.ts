/** Files of a message that is being written. */

import { ApiError, queryString, setToken, token } from "../api.js";
import { newKey } from "../key.js";
import type { AttachmentKind, MessageAttachment, UploadedFile } from "../types.js";

export interface Upload {
  /** Distinguishes files of the same name. */
  key: string;
  name: string;
  bytes: number;
  /** From 0 to 1. */
  progress: number;
  file: File;
  uploaded?: MessageAttachment;
  error?: string;
}

export function newUpload(file: File): Upload {
  return { key: newKey(), name: file.name || "pasted", bytes: file.size, progress: 0, file };
}

/** Uploads a file. Uses `XMLHttpRequest`, because `fetch` does not report the progress of a body. */
export function upload(
  { file, name }: Upload,
  onProgress: (share: number) => void,
  signal: AbortSignal,
): Promise<MessageAttachment> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const sent = token.get();
    request.open("POST", `/v1/files${queryString({ name })}`);
    request.setRequestHeader("Authorization", `Bearer ${sent}`);
    request.setRequestHeader("Content-Type", file.type || "application/octet-stream");
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0);
    request.onload = () => {
      if (request.status === 201) {
        const uploaded = JSON.parse(request.responseText) as UploadedFile;
        resolve({ ...uploaded, kind: kindOf(uploaded.media_type) });
      } else {
        reject(refused(request, sent));
      }
    };
    request.onerror = () => reject(new ApiError(0, "No connection", "The daemon cannot be reached."));
    request.onabort = () => reject(new DOMException("aborted", "AbortError"));
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.send(file);
  });
}

function refused(request: XMLHttpRequest, sent: string | null): ApiError {
  if (request.status === 401 && sent === token.get()) {
    setToken(null);
  }
  let detail = `The file was refused (${request.status}).`;
  try {
    detail = (JSON.parse(request.responseText) as { detail?: string }).detail ?? detail;
  } catch {
    // The answer is not a problem document, so the error shows only the status.
  }
  return new ApiError(request.status, request.statusText, detail);
}

function kindOf(mediaType: string): AttachmentKind {
  const family = mediaType.split("/")[0];
  return family === "image" || family === "audio" || family === "video" ? family : "document";
}
