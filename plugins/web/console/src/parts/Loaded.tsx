import type { ComponentChildren } from "preact";

import type { Load } from "../hooks.js";
import { Problem } from "./Problem.js";
import { Skeleton } from "./Spinner.js";

interface Props<T> {
  load: Load<T>;
  /** The work, for the error: "The jobs could not be loaded". */
  failure: string;
  children: (data: T) => ComponentChildren;
}

/** The data of a `useLoad`, or its skeleton, or its error. */
export function Loaded<T>({ load, failure, children }: Props<T>) {
  const { data, error, reload } = load;
  return (
    <>
      {error !== undefined && <Problem title={failure} error={error} onRetry={reload} />}
      {data !== undefined ? children(data) : error === undefined && <Skeleton />}
    </>
  );
}
