import { size } from "../format.js";
import { Icon, IconButton } from "../parts/index.js";
import type { Upload } from "./uploads.js";
import type { Uploads } from "./useUploads.js";

export function UploadList({ uploads }: { uploads: Uploads }) {
  if (uploads.list.length === 0) {
    return null;
  }
  return (
    <ul class="uploads" aria-label="Files of the message">
      {uploads.list.map((entry) => <Row key={entry.key} entry={entry} uploads={uploads} />)}
    </ul>
  );
}

function Row({ entry, uploads }: { entry: Upload; uploads: Uploads }) {
  const { key, name, bytes, progress, uploaded, error } = entry;
  return (
    <li class={`upload ${error ? "failed" : ""}`}>
      <Icon name="file" size={16} />
      <span class="upload-name">{name}</span>
      <span class="hint">{error ?? size(bytes)}</span>
      {!uploaded && !error && <progress value={progress} max={1} aria-label={`Upload of ${name}`} />}
      {error && <IconButton icon="retry" label={`Upload ${name} again`} onClick={() => uploads.retry(entry)} />}
      <IconButton icon="close" label={`Remove ${name}`} onClick={() => uploads.remove(key)} />
    </li>
  );
}
