/** A value that components can follow. */

import { useEffect, useState } from "preact/hooks";

export class Store<T> {
  #value: T;
  readonly #followers = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get(): T {
    return this.#value;
  }

  set(value: T): void {
    if (!Object.is(value, this.#value)) {
      this.#value = value;
      for (const follower of [...this.#followers]) {
        follower();
      }
    }
  }

  /** Calls the function after each change. Returns a function that stops the calls. */
  follow(follower: () => void): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }
}

/** Renders the component again whenever the value changes. */
export function useStore<T>(store: Store<T>): T {
  const [value, setValue] = useState(() => store.get());
  useEffect(() => {
    const update = () => setValue(() => store.get());
    // The value may have changed between the first rendering and this effect.
    update();
    return store.follow(update);
  }, [store]);
  return value;
}
