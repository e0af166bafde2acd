import { Dialog } from "../parts/index.js";
import { routes } from "../routes.js";

const KEYS = [
  { keys: ["/"], effect: "Go to the search or to the message" },
  { keys: ["n"], effect: "New chat" },
  { keys: ["?"], effect: "Show this help" },
  { keys: ["Esc"], effect: "Stop the answer, or close a dialog or the navigation" },
  { keys: ["Enter"], effect: "Send the message" },
  { keys: ["↑"], effect: "Bring back your last message in an empty field" },
  { keys: ["Shift", "Enter"], effect: "New line in the message" },
];

export function KeysDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const views = routes.flatMap(({ key, title }) => (key ? [{ keys: ["g", key], effect: title }] : []));
  return (
    <Dialog title="Keys" isOpen={isOpen} onClose={onClose}>
      <dl class="keys">
        {[...KEYS, ...views].map(({ keys, effect }) => (
          <div key={effect}>
            <dt>{keys.map((key) => <kbd key={key}>{key}</kbd>)}</dt>
            <dd>{effect}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
