import { Button } from "../../parts/index.js";
import type { PagedLoad } from "./pages.js";

/** The button below a list that has more pages. */
export function More<Row>({ load }: { load: PagedLoad<Row> }) {
  if (!load.data?.hasMore) {
    return null;
  }
  return <div class="more"><Button isBusy={load.isLoading} onClick={load.more}>Show more</Button></div>;
}
