/** The codes of errors. */
export declare const ErrorCode: {
    /** The line is not JSON in UTF-8. */
    readonly PARSE: -32700;
    /** The line is not a request. */
    readonly REQUEST: -32600;
    /** The method is unknown; the message lists all methods. */
    readonly METHOD: -32601;
    /** A parameter is wrong. */
    readonly PARAMS: -32602;
    /** The sender may not do this. */
    readonly NOT_ALLOWED: -32001;
    /** The chat, session or message does not exist. */
    readonly NOT_FOUND: -32002;
    /** The daemon cannot answer now; the same request may succeed later. */
    readonly UNAVAILABLE: -32003;
    /**
     * The key was used for another message, the job or session is busy, or the configuration file has
     * changed.
     */
    readonly CONFLICT: -32004;
};
/** One bot login on a channel. */
export type AccountName = string;
/**
 * The end of a model's text. Programs decide by it, and never by the mark, which a model may write
 * itself.
 */
export type AnswerEnding = 
/** The model ended it. */
"complete"
/** The output limit was reached. */
 | "cut_off"
/** A filter of the provider ended it. */
 | "filtered";
/** This call may run. */
export interface ApprovalDecisionOnce {
    decision: "once";
}
/** This call and similar ones in the session may run. */
export interface ApprovalDecisionForSession {
    decision: "for_session";
}
/** The call is denied. */
export interface ApprovalDecisionDenied {
    decision: "denied";
    /** The reason, for the model. */
    why: string | null;
}
/** A person's decision about a call. */
export type ApprovalDecision = ApprovalDecisionOnce | ApprovalDecisionForSession | ApprovalDecisionDenied;
/** A choice of an `ApprovalCard`. */
export interface ApprovalChoice {
    /** The words of the button. */
    label: string;
    /** What the button does. A denial has no reason yet. */
    decision: ApprovalDecision;
}
/**
 * The question about a call. Chats, the web console, the command line, editors and forms of MCP
 * clients show this text and these choices.
 */
export interface ApprovalCard {
    /** The call itself, the reason for the question, and what a choice covers, as Markdown. */
    text: string;
    /** The choices, in the order of their buttons. */
    choices: ApprovalChoice[];
}
/** A valid object. */
export interface ArgumentsObject {
    object: Record<string, unknown>;
}
/**
 * Anything else: a list, a number, half an object. The call fails with a message for the model. The
 * text is kept, so that the model can see its mistake.
 */
export interface ArgumentsMalformed {
    malformed: string;
}
/** The arguments of a tool call. */
export type Arguments = ArgumentsObject | ArgumentsMalformed;
/**
 * The key of one conversation: `channel:account:chat` or `channel:account:chat:topic`. At most 256
 * bytes as a whole. Forbidden are `..`, `/`, `\`, control characters and empty parts.
 */
export type SessionId = string;
/** Identifies a message when it arrives again; unique within a chat. */
export type DedupeKey = string;
/** The kind of an attachment on a platform. */
export type AttachmentKind = 
/** A picture. */
"image"
/** Sound. */
 | "audio"
/** A voice message. */
 | "voice"
/** A small picture that expresses a feeling; some are animated. */
 | "sticker"
/** A video. */
 | "video"
/** Any other file. */
 | "document";
/** A file of a message. */
export interface PublishedFile {
    /** The client's own name of the file, for `file.read`. At most 1,024 bytes. */
    reference: string;
    /** The way in which a platform would show it. Default: `document`. */
    kind?: AttachmentKind;
    /** The file's name for people. */
    name?: string | null;
    /** The media type (RFC 6838). */
    media_type?: string | null;
    /** The size in bytes. */
    bytes?: number | null;
}
/** A text of another author within a message. The agent reads it as untrusted. */
export interface UntrustedPart {
    /** The author or the kind of the text, as people know it. Default: `somebody`. */
    from?: string | null;
    /** The text. */
    text: string;
}
/** `ask`: sends a message to the agent. The result comes after the commit. */
export interface Ask {
    /** The conversation; the reply goes to its chat. */
    session: SessionId;
    /** The text of the message. */
    text: string;
    /**
     * Identifies repetitions of the same message. Default: a random key. A key that was used for
     * another text, or another topic of the chat, is refused.
     */
    key?: DedupeKey | null;
    /**
     * Files. A client that is attached to the chat keeps them until the daemon reads them with
     * `file.read`.
     */
    attachments?: PublishedFile[];
    /**
     * Text of the message that the person did not type, such as a file that their editor added. It is
     * untrusted. At most 100 parts.
     */
    untrusted?: UntrustedPart[];
}
/** An accepted inbound message, numbered by the log in the order of acceptance (`m17`). */
export type MessageId = string;
/** The result of `Ask`. */
export interface AskResult {
    /** The number of the message. */
    message: MessageId;
    /** `true` if the message is a repetition. */
    duplicate: boolean;
}
/** A chat or topic that can get a reply: `telegram:work:-100123:7`. */
export type ChatAddress = string;
/** A platform adapter: `telegram`, `discord`, `terminal`. */
export type ChannelName = string;
/**
 * `attach`: makes the connection a listener of a chat, or of all chats of an account that a program
 * serves. It gets `event` notifications with a `TurnEvent`, and `deliver` requests, which it
 * answers when it has shown the message.
 */
export interface AttachParams {
    /** The chat; left out for all chats of an account. */
    chat?: ChatAddress | null;
    /** The channel: `external`. */
    channel?: ChannelName | null;
    /** The account. */
    account?: AccountName | null;
    /** Characters of the longest message of the account's platform. */
    max_text?: number | null;
    /** `true` to get the model's thoughts in the chat as well, for display. */
    thoughts?: boolean;
}
/** The result of `attach`. */
export interface AttachResult {
    /** Of an account: the positions up to which messages are committed, by scope. */
    cursors?: Record<string, string>;
}
/** A file below the workspace, by its relative path. */
export interface AttachmentSourceWorkspace {
    workspace: string;
}
/** The platform keeps it under this reference. */
export interface AttachmentSourcePlatform {
    platform: string;
}
/** The file could not be fetched, for this reason. */
export interface AttachmentSourceLost {
    lost: string;
}
/** The place of an attachment's bytes. */
export type AttachmentSource = AttachmentSourceWorkspace | AttachmentSourcePlatform | AttachmentSourceLost;
/** The spoken words; empty for a recording without words. */
export interface TranscriptSaid {
    said: string;
}
/** The reason why there is no transcript. */
export interface TranscriptFailed {
    failed: string;
}
/** The transcript of a recording. */
export type Transcript = TranscriptSaid | TranscriptFailed;
/** A file, by reference: its bytes are never part of a message in the log. */
export interface Attachment {
    /** The way in which a platform would show it. */
    kind: AttachmentKind;
    /** The place of the bytes. */
    source: AttachmentSource;
    /** The file's name from its sender; never used as a path. */
    name?: string;
    /** The media type (RFC 6838), according to the platform or the sender. */
    media_type?: string;
    /** The size in bytes, if known. */
    bytes?: number;
    /** The duration in seconds, if the platform provides it. */
    seconds?: number;
    /** The spoken words, once they have been transcribed. */
    transcript?: Transcript;
}
/** A turn, numbered by the log (`t4`). */
export type TurnId = string;
/**
 * `sessions.branch`: copies the beginning of a conversation into a new one. The result is the
 * number of copied turns. Without `through` and `before`, all ended turns are copied.
 */
export interface BranchSession {
    /** The session to copy. */
    session: SessionId;
    /** The new session: one of the same account, or of the terminal or the web console. */
    into: SessionId;
    /** The last turn to copy. */
    through?: TurnId | null;
    /** The first turn to leave out, for a message that is said differently. */
    before?: TurnId | null;
}
/**
 * A tool call, by its turn, the step of the turn, and its place in the step (`t4s1c0`). The model's
 * own ids are not used, because models repeat them and leave them out.
 */
export type CallId = string;
/**
 * The trust level of a text, by its author, the lowest first. It stays with the text in the
 * history, its summary, notes and files. A request has the least trust of all its text.
 */
export type Trust = 
/**
 * Anybody's text: web pages, search results, other servers' answers, forwarded messages, files
 * that came with messages, and files in directories beside the workspace.
 */
"low"
/** Text of an admitted person who is not an owner. */
 | "user"
/** Text of the owners, and their own files: the workspace, the operator's configuration. */
 | "full";
/** The kind of a call's result. */
export type ResultKind = 
/** The tool's own result or error. */
"usual"
/** The beginning of the tool's result, whose rest is kept. */
 | "cut"
/** The program that asked runs the call, and sends the result with its next message. */
 | "sent_to_program"
/** The call did not run, because its approval was denied or expired. */
 | "denied"
/** The call did not run, because a rule of the configuration or of the sandbox forbids it. */
 | "refused"
/** The call did not run, because it was made twice before with the same result. */
 | "repeated"
/** The call was interrupted, and it may have had its effect. */
 | "outcome_unknown";
/** The result of a call, as the model reads it. */
export interface CallResult {
    /** `true` if it succeeded; otherwise `value` is `{"error": "..."}`. */
    ok: boolean;
    /** The result, cut to the limit for one reading. */
    value: unknown;
    /** The trust level of the result. */
    trust: Trust;
    /**
     * The kind of result. Programs decide by it, and never by the text in `value`, which may come
     * from a tool.
     */
    kind?: ResultKind;
}
/** The state that a verifiable tool records before it acts, for the comparison after a crash. */
export interface Evidence {
    /** The object that the call changes, for example a path relative to the workspace. */
    subject: string;
    /** A digest of its state before the call; null if it did not exist. */
    before: string | null;
    /** A digest of the state that the call produces. */
    after: string;
}
export interface CallStateInterruptedValue {
    /** The state that a verifiable tool recorded before it acted. */
    evidence: Evidence | null;
}
/** The process died, or was stopped, between start and finish. */
export interface CallStateInterrupted {
    interrupted: CallStateInterruptedValue;
}
/** The call has its result. */
export interface CallStateFinished {
    finished: CallResult;
}
/** The state of a tool call. */
export type CallState = 
/** To be run. */
"planned"
/** Running. */
 | "started" | CallStateInterrupted
/** The turn waits for an event before this call can continue. */
 | "waiting" | CallStateFinished;
/** An ability of a channel. The daemon turns a message into text that needs no other ability. */
export type Capability = 
/**
 * The program shows the buttons of a message. Without it, they are numbered lines of the text.
 */
"choices"
/** The program sends the files of a message. Without it, each is a line of the text. */
 | "files"
