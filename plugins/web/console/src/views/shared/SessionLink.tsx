import { href } from "../../router.js";

/** The link to the conversation of a session. */
export function SessionLink({ session }: { session: string }) {
  return <a class="mono" href={href("chat", session)}>{session}</a>;
}
