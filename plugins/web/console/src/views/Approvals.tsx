import { ApprovalCard } from "../approvals/ApprovalCard.js";
import { useApprovals } from "../approvals/open.js";
import { Empty, Loaded, Page } from "../parts/index.js";
import type { ViewProps } from "../routes.js";

export function Approvals(_: ViewProps) {
  return (
    <Page title="Approvals" hint="Calls that wait for your decision. A call without a decision expires.">
      <Loaded load={useApprovals()} failure="The approvals could not be loaded">
        {(approvals) =>
          approvals.length === 0 ? (
            <Empty icon="approvals" title="No call waits for an approval">
              A call that needs your approval appears here and in its chat.
            </Empty>
          ) : (
            <div class="approvals">
              {approvals.map((approval) => <ApprovalCard key={approval.id} approval={approval} hasSession />)}
            </div>
          )
        }
      </Loaded>
    </Page>
  );
}