/** The program takes the notification `typing`. */
 | "typing";
/**
 * `sessions.change`: names, pins or archives a conversation. The result is null. What is left out
 * stays as it is.
 */
export interface ChangeSession {
    /** The session. */
    session: SessionId;
    /**
     * The title: one line of at most 80 characters. An empty text removes it, and the first message
     * is the title again.
     */
    title?: string | null;
    /** `true` to list the session as pinned. */
    is_pinned?: boolean | null;
    /** `true` to archive the session. The next message ends that. */
    is_archived?: boolean | null;
}
/** Milliseconds since 1970-01-01T00:00:00Z. */
export type Timestamp = number;
/** The last failed exchange. */
export interface LastFailure {
    /** The time of the failure. */
    at: Timestamp;
    /** The reason, without secrets. */
    reason: string;
    /** Failures since the last success; 0 if an exchange succeeded after this failure. */
    in_a_row: number;
}
/** The last exchanges with a provider, a platform or the disk, since the daemon started. */
export interface LastExchanges {
    /** The time of the last success. */
    success: Timestamp | null;
    /** The last failure. */
    failure: LastFailure | null;
}
/** The state of one channel. */
export interface ChannelStatus {
    /** `channel:account`. */
    account: string;
    /** The fault; null if the channel works. */
    fault: string | null;
    /** The last exchanges with the platform. */
    exchanges: LastExchanges;
}
/** The kind of a chat, by its readers. */
export type ChatKind = 
/** One person and the agent. */
"private"
/** Several people: groups, their topics, channels of a server. */
 | "group";
/**
 * Patterns of chats, in which `*` matches any characters. A pattern that matches a chat matches its
 * topics, too.
 */
export type ChatPatterns = string[];
/** The text of a configuration. It may contain secrets, so `Debug` shows its length only. */
export type ConfigText = string;
/** `config.check`: checks a text without touching the file. The result is a `ConfigCheck`. */
export interface CheckConfig {
    /** The text of a configuration. */
    text: ConfigText;
}
/** The receiver of a child's final text. */
export type ChildMode = 
/** The call of the parent, which waits for it. */
"awaited"
/** The chat of the root turn. The parent goes on at once. */
 | "background";
/** A button. */
export interface Choice {
    /** The text on the button. */
    label: string;
    /** The text that pressing it sends, as if a person had typed it: `/skip w3`. */
    says: string;
}
/** The rights of a program that connects to the daemon. Each role includes the ones before it. */
export type ClientRole = 
/** Reads. */
"observer"
/** Writes to the agent and to chats under its own name. */
 | "sender"
/** Decides about calls that wait for an approval. */
 | "approver"
/** Serves chats of a channel: also brings in messages of other people. */
 | "channel"
/** Does everything. */
 | "operator";
/** A key whose value in the file is not in use. Secrets are hidden. */
export interface ConfigChange {
    /** The key: `sessions.max_running`. */
    key: string;
    /** The value in use, as JSON; null if the key has its default. */
    running: string | null;
    /** The value in the file, as JSON; null if the file does not have the key. */
    file: string | null;
    /** `true` if only the next start uses the value of the file. */
    needs_restart: boolean;
}
/** A fault of a configuration, without secrets. */
export interface ConfigFault {
    /** The line, from 1; null if the fault has no line. */
    line: number | null;
    /** The key: `providers.local.api_key`; null if the fault is not about one key. */
    key: string | null;
    /** The fault, and its correction. */
    message: string;
}
/** The result of a check. */
export interface ConfigCheck {
    /** The faults that prevent a start of the daemon. A check ends at the first one. */
    faults: ConfigFault[];
    /** References that have no value for the daemon that runs now. */
    warnings: ConfigFault[];
}
/** The difference between the configuration file and the configuration that the daemon uses. */
export interface ConfigDiff {
    /** The file, or the place where it would be. */
    path: string;
    /** The keys whose values differ, by name. */
    changes: ConfigChange[];
}
/** A change of one key in the text of a configuration. */
export interface ConfigEdit {
    /** The key, as TOML writes it: `models."local/*".context`. */
    key: string;
    /** The new value; an empty object adds a table. `null` removes the key or the table. */
    value?: unknown;
    /** The new last name of a table. Its keys and comments stay, and `value` does not count. */
    rename?: string | null;
}
/** A part of the form: the tables whose keys begin with the same name. */
export interface FormGroup {
    /** The name; empty for the keys outside of all tables. */
    name: string;
    /** The purpose of the tables. */
    about: string;
}
/** The way to enter the value of a key. */
export type FormInput = 
/** On or off. */
"switch"
/** One of the choices. */
 | "choice"
/** A whole number, or a word that the description names. */
 | "integer"
/** A number, or a word that the description names. */
 | "number"
/** A text of one line. */
 | "text"
/** A text of several lines. */
 | "lines"
/** A list of texts, or of numbers. */
 | "list"
/** A text that is hidden once it is set. A reference to a variable or file is no secret. */
 | "secret"
/** Names of the person's choice, each with one of the choices. */
 | "rules"
/**
 * Names of the person's choice, each with a text. Their values are in an object, with `null` for
 * a text that is hidden.
 */
 | "pairs"
/** Other values, which are edited as text. */
 | "other";
/** A value of a choice. */
export interface FormChoice {
    /** The value. */
    value: string;
    /** Its description. */
    help: string;
}
/** A key of a table. */
export interface FormField {
    /** The key, as TOML writes it. */
    key: string;
    /** The key as faults name it: without quotation marks. */
    path: string;
    /** The key within its table; empty if the table is written as this one value. */
    name: string;
    /** The description, in Markdown. */
    help: string;
    /** The way to enter a value. */
    input: FormInput;
    /** The values of a choice or of a rule; empty for other inputs. */
    choices: FormChoice[];
    /** The least number. */
    least: number | null;
    /** `true` if the entries of a list may be numbers. */
    has_numbers: boolean;
    /**
     * The value in the text, with unresolved references; `null` if the key has its default, or if its
     * value is hidden.
     */
    value: unknown;
    /** `true` if the text has a value that is not shown, because it is a secret. */
    is_hidden: boolean;
}
/** A table of the configuration. */
export interface FormTable {
    /** The key of the table, as TOML writes it; empty for the keys outside of all tables. */
    key: string;
    /** The key as faults name it: without quotation marks. */
    path: string;
    /** The first name of the key, by which tables belong together. */
    group: string;
    /** The kind of a provider, or the platform of a channel. */
    kind: string | null;
    /** The purpose of the table. */
    about: string;
    /**
     * `true` if the table is not in the text, which means something else than an empty table. It then
     * has no fields.
     */
    can_add: boolean;
    /** `true` if the table is in the text and can be removed as a whole. */
    can_remove: boolean;
    /** `true` if its last name can be changed. */
    can_rename: boolean;
    /** The keys, in the order of the reference. */
    fields: FormField[];
}
/** A table that can be added. */
export interface FormAddition {
    /** The table above: `providers`. */
    parent: string;
    /** The first name of its key. */
    group: string;
    /** The purpose of such tables. */
    about: string;
    /** The kinds, of which a new table needs one in its key `kind`; empty if it needs none. */
    kinds: string[];
    /** The names that the table can have; empty for a name of the person's choice. */
    names: string[];
}
/** A text after changes, its check, and the form that shows it. */
export interface ConfigForm {
    /** The text with the changes. Comments, order and all other keys are as before. */
    text: ConfigText;
    /** The check of that text. */
    check: ConfigCheck;
    /** The parts of the form, in the order of the reference; empty if the text is no TOML. */
    groups: FormGroup[];
    /** The tables, in the order of the reference and of the text. */
    tables: FormTable[];
    /** The tables that can be added. */
    additions: FormAddition[];
}
/** A consolidation of memories, numbered by the log (`n3`). */
export type ConsolidationId = string;
/**
 * The readers of a memory. Written as `person telegram:main:7`, `chat telegram:main:-100` or
 * `everyone`.
 */
export type MemoryScope = string;
/** The outcome of a run. */
export type ConsolidationState = 
/** It runs, or the process died. */
"begun"
/** Its edits are applied. */
 | "done"
/** Its edits were shown only. */
 | "shown"
/** It failed, and nothing has changed. */
 | "failed";
/** A run of the past. */
export interface Consolidation {
    /** Its number. */
    id: ConsolidationId;
    /** The scope. */
    scope: MemoryScope;
    /** The time at which it began. */
    began_at: Timestamp;
    /** Its outcome. */
    state: ConsolidationState;
    /** Number of applied edits. */
    applied: number;
    /** The reason of a failure. */
    error: string | null;
}
/** The message that a message replies to. */
export interface Quote {
    /** The author, by the name that they gave themselves; null for the agent. */
    from: string | null;
    /** The text of the message, or the selected part of it. Empty for a file without a caption. */
    text: string;
}
/** The platform's name for a message that it accepted. */
export type PlatformId = string;
export interface StylePreValue {
    /** The programming language: letters, digits and `+#_.-`. */
    language: string | null;
}
/** Lines of code, or a table. */
export interface StylePre {
    pre: StylePreValue;
}
export interface StyleLinkValue {
    /** The target. */
    url: string;
}
/** A link with the scheme `http`, `https`, `tg`, or `mailto`, whose text is the address. */
export interface StyleLink {
    link: StyleLinkValue;
}
/** The style of a part of a text. */
export type Style = 
/** Strong emphasis, and headings on a platform without headings. */
"bold"
/** Emphasis. */
 | "italic"
/** Struck through. */
 | "strike"
/** Hidden until the reader presses it. */
 | "spoiler"
/** Code within a line. */
 | "code" | StylePre
/** Quoted lines. */
 | "quote" | StyleLink;
