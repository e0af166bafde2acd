import { Button, CopyButton } from "../../parts/index.js";

interface Props {
  /** The text with the changes. */
  text: string;
  onReload: () => void;
}

/** Shown if another program has changed the file: saving would undo its changes. */
export function Conflict({ text, onReload }: Props) {
  return (
    <div class="problem" role="alert">
      <p class="problem-title">The file has changed since it was loaded</p>
      <p>Nothing was saved. Copy your text if you want to keep it, load the file again, and make your changes there.</p>
      <div class="actions">
        <Button icon="retry" onClick={onReload}>Load again, without my changes</Button>
        <CopyButton text={text} />
      </div>
    </div>
  );
}
