import type { ComponentChildren } from "preact";

import { IconButton } from "../../parts/index.js";

interface Props {
  /** `null` shows no notice. The element stays, so that screen readers announce the next one. */
  children: ComponentChildren;
  onClose: () => void;
}

/** The result of an action, above the content. */
export function Notice({ children, onClose }: Props) {
  return (
    <div role="status">
      {children !== null && (
        <div class="notice">
          <div>{children}</div>
          <IconButton icon="close" label="Close this message" onClick={onClose} />
        </div>
      )}
    </div>
  );
}