/** A part of a text and its style. */
export interface StyleRange {
    /** Offset of the first byte. */
    start: number;
    /** Offset after the last byte. */
    end: number;
    /** The style of this part. */
    style: Style;
}
/** A poll. The text of its message is the question. */
export interface Poll {
    /** From 2 to 10 different answers. */
    answers: string[];
    /** `true` if a person may choose several answers. */
    multiple: boolean;
    /** The hours until it ends, on platforms that end polls. */
    hours: number;
}
/** The user of the program. */
export interface ProgramMessageUser {
    role: "user";
    /** The words. */
    text: string;
}
/** A call of a program's tool. */
export interface ProgramCall {
    /** The id, by which its result refers to it. */
    id: string;
    /** The tool. */
    name: string;
    /** The arguments. */
    arguments: Record<string, unknown>;
}
/** An earlier answer. */
export interface ProgramMessageAssistant {
    role: "assistant";
    /** The words; may be empty beside calls. */
    text: string;
    /** The calls of the program's tools. */
    calls?: ProgramCall[];
}
/** The result of a call. It is untrusted. */
export interface ProgramMessageResult {
    role: "result";
    /** The id of the call. */
    call: string;
    /** The result. */
    text: string;
}
/** A message of a conversation that a program keeps. */
export type ProgramMessage = ProgramMessageUser | ProgramMessageAssistant | ProgramMessageResult;
/** A tool that a program runs itself. */
export interface ProgramTool {
    /** The name. */
    name: string;
    /** Its purpose and when to use it. */
    description: string;
    /** The JSON Schema of its arguments. */
    parameters: unknown;
}
/**
 * The request of a program that asks for one answer, as OpenAI's APIs do: its instructions, the
 * conversation that it keeps itself, and the tools that it runs itself. The words are those of the
 * message's sender, except for results.
 */
export interface ProgramRequest {
    /** The profile that answers the conversation from now on; absent for the conversation's own. */
    agent?: string;
    /** Instructions for the answer. */
    instructions?: string;
    /** The messages before this one that are not in the log, in order. */
    earlier?: ProgramMessage[];
    /** Tools that the program runs itself. A call of one ends the turn. */
    tools?: ProgramTool[];
    /** The JSON Schema of the answer, if it has to be JSON. */
    answer_schema?: unknown;
}
/** Text, attachments and buttons. */
export interface Content {
    /**
     * The text; Markdown in outbound messages until a channel has rendered it. May be empty if there
     * is an attachment.
     */
    text: string;
    /** Inbound only: the quoted message, as far as the platform shows it. */
    quote?: Quote;
    /**
     * Inbound only: earlier messages of a group that were not for the agent, and notes of the channel
     * about what happened since, without an author. The oldest come first.
     */
    earlier?: Quote[];
    /**
     * Inbound only: the roles that the platform gives the author in a group, as far as the access
     * rule of the account names them.
     */
    author_roles?: string[];
    /**
     * Outbound: the key of the message that this one replies to, so that the platform can show the
     * reference. Inbound: the key to which every answer refers, also in a private chat.
     */
    reply_to?: DedupeKey;
    /**
     * Inbound only: the message of the bot whose button was pressed. A command can change it instead
     * of replying below it.
     */
    pressed?: PlatformId;
    /** The original author of a forwarded message. */
    forwarded_from?: string;
    /** Inbound only: messages of others that the author forwarded together with this text. */
    forwarded?: Quote[];
    /** The styles of rendered text. If present, the text is plain and no longer Markdown. */
    styles?: StyleRange[];
    /** Files that belong to the message, or to the message that it replies to. */
    attachments?: Attachment[];
    /** Buttons; a channel without buttons shows them as text. */
    choices?: Choice[];
    /** Outbound: a poll with the text as its question, without styles, files and buttons. */
    poll?: Poll;
    /** Inbound only: the parts of a program's request beside the text. */
    program?: ProgramRequest;
}
/** Updates of one account that were not for the agent. */
export interface Ignored {
    /** `channel:account`. */
    account: string;
    /** The reason. */
    reason: string;
    /** Number of updates. */
    count: number;
}
/** A return of the log to an earlier state. */
export interface RolledBack {
    /** The time of the return, or of its discovery. */
    at: Timestamp;
    /** The reason, and the missing part. */
    why: string;
}
/** A row of the outbox, numbered by the log (`o9`). */
export type DeliveryId = string;
/** A chat with chunks to be delivered. */
export interface WaitingChat {
    /** The chat, without a topic because the topics of a chat wait for each other. */
    chat: ChatAddress;
    /** Its chunks to be delivered. */
    count: number;
    /** The first of them. The others wait for it. */
    next: DeliveryId;
    /**
     * The time of that chunk's first failure, or of the platform's last request to wait. Before both,
     * the time at which it was added.
     */
    since: Timestamp;
    /** Sends of that chunk so far. */
    attempts: number;
    /** The error of its last send; null if no send failed. */
    error: string | null;
}
/** Counts over the whole log. */
export interface LogStatus {
    /** The number of times that a daemon has opened the log. */
    epoch: number;
    /** Number of sessions. */
    sessions: number;
    /** Number of accepted messages. */
    messages: number;
    /** Messages that wait in their lanes. */
    queued: number;
    /** Running turns. */
    running: number;
    /** Turns that wait for an event from outside. */
    waiting: number;
    /** Chunks to be delivered. */
    pending: number;
    /** Chunks that may or may not have arrived. */
    unconfirmed: number;
    /** Abandoned chunks. */
    dead: number;
    /** Updates that were not for the agent, by reason. */
    ignored: Ignored[];
    /** Active schedules. */
    schedules: number;
    /** The next time of all schedules. */
    next_due: Timestamp | null;
    /** The last consolidation of memories; null if none ever began. */
    consolidation: Consolidation | null;
    /**
     * The last time that rows newer than the present ones were found to be lost; null if that never
     * happened.
     */
    rolled_back: RolledBack | null;
    /**
     * Chats with chunks to be delivered, 10 at most: first those whose next chunk failed, then the
     * others, each with the longest wait first.
     */
    waiting_chats: WaitingChat[];
    /** Chats with chunks to be delivered that are not in `waiting_chats`. */
    more_waiting_chats: number;
    /** Chats whose next chunk failed, or is held back by the platform. */
    stuck_chats: number;
}
/** The check of the database's pages since the start. */
export type LogCheck = 
/** Done before the start. After an orderly stop, only the header of a large log is checked. */
"at_start"
/** It runs beside the daemon's work, because the last daemon did not stop in order. */
 | "running"
/** The check beside the daemon's work found no fault. */
 | "whole"
/** The log is too large, or the check could not run. */
 | "skipped"
/** A fault was found: the daemon stops. */
 | "damaged";
/** The state of the disk that the data is on. */
export interface DiskStatus {
    /** Bytes that can still be written; null if the system does not tell. */
    free_bytes: number | null;
    /** The fault; null if the disk works. */
    fault: string | null;
    /** The last writes of the log. */
    writes: LastExchanges;
}
/** The state of one provider, from its past requests. */
export interface ProviderStatus {
    /** The name in the configuration. */
    provider: string;
    /** The fault; null if the last request succeeded or none was made yet. */
    fault: string | null;
    /** The last requests. */
    requests: LastExchanges;
}
/** The state of the exporter of traces. */
export interface TelemetryStatus {
    /** The last requests to the collector. */
    exchanges: LastExchanges;
    /** Events of the log that the exporter has not read yet, of all kinds. */
    behind: number;
}
/** The state of the whole daemon. */
export interface DaemonStatus {
    /** The version of the program. */
    version: string;
    /** The process; null if no daemon runs. */
    pid: number | null;
    /** Seconds since the daemon was ready. */
    uptime_seconds: number;
    /** The directory of the log. */
    data_dir: string;
    /** The model, as `provider/model`. */
    model: string;
    /** The state of the log. */
    log: LogStatus;
    /** A fault of the audit table; null if it is intact or was not checked. */
    audit_fault: string | null;
    /** The check of the log's pages. */
    log_check: LogCheck;
    /** The disk that the data is on. */
    disk: DiskStatus;
    /** The providers, by name. */
    providers: ProviderStatus[];
    /** The channels, by name. */
    channels: ChannelStatus[];
    /** The exporter of traces; null if it is off. */
    telemetry: TelemetryStatus | null;
    /** Warnings for the operator, each in one sentence. */
    warnings: string[];
}
/** The id of a dead letter: that of its message (`m12`), or of its first abandoned chunk (`o7`). */
export type DeadId = string;
/** The reason why a message is a dead letter. */
export type DeadReason = 
/** The platform refused the message for good, or every attempt failed. It has not arrived. */
"refused"
/** No attempt was confirmed. It may have arrived. */
 | "unconfirmed"
/** The agent dropped an incoming message. */
 | "dropped";
/** One dead letter. */
export interface DeadLetter {
    /** Its id. */
    id: DeadId;
    /** The reason. */
    reason: DeadReason;
    /** Its chat. */
    chat: ChatAddress;
    /** The start of the first send, or the receipt of an incoming message. */
    at: Timestamp;
    /** The turn that wrote it or worked on it. */
    turn: TurnId | null;
    /** Sends so far; for an incoming message, crashes of the process during its turn. */
    attempts: number;
    /** The last error, or the notice that the chat got about an incoming message. */
    error: string | null;
    /** One line: the beginning of its text, and the names of its files. */
    summary: string;
    /** The text of all abandoned parts. */
    text: string;
}
/** A wait of a turn for an approval, an answer, a child or a choice (`w3`). */
export type WaitId = string;
/** This call may run. */
export interface DecideOnce {
    /** The id of the wait for approval. */
    id: WaitId;
    decision: "once";
}
/** This call and similar ones in the session may run. */
export interface DecideForSession {
    /** The id of the wait for approval. */
    id: WaitId;
    decision: "for_session";
}
/** The call is denied. */
export interface DecideDenied {
    /** The id of the wait for approval. */
    id: WaitId;
    decision: "denied";
    /** The reason, for the model. */
    why?: string | null;
}
/** `approval.decide`: approves or denies a call. The result is null. */
export type Decide = DecideOnce | DecideForSession | DecideDenied;
/** The answer to `deliver`. */
export interface Delivered {
    /** The platform's name for the message. */
    platform_id?: PlatformId | null;
}
/** The state of a delivery, from the worst to the best. */
export type SentState = 
/** The delivery was refused, or abandoned with an earlier part. */
"dead"
/** The delivery may have arrived, and is not sent again. */
 | "unconfirmed"
/** The delivery may have arrived, and is sent again. */
 | "unknown"
/** The delivery waits. */
 | "pending"
/** A send is in progress. */
 | "sending"
/** The platform has taken it. */
 | "sent";
