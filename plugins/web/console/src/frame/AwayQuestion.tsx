import { answerQuestion, isAsking } from "../away.js";
import { Button } from "../parts/index.js";
import { useStore } from "../store.js";

/** Asks once if the page may show notifications. */
export function AwayQuestion() {
  if (!useStore(isAsking)) {
    return null;
  }
  return (
    <div class="away" role="region" aria-label="Notifications">
      <span>An answer came while you were away. Shall your browser tell you next time?</span>
      <span class="actions">
        <Button look="primary" onClick={() => void answerQuestion(true)}>Tell me</Button>
        <Button look="quiet" onClick={() => void answerQuestion(false)}>No</Button>
      </span>
    </div>
  );
}
