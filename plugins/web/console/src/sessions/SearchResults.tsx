import { get } from "../api.js";
import { channelOf, shortName } from "../chat/names.js";
import { useLoad } from "../hooks.js";
import { Badge, Empty, Loaded, Time } from "../parts/index.js";
import { href } from "../router.js";
import type { FoundText } from "../types.js";
import { Marked } from "./Marked.js";

const AUTHORS = { person: "Person", agent: "Agent", notice: "Notice" } as const;

export function SearchResults({ words }: { words: string }) {
  const hits = useLoad((signal) => get<FoundText[]>("/v1/search", { words, limit: 50 }, signal), [words]);
  return (
    <Loaded load={hits} failure="The search failed">
      {(found) =>
        found.length === 0 ? (
          <Empty icon="search" title="No message contains these words">Try fewer or other words.</Empty>
        ) : (
          <ul class="list" aria-label="Messages">
            {found.map((hit) => (
              <li key={`${hit.turn}/${hit.author}/${hit.text}`}>
                <a class="list-link" href={href("chat", hit.session, hit.turn, words)}>
                  <span class="list-title"><Marked text={hit.text} words={words} /></span>
                  <span class="list-details">
                    <Badge>{channelOf(hit.session)}</Badge>
                    <span>{shortName(hit.session)}</span>
                    <span>{AUTHORS[hit.author]}</span>
                    <Time at={hit.at} />
                  </span>
                </a>
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}