/** A message that a chat gets from outside of the turns of its session. */
export interface DeliveredText {
    /** The first of its parts. */
    delivery: DeliveryId;
    /** The time at which it was queued. */
    at: Timestamp;
    /** The text of all parts, with a line for each file. */
    text: string;
    /** The least advanced state of its parts. */
    state: SentState;
    /** `true` if the text is no longer Markdown: its platform has taken it with styles. */
    is_plain?: boolean;
}
/** A file of a `DeliveryChunk`. */
export interface SentFile {
    /** The way in which a platform would show it. */
    kind: AttachmentKind;
    /** Its name, without directories. */
    name: string;
    /** The media type (RFC 6838), if known. */
    media_type?: string;
    /** The size in bytes. */
    bytes: number;
}
/** `deliver`: a message for the chat. */
export interface DeliveryChunk {
    /** The row of the outbox. */
    id: DeliveryId;
    /**
     * The same for each delivery of this chunk, and for no other chunk. At most 20 ASCII letters and
     * digits.
     */
    nonce: string;
    /** The turn that wrote the message; null if another process sent it. */
    turn: TurnId | null;
    /** The chat. */
    chat: ChatAddress;
    /** The text: plain on a channel that a program serves, otherwise Markdown. */
    text: string;
    /** The styles of plain text. Offsets are bytes. */
    styles?: StyleRange[];
    /** In a group, the key of the message that this one replies to. */
    reply_to?: DedupeKey;
    /** Files, on a channel that a program serves. The program reads their bytes with `file.get`. */
    attachments?: SentFile[];
    /** Buttons. */
    choices?: Choice[];
    /** `true` if the chunk may have arrived before. */
    repeat: boolean;
}
/** The answer of a method that only reports its success, as an empty object. */
export type EmptyAnswer = Record<string, unknown>;
/** An answer of a model. */
export interface EventAnswer {
    /** The text; may be empty if there are calls. */
    text: string;
    /** Tokens of the request. */
    input_tokens: number;
    /** Tokens of the answer. */
    output_tokens: number;
    /** The names of the tools that it calls. */
    calls?: string[];
}
/** The number of an event. Numbers rise; after a roll-back of the log they jump ahead. */
export type EventSeq = number;
/** The kind of an event: a table of the log and the new state of its row. */
export type EventKind = 
/** A daemon has opened the log. */
"daemon.started"
/** The log has returned to an earlier state. Numbers of events have jumped ahead. */
 | "log.rolled_back"
/** A message was accepted. */
 | "message.queued"
/** Its author has edited it. */
 | "message.corrected"
/** It has an outcome. */
 | "message.done"
/** It was dropped. */
 | "message.dead"
/** A turn waits for its lane. */
 | "turn.queued"
/** A lane runs it. */
 | "turn.running"
/** It waits for a person or a sub-agent. */
 | "turn.waiting"
/** It ended with an answer. */
 | "turn.done"
/** It was stopped. */
 | "turn.cancelled"
/** It ended without an answer. */
 | "turn.failed"
/** A model has answered, with a text, with calls, or with both. */
 | "model.answered"
/** The tokens and the cost of a request to a model were recorded. */
 | "usage.recorded"
/** A request to a model failed and was made again. */
 | "request.failed"
/** A call that does more than read was started. */
 | "call.started"
/** A call waits for a person or a sub-agent. */
 | "call.waiting"
/** A call was under way when the process ended. */
 | "call.interrupted"
/** A call has its result. */
 | "call.finished"
/** A part of a message waits for its delivery, for the first time or again. */
 | "delivery.pending"
/** It is being sent. */
 | "delivery.sending"
/** The platform has accepted it. */
 | "delivery.sent"
/** A send had no known outcome. */
 | "delivery.unknown"
/** No send of it was confirmed; the daemon has stopped trying. */
 | "delivery.unconfirmed"
/** The platform has refused it for good. */
 | "delivery.dead"
/** A memory was written or changed. */
 | "memory.written"
/** A memory was forgotten. */
 | "memory.forgotten"
/** The last change of a memory was undone. */
 | "memory.undone"
/** A schedule runs from now on. */
 | "schedule.active"
/** A schedule pauses. */
 | "schedule.paused"
/** A schedule has ended. */
 | "schedule.ended";
/** The author of a message, by the platform's own id. */
export type SenderId = string;
/** The outcome of an accepted message. Every accepted message ends with exactly one outcome. */
export type Outcome = 
/** A reply was put into the outbox, or the message tool had sent it already. */
"replied"
/** A visible error was put into the outbox. */
 | "error"
/** A visible notice reports that the message was dropped, and how to send it again. */
 | "dropped"
/** The answer to another message covers it (collect, steer), or it answered a question. */
 | "merged"
/** Its sender stopped it. */
 | "stopped";
/** A message from a person, a program or a schedule. */
export interface EventMessage {
    /** Its number. */
    id: MessageId;
    /** Its chat. */
    chat: ChatAddress;
    /** The author. */
    sender: SenderId;
    /** The name of the author, if the platform gave one. */
    sender_name?: string;
    /** `true` for a command such as `/new`. */
    is_command: boolean;
    /** The text, with a line for each file. */
    text: string;
    /** The outcome; absent before the end. */
    outcome?: Outcome;
    /** The answer to a command. */
    reply?: string;
}
/** The kinds of waits. */
export type WaitKind = 
/** A person allows or denies a call. */
"approval"
/** A person answers a question; the next plain text is the answer. */
 | "answer"
/** A child turn ends. */
 | "child"
/** A person decides if a call with an unknown outcome runs again. */
 | "choice";
/** The kind of reason why a turn ended without an answer. */
export type FailureCode = 
/** The provider got too many requests. */
"rate_limited"
/** The credit or the quota at the provider is used up. */
 | "quota"
/** The provider refused the API key. */
 | "key_refused"
/** The conversation is too long for the model. */
 | "context_too_long"
/** The provider is overloaded, has an internal error, or cannot be reached. */
 | "unavailable"
/** The model did not answer in time. */
 | "timed_out"
/** The answer broke off or is malformed. */
 | "bad_answer"
/** A filter of the provider refused the request or the answer. */
 | "refused_by_filter"
/** The provider refused the request for another reason. */
 | "refused"
/** A limit or a budget of the configuration was reached. */
 | "limit_reached"
/** The program itself failed. */
 | "internal";
/** The reason why a turn ended without an answer. */
export interface TurnFailure {
    /** The kind of reason. */
    code: FailureCode;
    /** The model that failed, as `provider/model`; absent if no model did. */
    model?: string;
    /** The HTTP status of the provider, from 100 to 599; absent if it sent none. */
    status?: number;
    /** The seconds for which the provider asks its clients to wait. */
    retry_after_seconds?: number;
}
/** A turn. */
export interface EventTurn {
    /** Of a sub-agent: the turn that started it. */
    parent?: TurnId;
    /** Of a sub-agent: a short name for people. */
    label?: string;
    /** The events for which it waits. */
    waits_for?: WaitKind[];
    /** The answer with which it ended. */
    answer?: string;
    /** The text that the chat got instead of an answer. */
    notice?: string;
    /** The reason of a missing answer, for programs. */
    failure?: TurnFailure;
}
/** The purpose of a request to a model. */
export type Purpose = 
/** The answer of a turn, or a step on the way to it. */
"answer"
/** A summary of a conversation. */
 | "summary"
/** A consolidation of memories. */
 | "consolidation"
/** Vectors for the search in memories. */
 | "embedding"
/** A spoken answer. Its characters count as tokens at four each. */
 | "speech";
/** An amount of US dollars, exact to a billionth of a dollar. */
export type Money = number;
/** The cost of a request to a model. */
export interface EventUsage {
    /** `provider/model`. */
    model: string;
    /** The purpose of the request. */
    purpose: Purpose;
    /** Input tokens. */
    input: number;
    /** Output tokens, including reasoning. */
    output: number;
    /** Part of `input` that the provider read from its cache. */
    cached: number;
    /** Part of `input` that the provider wrote into its cache. */
    cache_written: number;
    /** The cost; null for an unknown price. */
    cost: Money | null;
}
/** A request to a model that failed and was made again. */
export interface EventFailedRequest {
    /** The start. */
    began: Timestamp;
    /** The time of the failure. */
    ended: Timestamp;
    /** The purpose of the request. */
    purpose: Purpose;
    /** The kind of reason. */
    code: FailureCode;
    /** The model that failed, as `provider/model`; absent if no model did. */
    model?: string;
    /** The HTTP status of the provider, from 100 to 599; absent if it sent none. */
    status?: number;
    /** The seconds for which the provider asks its clients to wait. */
    retry_after_seconds?: number;
}
/** A call of a tool. */
export interface EventTool {
    /** The name of the tool. */
    name: string;
    /** Its arguments. */
    arguments: Record<string, unknown>;
    /** `true` if it succeeded; absent without a result. */
    ok?: boolean;
    /** Bytes of the result, as JSON. */
    result_bytes?: number;
    /** The reason, if the call was refused by a rule or the policy. */
    refusal?: string;
}
/**
 * A part of a message to a chat. A platform limits the length of a message, so that a long one has
 * several parts.
 */
export interface EventDelivery {
    /** Its number. */
    id: DeliveryId;
    /** The chat. */
    chat: ChatAddress;
    /** `reply`, `tool`, `prompt`, `notice`, or `process` for another program. */
    source: string;
    /** The number of the part, from 0. */
    part: number;
    /** The text, with a line for each file. */
    text: string;
    /** Buttons. */
    choices?: Choice[];
    /** Number of sends. */
    attempts: number;
    /** `true` if it was sent again although it may have arrived. */
    repeat: boolean;
    /** The platform's name for it. */
    platform_id?: PlatformId;
    /** The last error. */
    error?: string;
}
/** A memory, numbered by the log (`m12`). */
export type MemoryId = string;
/** A change of a memory, numbered by the log (`c31`). */
export type MemoryChangeId = string;
/** A memory after a change. */
export interface EventMemory {
    /** Its number. */
    id: MemoryId;
    /** The number of the change. */
    change: MemoryChangeId;
    /** Its readers: `person ID`, `chat SESSION` or `everyone`. */
    scope: string;
    /** The text after the change; absent if it is forgotten. */
    text?: string;
}
/** A schedule, numbered by the log (`s2`). */
export type ScheduleId = string;
/** A schedule. */
export interface EventSchedule {
    /** Its number. */
    id: ScheduleId;
    /** The chat that gets its answers. */
    chat: ChatAddress;
    /** The text, task or checklist. */
    body: string;
    /** The next time. */
    next_at?: Timestamp;
}
/**
 * One event. The details are those of the log at the time of reading: a text that was removed since
 * is missing.
 */
