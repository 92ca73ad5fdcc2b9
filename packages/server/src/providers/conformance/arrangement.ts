import type { Capability, ConnectedAccount, Offering } from '../connected-account.ts'
import type { MailboxKind } from '../mailbox-role.ts'
import type { MessageKey, RemoteMailbox } from '../mail.ts'
import type { MemoryIndex } from './memory-index.ts'

/**
 * The mailboxes of an account as another client changes them. Mailboxes are given by their `/`-separated path.
 */
export interface ProviderWorld extends AsyncDisposable {
  /** The path under which the provider lists a mailbox that is created here. */
  listedAs(mailbox: string): string
  deliver(
    messages: ReadonlyArray<{ raw: string; internalDate?: Date }>,
    mailbox?: string,
  ): Promise<MessageKey[]>
  /** Marks messages; a word without a leading backslash is a category. */
  flag(mailbox: string, keys: readonly MessageKey[], ...flags: string[]): Promise<void>
  move(mailbox: string, keys: readonly MessageKey[], target: string): Promise<unknown>
  expunge(mailbox: string, keys: readonly MessageKey[]): Promise<void>
  createMailbox(mailbox: string): Promise<void>
  renameMailbox(mailbox: string, to: string): Promise<void>
  deleteMailbox(mailbox: string): Promise<void>
  renumber(mailbox: string): Promise<void>
}

export interface ConnectOptions {
  /** The time of a clock that is ahead by this much. */
  clockAheadMs?: number
  keepAliveSeconds?: number
  answerSeconds?: number
  pollSeconds?: number
}

/** One account of its own at a provider that offers certain capabilities, with the faults that can befall it. */
export interface Arrangement<C extends Capability> extends AsyncDisposable {
  world: ProviderWorld
  connect(options?: ConnectOptions): Promise<ConnectedAccount & Offering<C>>
  /** The index of a mailbox after it has followed its source, and the key of the mailbox. */
  index(
    mailbox: string,
  ): Promise<Pick<MemoryIndex, 'source' | 'cursor' | 'messages'> & { mailboxKey: string }>
  /** Reading the content of these ends the connection, is refused, or yields nothing. */
  poison(keys: readonly MessageKey[], does: 'cut' | 'refuse' | 'omit'): void | Promise<void>
}

/** An arrangement whose mail is followed. */
export interface FollowedArrangement extends Arrangement<'mail'> {
  /** Folders are sources. Labels share one, whose notices carry no details. */
  kind: MailboxKind
  /** The source of INBOX. */
  inbox: string
  /** A category that another client can give a message. */
  category: string
  /** More messages than three steps bring. */
  messagesOfSteps: number
}

/** A message as the provider holds it. */
export interface HeldMessage {
  key: MessageKey
  /** As the provider writes them, in its order. */
  flags: string[]
  raw: string
}

/** An arrangement in which another client sees the changes. */
export interface ChangingArrangement extends Arrangement<'mail' | 'changing'> {
  /** The source of INBOX, which is its key, too. */
  inbox: string
  /** A key that no message has, and one that no mailbox has. */
  unknownKey: MessageKey
  unknownMailbox: string
  /** The messages of a mailbox, by ascending key. */
  held(mailbox: string): Promise<HeldMessage[]>
  /** Paths of the mailboxes that the account is subscribed to, as the provider lists them. */
  subscribed(): Promise<string[]>
}

/** An arrangement whose connections can be broken. */
export interface TroubledArrangement extends FollowedArrangement {
  /** The provider ends every connection in good order. */
  sayGoodbye(): void
  /** Makes connections stay open without sending anything any more. */
  fallSilent(): void
}

export const letter = (number: number, extra = '') =>
  `From: Ada Lovelace <ada@example.com>\r\nTo: bob@example.com\r\nSubject: Letter ${number}\r\n` +
  `Message-ID: <letter-${number}@example.com>\r\nDate: Mon, 1 Jan 2024 10:00:00 +0000\r\n${extra}\r\nDear Bob, ${number}\r\n`

export const letters = (count: number, from = 1) =>
  Array.from({ length: count }, (_, index) => ({ raw: letter(from + index) }))

export const DAY_MS = 24 * 60 * 60_000
export const never = new AbortController().signal

export function requireMailbox(
  mailboxes: readonly RemoteMailbox[],
  path: string,
): RemoteMailbox & { source: string } {
  const found = mailboxes.find(mailbox => mailbox.path === path)
  if (!found?.source)
    throw new Error(`${path} is not listed: ${mailboxes.map(mailbox => mailbox.path).join(', ')}`)
  return { ...found, source: found.source }
}
