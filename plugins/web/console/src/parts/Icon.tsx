/** Icons as strokes on a grid of 24 units. They are decoration: a label stands beside each. */

const PATHS = {
  chat: "M4 5h16v11H10l-4 4v-4H4z",
  sessions: "M4 6h16M4 12h16M4 18h10",
  approvals: "M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6zM9 12l2 2 4-4",
  jobs: "M4 8h16v11H4zM9 8V5h6v3M4 13h16",
  schedules: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v4l3 2",
  memory: "M6 4h12v16l-6-4-6 4z",
  usage: "M5 20V11M12 20V4M19 20v-6",
  failed: "M12 4l9 16H3zM12 10v4M12 17v.5",
  events: "M3 12h4l3-7 4 14 3-7h4",
  health: "M12 20S4 15 4 9.5A4.5 4.5 0 0 1 12 7a4.5 4.5 0 0 1 8 2.5C20 15 12 20 12 20z",
  config: "M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4",
  trace: "M4 6h8M8 12h9M14 18h6",
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6L6 18",
  plus: "M12 5v14M5 12h14",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  attach: "M19 11l-7.5 7.5a4.6 4.6 0 0 1-6.5-6.5L12.5 4.5a3 3 0 0 1 4.3 4.3L9.5 16a1.5 1.5 0 0 1-2.1-2.1L14 7.3",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M5 12l5 5 9-10",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.5 15.5L20 20",
  more: "M4 12a1 1 0 1 0 2 0a1 1 0 1 0-2 0M11 12a1 1 0 1 0 2 0a1 1 0 1 0-2 0M18 12a1 1 0 1 0 2 0a1 1 0 1 0-2 0",
  pin: "M9 4h6l-1 6 3 3H7l3-3zM12 13v7",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  down: "M6 9l6 6 6-6",
  right: "M9 6l6 6-6 6",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  retry: "M20 11a8 8 0 1 0-2 6M20 5v6h-6",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M5 19l1.4-1.4M17.6 6.4L19 5",
  moon: "M20 14A8 8 0 0 1 10 4a8 8 0 1 0 10 10z",
  auto: "M3 5h18v11H3zM9 20h6M12 16v4",
  leave: "M10 4H5v16h5M9 12h11M16 8l4 4-4 4",
  keyboard: "M3 7h18v11H3zM7 11h.5M11 11h.5M15 11h.5M8 15h8",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
