import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { errorText, isAbort } from "../api.js";
import type { MessageAttachment } from "../types.js";
import { newUpload, upload, type Upload } from "./uploads.js";

export interface Uploads {
  list: readonly Upload[];
  /** `true` if every file is uploaded. */
  isReady: boolean;
  add: (files: File[]) => void;
  remove: (key: string) => void;
  retry: (entry: Upload) => void;
  /** Returns the uploaded files and empties the list. */
  take: () => MessageAttachment[];
}

/** The files of a message that is being written. Each upload starts at once. */
export function useUploads(): Uploads {
  const [list, setList] = useState<readonly Upload[]>([]);
  const running = useRef(new Map<string, AbortController>());

  const change = useCallback((key: string, part: Partial<Upload>) => {
    setList((all) => all.map((entry) => (entry.key === key ? { ...entry, ...part } : entry)));
  }, []);

  const start = useCallback((entry: Upload) => {
    const end = new AbortController();
    running.current.set(entry.key, end);
    upload(entry, (progress) => change(entry.key, { progress }), end.signal).then(
      (uploaded) => change(entry.key, { uploaded, progress: 1 }),
      (error: unknown) => isAbort(error) || change(entry.key, { error: errorText(error) }),
    );
  }, []);

  const add = useCallback((files: File[]) => {
    const entries = files.map(newUpload);
    setList((all) => [...all, ...entries]);
    entries.forEach(start);
  }, []);

  const remove = useCallback((key: string) => {
    running.current.get(key)?.abort();
    setList((all) => all.filter((entry) => entry.key !== key));
  }, []);

  const retry = useCallback((entry: Upload) => {
    const { error: _, ...fresh } = { ...entry, progress: 0 };
    setList((all) => all.map((other) => (other.key === entry.key ? fresh : other)));
    start(fresh);
  }, []);

  useEffect(() => () => running.current.forEach((end) => end.abort()), []);

  const take = () => {
    setList([]);
    return list.flatMap(({ uploaded }) => (uploaded ? [uploaded] : []));
  };
  return { list, isReady: list.every(({ uploaded }) => uploaded), add, remove, retry, take };
}
