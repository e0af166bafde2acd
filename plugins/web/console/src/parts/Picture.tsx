/** Pictures of conversations. A link cannot send the token, so the page loads each file itself. */

import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { errorText, isAbort, send } from "../api.js";
import { useAction } from "../hooks.js";
import { Button } from "./Button.js";
import { Dialog } from "./Dialog.js";

/** The time that a browser has to read a file. */
const KEEP_MS = 30_000;

/** The formats that the daemon gives with their type. SVG can contain scripts, and is not among them. */
const ENDS = /\.(?:png|jpe?g|gif|webp)$/i;
const TYPES = /^image\/(?:png|jpeg|gif|webp)$/;

/** `true` for a file that can be shown as a picture. */
export function isPicture(name: string | undefined, mediaType?: string | null): boolean {
  return mediaType ? TYPES.test(mediaType) : ENDS.test(name ?? "");
}

interface Props {
  /** The path of the file on the daemon. */
  address: string;
  name: string;
}

/** A small picture that opens large. A file that is no picture is a download, and a lost one only a name. */
export function Picture({ address, name }: Props) {
  const box = useRef<HTMLButtonElement>(null);
  const { url, error } = usePicture(box, address);
  const [isOpen, setOpen] = useState(false);
  const [isBroken, setBroken] = useState(false);
  if (isBroken) {
    return <Download address={address} name={name} />;
  }
  if (error !== undefined) {
    return <span class="file">{name} <span class="fault" role="alert">{errorText(error)}</span></span>;
  }
  return (
    <>
      <button type="button" class="thumbnail" ref={box} aria-label={`Show ${name} large`} onClick={() => setOpen(true)}>
        {url !== null && <img src={url} alt="" onError={() => setBroken(true)} />}
      </button>
      <Dialog title={name} look="picture" isOpen={isOpen} onClose={() => setOpen(false)}>
        {url !== null && <img src={url} alt={name} />}
        <Download address={address} name={name} label="Download" />
      </Dialog>
    </>
  );
}

/** Loads the picture once it comes near the screen. */
function usePicture(box: RefObject<HTMLElement | null>, address: string): { url: string | null; error: unknown } {
  const [state, setState] = useState<{ url: string | null; error: unknown }>({ url: null, error: undefined });
  useEffect(() => {
    const end = new AbortController();
    let url: string | null = null;
    const load = async () => {
      try {
        const blob = await (await send(address, undefined, { signal: end.signal })).blob();
        if (!end.signal.aborted) {
          url = URL.createObjectURL(blob);
          setState({ url, error: undefined });
        }
      } catch (error) {
        if (!isAbort(error) && !end.signal.aborted) {
          setState({ url: null, error });
        }
      }
    };
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) {
        observer.disconnect();
        void load();
      }
    }, { rootMargin: "400px" });
    observer.observe(box.current!);
    return () => {
      end.abort();
      observer.disconnect();
      if (url !== null) {
        URL.revokeObjectURL(url);
      }
    };
  }, [address]);
  return state;
}

/** A button that loads a file and hands it to the browser. */
export function Download({ address, name, label = name }: Props & { label?: string }) {
  const downloading = useAction(async () => {
    const response = await send(address, undefined, {});
    const url = URL.createObjectURL(await response.blob());
    const link = Object.assign(document.createElement("a"), { href: url, download: name });
    link.click();
    // Some browsers read the object only after this function has returned.
    setTimeout(() => URL.revokeObjectURL(url), KEEP_MS);
  });
  return (
    <>
      <Button icon="download" isBusy={downloading.isRunning} onClick={() => void downloading.run()}>{label}</Button>
      {downloading.error !== undefined && <span class="fault" role="alert"> {errorText(downloading.error)}</span>}
    </>
  );
}
