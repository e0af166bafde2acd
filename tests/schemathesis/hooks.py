"""Limits the waiting time of requests, which the tool's own timeout would otherwise end."""

import schemathesis

# The document allows longer times, up to which the daemon may hold a request.
MOST_SECONDS = 2


@schemathesis.hook
def before_call(context, case, kwargs):
    query = case.query or {}
    try:
        waits = int(query.get("wait", 0)) > MOST_SECONDS
    except (TypeError, ValueError):
        # Not a number: the daemon has to refuse it.
        return
    if waits:
        query["wait"] = MOST_SECONDS