export interface LogEvent {
    /** Its number. */
    seq: EventSeq;
    /** The time of its transaction. */
    at: Timestamp;
    /** The change. */
    kind: EventKind;
    /** The session; absent if it concerns none. */
    session?: SessionId;
    /** The turn. */
    turn?: TurnId;
    /** The step of the turn. */
    step?: number;
    /** The call. */
    call?: CallId;
    /** Of `message.*`. */
    message?: EventMessage;
    /** Of `turn.*`. */
    turn_info?: EventTurn;
    /** Of `model.answered`. */
    answer?: EventAnswer;
    /** Of `usage.recorded`. */
    usage?: EventUsage;
    /** Of `request.failed`. */
    failed_request?: EventFailedRequest;
    /** Of `call.*`. */
    tool?: EventTool;
    /** Of `delivery.*`. */
    delivery?: EventDelivery;
    /** Of `memory.*`. */
    memory?: EventMemory;
    /** Of `schedule.*`. */
    schedule?: EventSchedule;
}
/**
 * `events`: a request to the client. Any result confirms the batch; an error ends the subscription.
 */
export interface EventBatch {
    /**
     * The events, oldest first. After a lost connection, the batch that was not confirmed comes
     * again.
     */
    events: LogEvent[];
    /** The position behind them. */
    next: EventSeq;
}
/** The result of `ListEvents`. */
export interface EventList {
    /** The identity of the log. Another identity means that the log was rolled back or replaced. */
    log: string;
    /** The events. */
    events: LogEvent[];
    /** The position behind them, for the next page. The list ends where it equals `newest`. */
    next: EventSeq;
    /** The newest event of the log. */
    newest: EventSeq;
    /** The number of events behind `after` that were removed because of their age, at most. */
    removed: number;
}
/** A piece of a file: the result of `GetFile`, and the answer to `file.read`. */
export interface FilePiece {
    /** The bytes in base64 (RFC 4648, section 4). At the end of the file it is empty. */
    data: string;
}
/**
 * `config.form`: applies changes to a text, checks the result, and describes it as a form. The file
 * stays as it is. The result is a `ConfigForm`.
 */
export interface FormConfig {
    /** The text of a configuration. */
    text: ConfigText;
    /** The changes, in their order. Default: none. */
    edits?: ConfigEdit[];
}
/** The author of a text. */
export type TextAuthor = 
/** A person. */
"person"
/** The agent. */
 | "agent"
/** The daemon, which explains why there is no answer. */
 | "notice";
/** A text of a conversation that a search found. */
export interface FoundText {
    /** The conversation. */
    session: SessionId;
    /** The turn. */
    turn: TurnId;
    /** The time of writing. */
    at: Timestamp;
    /** The author. */
    author: TextAuthor;
    /**
     * The part of the text around the words, in one line without secrets, at most 240 characters
     * long.
     */
    text: string;
}
/**
 * `file.get`: a piece of a file of a chunk that this connection has to deliver. The result is
 * `FilePiece`.
 */
export interface GetFile {
    /** The id of the request `deliver`. */
    delivery: string;
    /** The place of the file in its attachments, from 0. */
    file: number;
    /** The number of bytes before the piece. */
    offset: number;
}
/** The name of a tool. */
export type ToolName = string;
/**
 * An approval for the rest of a session: calls of `tool` with the same scope need no further
 * approval.
 */
export interface Grant {
    /** The tool, by its own name instead of an alias. */
    tool: ToolName;
    /** The scope in which calls need no further approval. */
    scope: string;
}
/**
 * `health`: a notification of the program about its platform, for `avocet status`. It concerns all
 * accounts that the connection serves, and counts until the next report.
 */
export interface HealthReport {
    /** `true` if the platform can be reached. */
    up: boolean;
    /** The reason why it cannot be reached. */
    reason?: string | null;
}
/** A token or key. `Debug` and `Display` show `[secret]`; memory is wiped on drop. */
export type Secret = string;
/**
 * `hello`: names the client, and proves it with a token. Later requests have the rights of this
 * client. Without parameters, the rights stay as they are. The result is a `Welcome`.
 */
export interface Hello {
    /** The name of a table in `[gateway.clients]`. */
    client?: string | null;
    /** The token of the client. */
    token?: Secret | null;
    /** The version of the protocol that the program speaks, from 1. Default: that of the daemon. */
    protocol?: number | null;
    /** The abilities of a channel. Default: all of them. */
    capabilities?: Capability[] | null;
}
/** The author of a message. */
export interface Sender {
    /** The platform's id of the person, bot or process. */
    id: SenderId;
    /** The display name that the person chose, if any; for display only, never for decisions. */
    name: string | null;
    /** `true` if the platform reports the author as a program. */
    is_bot: boolean;
}
/** A message that a channel or another process publishes on the bus. */
export interface Inbound {
    /** The chat of the message, which also gets the reply. */
    address: ChatAddress;
    /** The author. */
    sender: Sender;
    /** Identifies the message when it arrives again; unique within the chat. */
    key: DedupeKey;
    /** The content of the message. */
    content: Content;
    /** The kind of chat, which says if others read it. */
    chat: ChatKind;
    /** The time of writing according to the platform; null if it was written just now. */
    written_at: Timestamp | null;
    /**
     * The key of the message that this one corrects, if a person edited it. The correction has a key
     * of its own.
     */
    corrects: DedupeKey | null;
    /**
     * The time of the edit, if the message had been edited before it was first received. The platform
     * may report that edit again.
     */
    edited_at: Timestamp | null;
}
/** The way in which the lane handles a message. */
export type InboundKind = 
/** Waits in its lane and starts a turn. */
"text"
/** `/stop`, `/status`, ...: never waits in the lane. */
 | "command";
/** A job, numbered by the log (`j5`). */
export type JobId = string;
/** The limits of a job. Any of them ends the job with an error. */
export interface JobLimits {
    /** Requests to the model. */
    max_inference_runs: number;
    /** Running time in seconds, without the waits for people. */
    max_seconds: number;
    /** The most cost; null if the job sets no limit. */
    max_cost?: Money | null;
}
/** The limits of a job. Any of them ends the job with an error. */
export interface JobLimitsInAnswer {
    /** Requests to the model. */
    max_inference_runs: number;
    /** Running time in seconds, without the waits for people. */
    max_seconds: number;
    /** The most cost; null if the job sets no limit. */
    max_cost: Money | null;
}
/** The state of a job. */
export type JobState = 
/** The job waits for its turn. */
"queued"
/** The agent works on it. */
 | "running"
/** The job waits for a person or a child. */
 | "waiting"
/** The job ended with an answer. */
 | "completed"
/** The job ended with an error, or at a limit. */
 | "failed"
/** A person ended the job. */
 | "cancelled";
/** The sum of the usage of several answers. */
export interface Total {
    /** Input tokens. */
    input: number;
    /** Output tokens, including reasoning. */
    output: number;
    /** Part of `input` that the provider read from its cache. */
    cached: number;
    /** Part of `input` that the provider wrote into its cache. */
    cache_written: number;
    /** Cost of the tokens with a known price. */
    cost: Money;
    /** Tokens, read and written, with an unknown price. */
    unpriced: number;
}
/** A job and its progress. */
export interface JobStatus {
    /** The number of the job. */
    id: JobId;
    /** The state, which follows from its message and its turn. */
    state: JobState;
    /** The task. */
    task: string;
    /** The name of its profile. */
    agent: string;
    /** The directory in which it works, as an absolute path; null for the profile's workspace. */
    workspace: string | null;
    /** The limits of the job. */
    limits: JobLimitsInAnswer;
    /** The destination of progress and result. */
    chat: ChatAddress;
    /** The person or process that submitted it. */
    submitted_by: string;
    /** The time of the submission. */
    submitted_at: Timestamp;
    /** The session in which it runs. */
    session: SessionId;
    /** The turn that does the work, once it has begun. */
    turn: TurnId | null;
    /** The start of that turn. */
    started_at: Timestamp | null;
    /** The end of that turn. */
    ended_at: Timestamp | null;
    /** Requests to the model so far, as recorded steps. */
    inference_runs: number;
    /** Tokens and cost so far, those of children included. */
    usage: Total;
    /** The final text or the reason of the end. */
    result: string | null;
}
/** The answer to a `JsonQuestion`. */
export interface JsonAnswer {
    /** `provider/model`. */
    model: string;
    /** The number of requests to the model. */
    requests: number;
    /** The answer; absent if no answer matches the schema. */
    answer?: unknown;
    /** The faults of the last answer; empty if it matches. */
    faults: string[];
}
/** A question whose answer is JSON. */
export interface JsonQuestion {
    /** The session, whose agent and model answer. */
    session: SessionId;
    /** The question. */
    text: string;
    /** The JSON Schema of the answer. */
    schema: unknown;
}
/** `approval.list`: a list of `OpenApproval` in the order of the requests, without secrets. */
export interface ListApprovals {
    /** The most rows, from 1 to 500. */
    limit?: number;
    /** The last row that the client has. A page with fewer rows than `limit` is the last. */
    after?: WaitId | null;
}
/** `dead.list`: a list of `DeadLetter`, the newest first, without secrets. */
export interface ListDeadLetters {
    /** The most rows, from 1 to 500. */
    limit?: number;
    /** The last dead letter that the client has. A page with fewer rows than `limit` is the last. */
    after?: DeadId | null;
}
/** `events.list`: events, oldest first, without secrets. The result is an `EventList`. */
export interface ListEvents {
    /** The last event that the client has; 0 for all events. */
    after?: EventSeq;
    /** The most events, from 1 to 500. */
    limit?: number;
    /** Only of this session. */
    session?: SessionId | null;
    /** Only of these kinds: `message.queued`, or `message` for all kinds of messages. */
    kinds?: string[];
}
/** `memory.list`: a list of `Memory` without forgotten ones and without secrets. */
export interface ListMemories {
    /**
     * Words; memories with any of them are listed, the best match first. Without a word all memories
     * are listed, the newest first.
     */
    words?: string;
    /** Only memories of this scope. */
    scope?: MemoryScope | null;
    /** The most rows, from 1 to 500. */
    limit?: number;
}
/** `memory.log`: a list of `MemoryChange`, the newest first, without secrets. */
export interface ListMemoryChanges {
    /** Only changes of this memory. */
    memory?: MemoryId | null;
    /** Only changes of memories of this scope. */
    scope?: MemoryScope | null;
    /** The most rows, from 1 to 500. */
    limit?: number;
}
/**
 * `sessions.sent`: a list of `DeliveredText`, the newest first: the messages that the chat of a
 * session got from outside of the session's turns.
 */
export interface ListSent {
    /** The session. */
    session: SessionId;
    /** The most rows, from 1 to 500. */
    limit?: number;
    /** The oldest message that the client has. A page with fewer rows than `limit` is the last. */
    before?: DeliveryId | null;
}
/**
 * A position in the list of sessions, from which the next page continues. Written as
 * `USED_AT/SESSION`.
 */
