/** Work of unknown length. */
export function Spinner({ label = "Loading" }: { label?: string }) {
  return <span class="spinner" role="status" aria-label={label} />;
}

/** Grey lines in the place of content that is being loaded. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => <div key={line} />)}
    </div>
  );
}
