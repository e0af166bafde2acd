import { ApiError, errorText } from "../api.js";
import { Button } from "./Button.js";

interface Props {
  /** The work that failed: "The jobs could not be loaded". */
  title: string;
  error: unknown;
  onRetry?: () => void;
}

/** An error in place of the content. */
export function Problem({ title, error, onRetry }: Props) {
  const status = error instanceof ApiError && error.status > 0 ? ` (${error.status})` : "";
  return (
    <div class="problem" role="alert">
      <p class="problem-title">{title}{status}</p>
      <p>{errorText(error)}</p>
      {onRetry && <Button icon="retry" onClick={onRetry}>Try again</Button>}
    </div>
  );
}