export interface SessionRow {
    /** The last time that the session was used, to the minute. */
    used_at: Timestamp;
    /** The session. */
    session: SessionId;
}
/** The sessions of a list. */
export type SessionGroup = 
/** Neither pinned nor archived. */
"other"
/** Pinned, and not archived. */
 | "pinned"
/** Archived. */
 | "archived";
/** `sessions.list`: a list of `SessionSummary`, the last used first. */
export interface ListSessions {
    /** The most rows, from 1 to 500. */
    limit?: number;
    /**
     * `used_at` and `session` of the last row that the client has. A page with fewer rows than
     * `limit` is the last.
     */
    after?: SessionRow | null;
    /** The group to list. Default: all sessions. */
    only?: SessionGroup | null;
}
/** A tool call as the model wrote it. */
export interface ToolCall {
    /** The name as written; a tool of this name may be missing. */
    name: string;
    /** The arguments as written. */
    arguments: Arguments;
}
/** A tool call in the log. */
export interface LoggedCall {
    /** Its id. */
    id: CallId;
    /** The call as the model wrote it. */
    call: ToolCall;
    /** Its state. */
    state: CallState;
    /** A digest of the question that a person saw and approved. */
    allowed: string | null;
}
/** An inbound message that the bus admitted, ready for the log. */
export interface NewInbound {
    /** The conversation that it belongs to. */
    session: SessionId;
    /** Text or command. */
    kind: InboundKind;
    /** The message, its text sanitised. */
    inbound: Inbound;
    /** Number of characters that sanitising removed. */
    removed: number;
    /**
     * Upper limit for the trust of the text. `full` for messages of people, whose role decides; less
     * for a message that the daemon itself writes, for example for a scheduled task.
     */
    trust?: Trust;
}
/** An inbound message in the log. */
export interface LoggedInbound {
    /** Its number. */
    id: MessageId;
    /** The time of the commit. */
    received_at: Timestamp;
    /** The committed message. */
    message: NewInbound;
}
/** A short description of a message whose delivery failed. */
export interface LostMessage {
    /** The destination. */
    chat: ChatAddress;
    /** The message in one line. */
    what: string;
    /** The reason why it was abandoned, in one line. */
    why: string;
    /** `true` if it may have arrived. */
    unconfirmed: boolean;
    /** The trust of the text in `what`. */
    trust: Trust;
}
/** A person on one account: `telegram:main:4711`. */
export type PersonId = string;
/** The origin of a memory. A part is null if it is unknown. */
export interface MemorySource {
    /** The conversation. */
    session: SessionId | null;
    /** The turn. */
    turn: TurnId | null;
    /** The last message of the person before the memory was written. */
    message: MessageId | null;
    /** The author of that message. */
    said_by: PersonId | null;
    /** The time of writing. */
    written_at: Timestamp;
}
/** A fact in the long-term memory. */
export interface Memory {
    /** Its number. */
    id: MemoryId;
    /** Its readers. */
    scope: MemoryScope;
    /** The text. */
    text: string;
    /** The trust of the request in which it was written. */
    trust: Trust;
    /** The origin of its first text. */
    source: MemorySource;
    /** Number of changes, from 1. */
    revision: number;
    /** `true` if it is forgotten. */
    forgotten: boolean;
}
/**
 * The author of a change. Written as `call t4s1c0`, `person telegram:main:7`, `file DIGEST`,
 * `consolidation` or `process`.
 */
export type MemoryAuthor = string;
/** The kind of a change. */
export type MemoryChangeKind = 
/** The memory has a new text. It is new itself if it had no text before. */
"written"
/** The memory is forgotten. */
 | "forgotten"
/** An earlier change is undone. */
 | "undone";
/** A text of a memory at one time. */
export interface MemoryText {
    /** The text. */
    text: string;
    /** Its trust. */
    trust: Trust;
}
/** A change of a memory. */
export interface MemoryChange {
    /** Its number, in the order of all changes. */
    id: MemoryChangeId;
    /** The changed memory. */
    memory: MemoryId;
    /** The scope of the memory. */
    scope: MemoryScope;
    /** The time of the change. */
    at: Timestamp;
    /** The author of the change. */
    author: MemoryAuthor;
    /** The kind of the change. */
    kind: MemoryChangeKind;
    /** The text before; null if the memory was absent. */
    before: MemoryText | null;
    /** The text after; null if the memory is absent since. */
    after: MemoryText | null;
}
/** The result of `ShowMemory`. */
export interface MemoryDetails {
    /** Its number. */
    id: MemoryId;
    /** Its readers. */
    scope: MemoryScope;
    /** The text. */
    text: string;
    /** The trust of the request in which it was written. */
    trust: Trust;
    /** The origin of its first text. */
    source: MemorySource;
    /** Number of changes, from 1. */
    revision: number;
    /** `true` if it is forgotten. */
    forgotten: boolean;
    /** Its last changes, at most 500, the newest first. */
    changes: MemoryChange[];
}
/** Tokens, as the provider counts them. Without that count, an estimate of four bytes per token. */
export interface Usage {
    /** Input tokens. */
    input: number;
    /** Output tokens, including reasoning. */
    output: number;
    /** Part of `input` that the provider read from its cache. */
    cached: number;
    /** Part of `input` that the provider wrote into its cache. */
    cache_written: number;
}
/** The progress of a message. */
export interface MessageStatus {
    /** The message. */
    id: MessageId;
    /** The conversation. */
    session: SessionId;
    /** The turn that answers it. */
    turn: TurnId | null;
    /** The outcome; null before the end. */
    outcome: Outcome | null;
    /** The text of the reply, the error or the notice. */
    reply: string | null;
    /** The end of the reply. An incomplete one has a mark for people at its end. */
    ending?: AnswerEnding;
    /** `true` if the turn ended with an error: then the text is the reason. */
    failed?: boolean;
    /**
     * The reason of the missing answer, for programs; absent if the turn has an answer, or if the
     * reason has no name.
     */
    failure?: TurnFailure;
    /** The time of the commit. */
    received_at?: Timestamp;
    /** The tokens of the turn, with those of its sub-agents; absent before a turn began. */
    usage?: Usage;
    /** The calls that the program that asked has to run. */
    calls?: ProgramCall[];
}
/** A position in the messages of the platform. */
export interface PublishedCursor {
    /** The range that the position belongs to. Default: empty, the whole account. */
    scope?: string;
    /** The position, in the program's own format. */
    position?: string;
}
/**
 * `cursor.move`: moves the position in the platform's messages without a message. The result, which
 * is empty, comes after the commit.
 */
export interface MoveCursor {
    /** The channel. */
    channel: ChannelName;
    /** The account. */
    account: AccountName;
    /** The new position. */
    cursor: PublishedCursor;
}
/** `job.show`: one `JobStatus`; `job.cancel`: null. */
export interface NamedJob {
    /** The number of the job. */
    id: JobId;
}
/** A call that waits for approval. */
export interface OpenApproval {
    /** The wait, which identifies the request. */
    id: WaitId;
    /** The conversation. */
    session: SessionId;
    /** The chat that got the question; null for a turn without a chat. */
    chat: ChatAddress | null;
    /** The tool, by the name that the model used. */
    tool: string;
    /** The complete arguments. */
    arguments: Record<string, unknown>;
    /** The grant that an approval for the session adds. */
    grant: Grant | null;
    /** The time at which the call counts as denied. */
    expires_at: Timestamp;
    /** The question as a person reads it. */
    card: ApprovalCard;
}
/** `web.open`: makes a link that opens the web console once. The result is a `WebLink`. */
export interface OpenWeb {
    /** The port to open if the HTTP interface is off. Default: 8470, or any free port. */
    port?: number | null;
}
/** Messages from people or processes, in order. */
export interface OriginMessages {
    messages: LoggedInbound[];
}
export interface OriginChildValue {
    /** The turn that started it. */
    parent: TurnId;
    /** The task. */
    prompt: string;
    /** The trust of the request that led to it. */
    trust: Trust;
    /** A short name of the task, for people. */
    label?: string;
    /** The receiver of its final text. */
    mode?: ChildMode;
}
/** A task of another turn. */
export interface OriginChild {
    child: OriginChildValue;
}
/** The messages or the task that started a turn. */
export type Origin = OriginMessages | OriginChild;
/**
 * `publish`: a message of a person on the program's platform. The result, an `AskResult`, comes
 * after the commit. If the bus refuses the message, the cursor moves, too.
 */
export interface PublishParams {
    /** The chat of the message, which gets the reply. */
    chat: ChatAddress;
    /** The kind of chat. Default: `private`. */
    chat_kind?: ChatKind;
    /** The person, by the platform's own id. */
    sender: SenderId;
    /** The name for display. */
    sender_name?: string | null;
    /** `true` if the platform reports the author as a program. */
    is_bot?: boolean;
    /** Identifies repetitions of the message; unique within the chat. */
    key: DedupeKey;
    /**
     * The text that the person typed, and nothing else: it is trusted as much as the person. It may
     * be missing if something else came.
     */
    text?: string;
    /**
     * Messages of others that the person forwarded with the text. They are untrusted, like all of
     * these parts. At most 100 of each kind.
     */
    forwarded?: UntrustedPart[];
    /** Messages of others that the person quoted in the text. */
    quotes?: UntrustedPart[];
    /** Other text of the message that the person did not type, such as a contact card. */
    untrusted?: UntrustedPart[];
    /** Files, which the daemon reads from the program with `file.read`. */
    attachments?: PublishedFile[];
    /** The time of writing in milliseconds since 1970; null for now. */
    written_at?: Timestamp | null;
    /** The key of the message that this one corrects. */
    corrects?: DedupeKey | null;
    /** The position in the platform's messages. It is stored in the same transaction. */
    cursor?: PublishedCursor | null;
}
/**
 * `file.read`: the daemon reads a piece of a file that the program keeps. The answer is a
 * `FilePiece`.
 */
export interface ReadFilePiece {
    /** The reference of the attachment. */
    reference: string;
    /** The number of bytes before the piece. */
    offset: number;
    /** The most bytes of the piece. */
    length: number;
}
/** A memory as a turn's requests contain it. Later changes of the memory leave it as it is. */
export interface RecalledMemory {
    /** The memory. */
    id: MemoryId;
    /** Its readers. */
    scope: MemoryScope;
    /** Its text. */
    text: string;
    /** Its trust. */
    trust: Trust;
    /** The time of writing. */
    written_at: Timestamp;
}
/** A program that follows the events of the log. */
export type SubscriberName = string;
/** `subscriber.remove`: forgets the position of a subscriber. The result is null. */
export interface RemoveSubscriber {
    /** Its name. */
    name: SubscriberName;
}
/** `config.save`: replaces the file if the text can be used. The result is `SavedConfig`. */
export interface SaveConfig {
    /** The new text. */
    text: ConfigText;
    /** The digest of the text that was edited. A file with another digest stays as it is. */
    digest: string;
}
/** The result of `SaveConfig`. */
export interface SavedConfig {
    /** SHA-256 of the new text, in hexadecimal digits. */
    digest: string;
}
/**
 * `sessions.search`: a list of `FoundText`, best first. Finds the messages, answers and notices of
 * turns that have ended.
 */
