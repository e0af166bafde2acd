import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import { useKey } from "../keys.js";
import { IconButton } from "../parts/index.js";
import { useStore } from "../store.js";
import type { MessageAttachment } from "../types.js";
import { CommandList } from "./CommandList.js";
import { draftRequest } from "./draft.js";
import { UploadList } from "./UploadList.js";
import { useCompletion } from "./useCompletion.js";
import { useRecall } from "./useRecall.js";
import { useUploads } from "./useUploads.js";

interface Props {
  session: string;
  /** `true` while a turn can be stopped. */
  isRunning: boolean;
  /** `true` while the turn waits for a person: Escape then leaves it alone. */
  isWaiting: boolean;
  /** `false` for chats whose channel takes files in its own way. */
  canAttach: boolean;
  /** Returns one's own messages of the conversation, the newest first. */
  earlier: () => readonly string[];
  onSend: (text: string, attachments: MessageAttachment[]) => void;
  onStop: () => void;
}

/** The field for a new message. Its text survives a reload of the page. */
export function Composer({ session, isRunning, isWaiting, canAttach, earlier, onSend, onStop }: Props) {
  const [text, setText] = useDraft(session);
  const uploads = useUploads();
  const field = useRef<HTMLTextAreaElement>(null);
  const completion = useCompletion(text, setText);
  const recall = useRecall(text, earlier);
  const stopOnce = useStopOnce(isRunning, onStop);
  useKey("/", () => field.current?.focus());
  const canEscape = isRunning && !isWaiting;
  useKey("Escape", () => canEscape && stopOnce());
  useHeight(field, text);
  const request = useStore(draftRequest);
  useEffect(() => {
    if (request !== null) {
      draftRequest.set(null);
      setText(request.text);
      field.current?.focus();
    }
  }, [request]);
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) {
      field.current?.focus();
    }
  }, [session]);

  const canSend = uploads.isReady && (text.trim() !== "" || uploads.list.length > 0);
  const submit = () => {
    if (canSend) {
      onSend(text.trim(), uploads.take());
      setText("");
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const recalled = event.shiftKey || event.isComposing ? null : recall(event.key);
    if (!event.isComposing && !event.shiftKey && completion.press(event.key)) {
      event.preventDefault();
    } else if (recalled !== null) {
      event.preventDefault();
      setText(recalled);
    } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      submit();
    } else if (event.key === "Escape" && canEscape) {
      stopOnce();
    } else if (event.key === "Escape") {
      field.current?.blur();
    }
  };
  const onPaste = (event: ClipboardEvent) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length > 0 && canAttach) {
      event.preventDefault();
      uploads.add(files);
    }
  };
  return (
    <form class="composer" aria-label="New message" onSubmit={(event) => (event.preventDefault(), submit())}>
      {canAttach && <DropTarget onFiles={uploads.add} />}
      <UploadList uploads={uploads} />
      {completion.commands.length > 0 && <CommandList {...completion} onPick={completion.pick} />}
      <div class="composer-row">
        {canAttach && <AttachButton onFiles={uploads.add} />}
        <textarea
          ref={field}
          rows={1}
          value={text}
          aria-label="Message"
          placeholder="Write a message"
          enterkeyhint="send"
          aria-autocomplete="list"
          aria-controls={completion.commands.length > 0 ? completion.id : undefined}
          aria-activedescendant={completion.commands.length > 0 ? `${completion.id}-${completion.chosen}` : undefined}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
        />
        {isRunning && <IconButton icon="stop" label="Stop the answer" look="plain" onClick={stopOnce} />}
        <IconButton icon="send" label="Send" look="primary" type="submit" disabled={!canSend} />
      </div>
    </form>
  );
}

/** Stops a running answer. Further calls wait for its end. */
function useStopOnce(isRunning: boolean, onStop: () => void): () => void {
  const isStopping = useRef(false);
  useEffect(() => {
    isStopping.current = false;
  }, [isRunning]);
  return () => {
    if (isRunning && !isStopping.current) {
      isStopping.current = true;
      onStop();
    }
  };
}

function AttachButton({ onFiles }: { onFiles: (files: File[]) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const choose = () => {
    onFiles([...(input.current?.files ?? [])]);
    // The same file can be chosen again after it was removed.
    input.current!.value = "";
  };
  return (
    <>
      <input type="file" multiple hidden ref={input} onChange={choose} aria-label="Files" />
      <IconButton icon="attach" label="Attach files" onClick={() => input.current?.click()} />
    </>
  );
}

/** Takes files that are dropped anywhere on the page. */
function DropTarget({ onFiles }: { onFiles: (files: File[]) => void }) {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const over = (event: DragEvent) => {
      if (hasFiles(event)) {
        event.preventDefault();
        setOver(true);
      }
    };
    const leave = (event: DragEvent) => event.relatedTarget === null && setOver(false);
    const drop = (event: DragEvent) => {
      if (hasFiles(event)) {
        event.preventDefault();
        setOver(false);
        onFiles([...event.dataTransfer!.files]);
      }
    };
    addEventListener("dragover", over);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", drop);
    };
  }, [onFiles]);
  return isOver ? <div class="drop">Drop the files to attach them</div> : null;
}

/** The text of a message that is being written, kept for each session. */
function useDraft(session: string): [string, (text: string) => void] {
  const key = `avocet.draft/${session}`;
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? "");
  const set = (value: string) => {
    setText(value);
    if (value === "") {
      sessionStorage.removeItem(key);
    } else {
      try {
        sessionStorage.setItem(key, value);
      } catch {
        // The storage is full. The text only does not survive a reload.
      }
    }
  };
  return [text, set];
}

/** Makes the field as high as its text. The style sheet sets the limit. */
function useHeight(field: { current: HTMLTextAreaElement | null }, text: string): void {
  useLayoutEffect(() => {
    const element = field.current!;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
  }, [text]);
}
