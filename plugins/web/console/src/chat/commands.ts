/** The commands of a chat, as `/help` lists them. A test compares both. */

export interface ChatCommand {
  name: string;
  /** The argument; may be empty. */
  argument: string;
  help: string;
}

const LIST: readonly (readonly [name: string, argument: string, help: string])[] = [
  ["answer", "code [text | decline]", "answer the question of a server, or decline it"],
  ["approve", "[w… [session]]", "let me do what I asked for, once or for this session"],
  ["compact", "", "replace the earlier conversation with a summary"],
  ["deny", "[w…] [why]", "do not let me do what I asked for"],
  ["help", "", "show what I understand"],
  ["id", "", "show the ids of this chat and of yourself"],
  ["job", "[agent task | show j… | logs j… | cancel j…]", "give an agent a job, or show or cancel jobs"],
  ["link", "[chat | remove chat]", "let another private chat join this conversation"],
  ["memory", "[words | add … | forget m…]", "show, add or forget what I remember here"],
  ["mode", "[default|ask|read]", "show what I may do without asking; owners choose it"],
  ["model", "[provider/model | default]", "which model answers here; owners choose it"],
  ["new", "", "start a new conversation: forget this one"],
  ["pair", "[approve|deny code]", "let strangers speak with me"],
  ["queue", "[queue|collect|steer|interrupt]", "show or choose what happens to messages that arrive while I work"],
  ["resend", "", "resend what did not arrive"],
  ["resume", "all", "let everything go on after a stop of everything"],
  ["retry", "[w…]", "repeat what was interrupted or failed"],
  ["rule", "add [--chat | --person | --agent name] text, remove r…", "add a rule that I must always follow, or remove one"],
  ["rules", "", "show the rules of my owners"],
  ["skip", "[w…]", "continue without what was interrupted"],
  ["status", "", "show what I am doing"],
  ["stop", "[all]", "stop the current work, keep its text; or all work, until /resume all"],
  ["tasks", "[t… | cancel t…]", "show or cancel the tasks that I have given to sub-agents"],
  ["think", "[off|low|medium|high|default]", "show how much I think; owners choose it"],
  ["trust", "", "trust what I have read in this conversation so far"],
  ["usage", "", "show what this conversation has cost"],
  ["voice", "[on|off|auto]", "show or choose which answers I also speak"],
];

export const COMMANDS: readonly ChatCommand[] = LIST.map(([name, argument, help]) => ({ name, argument, help }));

/** Returns the commands that a text may become; empty once it has more than the name. */
export function completions(text: string): readonly ChatCommand[] {
  const typed = /^\/([a-z]*)$/.exec(text)?.[1];
  return typed === undefined ? [] : COMMANDS.filter(({ name }) => name.startsWith(typed));
}