export interface SearchSessions {
    /** The words; texts with any of them are found. */
    words: string;
    /** The most rows, from 1 to 500. */
    limit?: number;
}
/** `send`: delivers a text to a chat. The result comes after the commit. */
export interface Send {
    /** The chat. */
    chat: ChatAddress;
    /** The text. */
    text: string;
    /** The key, as in `Ask`. */
    key?: DedupeKey | null;
}
/** The result of `Send`. */
export interface SendResult {
    /** The number of the text's first chunk. */
    delivery: DeliveryId;
    /** `true` if the text is a repetition. */
    duplicate: boolean;
}
/** A value of a `SessionOption`. */
export interface SessionOptionValue {
    /** The value, as `SetSessionOption` takes it. */
    value: string;
    /** The name for people. */
    name: string;
    /** The effect of the value, in one sentence; absent if the name says it. */
    description?: string;
    /** The heading above the value in a list: the provider of a model. Absent without headings. */
    group?: string;
}
/** A setting of a conversation, as programs show it. */
export interface SessionOption {
    /** The name: `model`, `effort` or `mode`. Later versions may have others. */
    option: string;
    /** The value in use, which is one of `values`. */
    value: string;
    /** All values, in the order in which a person reads them. */
    values: SessionOptionValue[];
}
/** A text that a chat has received from another session. */
export interface SessionReport {
    /** The session that sent the text. */
    from: SessionId;
    /** The chat that received it. */
    chat: ChatAddress;
    /** The beginning of the text, 2,000 characters at most. */
    text: string;
    /** The time at which it was sent. */
    at: Timestamp;
    /** The trust of the text. */
    trust: Trust;
}
/**
 * Texts that a chat has received from other sessions since the last turn of its own session, for
 * example the answers of scheduled tasks.
 */
export interface SessionReports {
    /** The last of them, 5 at most, oldest first. */
    texts: SessionReport[];
    /** Number of older texts. */
    more: number;
}
/** The state of a turn. */
export type TurnState = 
/** Ready to run (again). */
"queued"
/** A lane works on it. */
 | "running"
/** Waits for an event from outside, without a lane. */
 | "waiting"
/** Ended with a reply, or with a recorded reason for having none. */
 | "done"
/** Stopped by its sender. */
 | "cancelled"
/** Ended with a visible error. */
 | "failed";
/** One session in a list. */
export interface SessionSummary {
    /** The session. */
    session: SessionId;
    /** Number of turns. */
    turns: number;
    /** The last time that the session was used, to the minute. */
    used_at: Timestamp;
    /** The state of its open turn, if it has one. */
    open: TurnState | null;
    /**
     * The title that a person has given, else the beginning of the first message of a person since
     * `/new`. In one line without secrets; null without a message.
     */
    title: string | null;
    /** `true` if a person has pinned the session. */
    is_pinned?: boolean;
    /** `true` if a person has archived the session. */
    is_archived?: boolean;
    /** The number of the session among the branches of one conversation. The title ends with it. */
    branch?: number;
}
/** A change of a setting. */
export interface SetSessionOption {
    /** The conversation. It may be new. */
    session: SessionId;
    /** The name of the setting. */
    option: string;
    /** The new value. */
    value: string;
}
/**
 * `memory.show`: a memory with its changes, as `MemoryDetails`. Forgotten memories are shown, too.
 */
export interface ShowMemory {
    /** The memory. */
    memory: MemoryId;
}
/**
 * `sessions.options`: the settings of a conversation. The result is a list of `SessionOption`.
 * `sessions.set_option` takes a `SetSessionOption` and has the same result.
 */
export interface ShowOptions {
    /** The conversation. It may be new. */
    session: SessionId;
}
/**
 * `sessions.show`: a list of `TurnRecord`, oldest first. If a page exceeds a line, its long texts
 * are cut.
 */
export interface ShowSession {
    /** The session. */
    session: SessionId;
    /** The most turns, from 1 to 500; a page may have fewer of them. */
    turns?: number;
    /** The oldest turn that the client has. An empty page is the end. */
    before?: TurnId | null;
}
/** `status`: a `DaemonStatus`. */
export interface ShowStatus {
    /** The session whose model to report; null for the model of the default agent. */
    session?: SessionId | null;
}
/** A configuration file. */
export interface ShownConfig {
    /** The file, or the place where it would be. */
    path: string;
    /** The text; empty if there is no file. */
    text: ConfigText;
    /** SHA-256 of the text, in hexadecimal digits. */
    digest: string;
    /** `true` if the daemon can replace the file. */
    is_writable: boolean;
}
/** `web.sign_out`: signs a browser out of the web console. */
export interface SignOutWeb {
    /** The id of the browser. Default: all browsers, and the links that are open. */
    browser?: string | null;
}
/** A message that a turn answers. */
export interface StartedMessage {
    /** Its number. */
    id: MessageId;
    /** The author. */
    sender: string;
    /** The text. */
    text: string;
}
/** One model call of a turn and its tool calls. */
export interface Step {
    /** From 0. */
    number: number;
    /** The text of the model. */
    text: string;
    /** The end of the model's text. */
    ending?: AnswerEnding;
    /** The tokens of the model call. */
    usage: Usage;
    /** The least trust of the text in the request, because any of it may influence the step. */
    trust: Trust;
    /** The tools that the model called; empty for the step that ends a turn. */
    calls: LoggedCall[];
    /** The whole reply of the model, if calls were read from its text; otherwise absent. */
    written?: string;
    /** `true` if every call has its result and the step is closed. */
    closed: boolean;
    /** Messages that steered the turn after this step. */
    steered: LoggedInbound[];
}
/** `job.submit`: submits a job. The result is a `SubmittedJob`, after the commit. */
export interface SubmitJob {
    /** The task. */
    task: string;
    /** The name of its profile. */
    agent: string;
    /** The directory in which it works, as an absolute path; null for the profile's workspace. */
    workspace?: string | null;
    /** The limits of the job. */
    limits: JobLimits;
    /** Identifies repetitions of the same job. Default: a random key. */
    key?: DedupeKey | null;
}
/** The result of a submission. */
export interface SubmittedJob {
    /** The number of the job. */
    id: JobId;
    /** The message that starts it. */
    message: MessageId;
    /** Its session. */
    session: SessionId;
    /** `true` if the key was used before: nothing was written. */
    is_duplicate: boolean;
}
/**
 * `subscribe`: follows the events. The result is `Subscribed`. Afterwards the daemon sends requests
 * `events` with an `EventBatch`, and waits for the answer to each.
 */
export interface Subscribe {
    /**
     * The name under which the daemon keeps the position. A second connection with the same name
     * replaces the first one, which is closed with the reason. null if the client keeps its position
     * itself.
     */
    name?: SubscriberName | null;
    /**
     * The last event that the client has. Without effect for a name that the daemon knows. Default:
     * the newest event.
     */
    from?: EventSeq | null;
    /** Only of this session. */
    session?: SessionId | null;
    /** Only of these kinds, as in `ListEvents`. */
    kinds?: string[];
}
/** The result of `Subscribe`. */
export interface Subscribed {
    /** The identity of the log. Another identity means that the log was rolled back or replaced. */
    log: string;
    /** The position from which the events continue. */
    from: EventSeq;
    /** The number of events behind it that were removed because of their age, at most. */
    removed: number;
}
/** A program that follows the events under a name. */
export interface Subscriber {
    /** Its name. */
    name: SubscriberName;
    /** The last event that it has confirmed. */
    seq: EventSeq;
    /** The time of its last confirmation. */
    at: Timestamp;
}
/**
 * A message (`m12`), a turn (`t4`) or a delivery (`o9`), as a person copies it from a list or a
 * log.
 */
export type TraceSubject = string;
/**
 * `trace`: the timeline of a message, a turn or a delivery, without secrets: a list of `TraceSpan`.
 */
export interface Trace {
    /** The message (`m12`), or the turn (`t4`) or the delivery (`o9`). */
    message: TraceSubject;
}
/** The message was accepted. Has no length. */
export interface TraceSpanReceived {
    /** The start. */
    start: Timestamp;
    /** The end; null if the work is open, or if the process ended during it. */
    end: Timestamp | null;
    /** The turn. */
    turn?: TurnId;
    type: "received";
    /** The message. */
    message: EventMessage;
}
/** The message waits for its lane. */
export interface TraceSpanQueued {
    /** The start. */
    start: Timestamp;
    /** The end; null if the work is open, or if the process ended during it. */
    end: Timestamp | null;
    /** The turn. */
    turn?: TurnId;
    type: "queued";
}
/**
 * A model is asked. Begins at the end of the work before it, so that it includes recall and the
 * preparation of the request.
 */
