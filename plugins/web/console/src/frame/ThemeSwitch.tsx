import { Icon } from "../parts/index.js";
import { setTheme, theme, THEMES, type Theme } from "../theme.js";
import { useStore } from "../store.js";

const LABELS = { auto: "Colours of the system", light: "Light", dark: "Dark" } as const;
const ICONS = { auto: "auto", light: "sun", dark: "moon" } as const;

export function ThemeSwitch() {
  const current = useStore(theme);
  const option = (name: Theme) => (
    <label key={name} title={LABELS[name]}>
      <input
        type="radio"
        name="theme"
        checked={name === current}
        aria-label={LABELS[name]}
        onChange={() => setTheme(name)}
      />
      <Icon name={ICONS[name]} size={16} />
    </label>
  );
  return <fieldset class="switch" aria-label="Colours">{THEMES.map(option)}</fieldset>;
}