export interface TraceSpanModel {
    /** The start. */
    start: Timestamp;
    /** The end; null if the work is open, or if the process ended during it. */
    end: Timestamp | null;
    /** The turn. */
    turn?: TurnId;
    type: "model";
    /** The answer; null if the request had none. */
    answer: EventAnswer | null;
    /** The cost of the answer, and of failed attempts before it. */
    usage: EventUsage[];
}
/** A request of the `model` span around it failed and was made again. */
export interface TraceSpanFailedRequest {
    /** The start. */
    start: Timestamp;
    /** The end; null if the work is open, or if the process ended during it. */
    end: Timestamp | null;
    /** The turn. */
    turn?: TurnId;
    type: "failed_request";
    /** The request. */
    request: EventFailedRequest;
}
/** A tool runs. */
export interface TraceSpanTool {
    /** The start. */
    start: Timestamp;
    /** The end; null if the work is open, or if the process ended during it. */
    end: Timestamp | null;
    /** The turn. */
    turn?: TurnId;
    type: "tool";
    /** The call. */
    call: CallId;
    /** Its name, arguments and result. */
    tool: EventTool;
}
/** The turn waits for a person or a sub-agent. */
export interface TraceSpanPaused {
    /** The start. */
    start: Timestamp;
    /** The end; null if the work is open, or if the process ended during it. */
    end: Timestamp | null;
    /** The turn. */
    turn?: TurnId;
    type: "paused";
    /** The kinds of events for which it waits. */
    waits_for: WaitKind[];
}
/** The process ended during the turn. Lasts until a lane runs the turn again. */
export interface TraceSpanInterrupted {
    /** The start. */
    start: Timestamp;
    /** The end; null if the work is open, or if the process ended during it. */
    end: Timestamp | null;
    /** The turn. */
    turn?: TurnId;
    type: "interrupted";
}
/** A part of a message is delivered, from its first send. */
export interface TraceSpanDelivery {
    /** The start. */
    start: Timestamp;
    /** The end; null if the work is open, or if the process ended during it. */
    end: Timestamp | null;
    /** The turn. */
    turn?: TurnId;
    type: "delivery";
    /** The part. */
    delivery: EventDelivery;
    /** Its state. */
    state: EventKind;
}
/** The turn ended. Has no length. */
export interface TraceSpanEnded {
    /** The start. */
    start: Timestamp;
    /** The end; null if the work is open, or if the process ended during it. */
    end: Timestamp | null;
    /** The turn. */
    turn?: TurnId;
    type: "ended";
    /** Its state: `turn.done`, `turn.cancelled` or `turn.failed`. */
    state: EventKind;
    /** The turn. */
    turn_info: EventTurn | null;
}
/** A part of the timeline: one piece of work, or one wait. */
export type TraceSpan = TraceSpanReceived | TraceSpanQueued | TraceSpanModel | TraceSpanFailedRequest | TraceSpanTool | TraceSpanPaused | TraceSpanInterrupted | TraceSpanDelivery | TraceSpanEnded;
/** A lane has claimed the turn. */
export interface TurnEventStarted {
    type: "started";
    /** The turn. */
    turn: TurnId;
    /** The messages that it answers. */
    messages: StartedMessage[];
}
/** The earlier conversation is being compacted, because it has become too long. */
export interface TurnEventCondensing {
    type: "condensing";
}
/** The model is being asked. */
export interface TurnEventThinking {
    type: "thinking";
    /** The step, from 0. */
    step: number;
}
/**
 * The model reasons. Only for listeners that asked for thoughts, and not for a log: a thought is no
 * part of the answer.
 */
export interface TurnEventThought {
    type: "thought";
    /** The next piece. */
    delta: string;
}
/** The model writes. */
export interface TurnEventText {
    type: "text";
    /** The next piece. */
    delta: string;
}
/** The text of this step so far is void. */
export interface TurnEventRestarted {
    type: "restarted";
}
/** A tool runs. */
export interface TurnEventToolStarted {
    type: "tool_started";
    /** The tool. */
    name: string;
    /** Its main argument in one line, without secrets. */
    about?: string;
    /** The call in the log of the turn. */
    call?: CallId;
}
/** The program behind a running tool reports its progress. */
export interface TurnEventToolProgress {
    type: "tool_progress";
    /** The tool. */
    name: string;
    /** The report on one line: untrusted text of the program. */
    text: string;
}
/** A tool has run. */
export interface TurnEventToolFinished {
    type: "tool_finished";
    /** The tool. */
    name: string;
    /** `true` if it succeeded. */
    ok: boolean;
    /** The call in the log of the turn. */
    call?: CallId;
}
/** The turn waits for an event from outside. */
export interface TurnEventWaiting {
    type: "waiting";
    /** The kind of event. */
    kind: WaitKind;
}
/** A person has made the decision that the turn waited for, and the turn continues. */
export interface TurnEventResumed {
    type: "resumed";
}
/** The turn has ended, or a command has acted, and that is in the log. */
export interface TurnEventEnded {
    type: "ended";
    /** The turn; null for a command. */
    turn: TurnId | null;
    /** The messages that it ended. */
    messages: MessageId[];
    /** The outcome. */
    outcome: Outcome;
}
/** An event of a turn. */
export type TurnEvent = TurnEventStarted | TurnEventCondensing | TurnEventThinking | TurnEventThought | TurnEventText | TurnEventRestarted | TurnEventToolStarted | TurnEventToolProgress | TurnEventToolFinished | TurnEventWaiting | TurnEventResumed | TurnEventEnded;
/** Messages of a conversation whose delivery failed since its last turn. */
export interface Undelivered {
    /** The last of them, 5 at most, oldest first. */
    messages: LostMessage[];
    /** Number of older lost messages. */
    more: number;
}
/** One answer to one or several inbound messages, or one task of a parent turn. */
export interface TurnRecord {
    /** Its number. */
    id: TurnId;
    /** The conversation that it belongs to. */
    session: SessionId;
    /** Its state. */
    state: TurnState;
    /** The start of the turn. */
    started_at: Timestamp;
    /** The messages or the task that started it. */
    origin: Origin;
    /** The model calls made so far, in order. */
    steps: Step[];
    /** The text shown in place of a reply: an error or a limit. */
    notice: string | null;
    /** Lost messages that this turn reports to its model. The list never changes. */
    undelivered?: Undelivered;
    /** Memories that the requests of this turn contain. Logged with its first step or its answer. */
    recalled?: RecalledMemory[];
    /**
     * Texts that the chat has received from other sessions and that this turn shows to its model. The
     * list never changes.
     */
    reports?: SessionReports;
}
/** `typing`: the agent works on an answer. */
export interface Typing {
    /** The chat. */
    chat: ChatAddress;
}
/** `wait`: waits until the message has its outcome. The result is a `MessageStatus`. */
export interface Wait {
    /** The message. */
    message: MessageId;
    /** The most seconds to wait; the result then has no outcome. Default: no limit. */
    seconds?: number | null;
}
/** A browser that is signed in to the console. */
export interface WebBrowser {
    /** Its id: eight hexadecimal digits. */
    id: string;
    /** The person who made its link. */
    sender: SenderId;
    /** The name that it gave itself at its sign-in, such as `Firefox on Linux`. */
    name: string;
    /** The time of its sign-in. */
    signed_in_at: Timestamp;
    /** The end of its token. */
    expires_at: Timestamp;
    /** Its last request since the start of the daemon. */
    seen_at: Timestamp | null;
}
/** A link that opens the console once. */
export interface WebLink {
    /** The address, with a one-time code behind `#`. A browser sends that part to no server. */
    url: string;
    /** The time at which the code ends. */
    expires_at: Timestamp;
}
/** The result of `Hello`: the rights of later requests. */
export interface Welcome {
    /** The sender of messages. */
    sender: SenderId;
    /** The role. */
    role: ClientRole;
    /** The patterns of chats. */
    chats: ChatPatterns;
    /** The only methods; null for all methods of the role. */
    methods: string[] | null;
    /** The version of the protocol that the daemon speaks. */
    protocol: number;
}
/**
 * `message.withdraw`: takes back a message that its platform has deleted. A message that waits is
 * not answered, and a turn for this message alone is stopped. A turn for several messages goes on,
 * and an unknown or answered message changes nothing. The result, which is empty, comes after the
 * commit.
 */
export interface WithdrawMessage {
    /** The chat of the message. A topic of the chat counts as the chat. */
    chat: ChatAddress;
    /** The key with which the message was published. */
    key: DedupeKey;
}
/** The parameters and the result of each method. */
export interface Methods {
    "approval.decide": {
        params: Decide;
        result: null;
    };
    "approval.list": {
        params: ListApprovals | undefined;
        result: OpenApproval[];
    };
    "ask": {
        params: Ask;
        result: AskResult;
    };
    "ask.json": {
        params: JsonQuestion;
        result: JsonAnswer;
    };
    "attach": {
        params: AttachParams;
        result: AttachResult;
    };
    "config.check": {
        params: CheckConfig;
        result: ConfigCheck;
    };
    "config.diff": {
        params: undefined;
        result: ConfigDiff;
    };
    "config.form": {
        params: FormConfig;
        result: ConfigForm;
    };
    "config.save": {
        params: SaveConfig;
        result: SavedConfig;
    };
    "config.show": {
        params: undefined;
        result: ShownConfig;
    };
    "cursor.move": {
        params: MoveCursor;
        result: EmptyAnswer;
    };
    "dead.list": {
        params: ListDeadLetters | undefined;
        result: DeadLetter[];
    };
    "events.list": {
        params: ListEvents | undefined;
        result: EventList;
    };
    "file.get": {
        params: GetFile;
        result: FilePiece;
    };
    "hello": {
        params: Hello | undefined;
        result: Welcome;
    };
    "job.show": {
        params: NamedJob;
        result: JobStatus;
    };
    "job.submit": {
        params: SubmitJob;
        result: SubmittedJob;
    };
    "memory.list": {
        params: ListMemories | undefined;
        result: Memory[];
    };
    "memory.log": {
        params: ListMemoryChanges | undefined;
        result: MemoryChange[];
    };
    "memory.show": {
        params: ShowMemory;
        result: MemoryDetails;
    };
    "message.withdraw": {
        params: WithdrawMessage;
        result: EmptyAnswer;
    };
    "ping": {
        params: undefined;
        result: null;
    };
    "publish": {
        params: PublishParams;
        result: AskResult;
    };
    "send": {
        params: Send;
        result: SendResult;
    };
    "sessions.branch": {
        params: BranchSession;
        result: number;
    };
    "sessions.change": {
        params: ChangeSession;
        result: null;
    };
    "sessions.list": {
        params: ListSessions | undefined;
        result: SessionSummary[];
    };
    "sessions.options": {
        params: ShowOptions;
        result: SessionOption[];
    };
    "sessions.search": {
        params: SearchSessions;
        result: FoundText[];
    };
    "sessions.sent": {
        params: ListSent;
        result: DeliveredText[];
    };
    "sessions.set_option": {
        params: SetSessionOption;
        result: SessionOption[];
    };
    "sessions.show": {
        params: ShowSession;
        result: TurnRecord[];
    };
    "status": {
        params: ShowStatus | undefined;
        result: DaemonStatus;
    };
    "subscribe": {
        params: Subscribe | undefined;
        result: Subscribed;
    };
    "subscriber.list": {
        params: undefined;
        result: Subscriber[];
    };
    "subscriber.remove": {
        params: RemoveSubscriber;
        result: null;
    };
    "trace": {
        params: Trace;
        result: TraceSpan[];
    };
    "wait": {
        params: Wait;
        result: MessageStatus;
    };
    "web.browsers": {
        params: undefined;
        result: WebBrowser[];
    };
    "web.open": {
        params: OpenWeb | undefined;
        result: WebLink;
    };
    "web.sign_out": {
        params: SignOutWeb | undefined;
        result: null;
    };
}
