import type { Offering } from '../src/providers/connected-account.ts'
import { CONTENT_BYTES_MAX, type ContentProvider } from '../src/providers/content.ts'
import { ProviderFailure } from '../src/providers/failure.ts'
import type {
  ArrivedStep,
  Cursor,
  GoneStep,
  Located,
  MailProvider,
  MessageKey,
  Notice,
  RemoteFlags,
  RemoteMailbox,
  RemoteMessage,
  SourceStep,
  StatesStep,
} from '../src/providers/mail.ts'
import { flagsOf, remoteMessage, streamContent } from './memory-mail.ts'

const ENTRIES_PER_PAGE = 3
const IDS_PER_PAGE = 7

export interface LoggedMessage extends RemoteFlags {
  id: string
  content: string
  receivedAt: Date
  /** Keys of mailboxes. */
  mailboxes: Set<string>
}

export interface LoggedMailbox {
  key: string
  name: string
  role: RemoteMailbox['role']
}

/**
 * An entry of a change log. `all`: the message changed in some way. `flags`: only its flags did, and nothing else is
 * named. `left`: it left the folder, and that is said even if it is back.
 */
interface Entry {
  n: number
  id: string
  kind: 'all' | 'flags' | 'left'
}

interface LogCursor {
  /** The last entry that was read. */
  at: number
  /** Ids below this one are still to be listed, from the highest down. Null means none. */
  listBelow: string | null
  /** Whether a part of the log expired and was not made up for. */
  hasGap?: boolean
  [name: string]: unknown
}

/**
 * A provider without a network that names messages by lasting ids and keeps a log of changes. With `labels` one log
 * covers everything, and a message is in any number of mailboxes. With `folders` each has a log, a message is in one,
 * and a log may omit a message that was moved in or came back, name it twice, or name only what changed. Logs expire, also
 * between two pages. `onAwait` is called wherever a provider awaits.
 */
export class LogServer {
  readonly kind: 'labels' | 'folders'
  readonly mailboxes = new Map<string, LoggedMailbox>()
  readonly messages = new Map<string, LoggedMessage>()
  readonly #logs = new Map<string, { entries: Entry[]; oldest: number }>()
  onAwait: () => void | Promise<void> = () => undefined
  /** Whether an expired log may be made up for by a listing now. */
  mayList = true
  #last = 0

  constructor(kind: 'labels' | 'folders') {
    this.kind = kind
  }

  create(name: string, role: RemoteMailbox['role'] = 'custom'): LoggedMailbox {
    const mailbox = { key: `mailbox-${++this.#last}`, name, role }
    this.mailboxes.set(mailbox.key, mailbox)
    return mailbox
  }

  deliver(mailboxes: readonly string[], content: string, receivedAt: Date): LoggedMessage {
    // Ascending, so that the newest are listed first.
    const id = `id-${String(++this.#last).padStart(6, '0')}`
    const flags = { isRead: false, isFlagged: false, isDraft: false, categories: [] }
    const message = { ...flags, id, content, receivedAt, mailboxes: new Set(mailboxes) }
    this.messages.set(id, message)
    for (const key of mailboxes) this.#tell(key, id)
    return message
  }

  touch(message: LoggedMessage, kind: 'all' | 'flags' = 'all'): void {
    for (const key of message.mailboxes) this.#tell(key, message.id, this.kind === 'folders' ? kind : 'all')
  }

  /** Names a message once more, as logs do. */
  repeat(message: LoggedMessage): void {
    for (const key of message.mailboxes) this.#tell(key, message.id)
  }

  /** @param isForgotten whether the logs of its new folders omit it */
  place(message: LoggedMessage, mailboxes: readonly string[], isForgotten = false): void {
    const before = [...message.mailboxes]
    message.mailboxes = new Set(mailboxes)
    for (const key of before) this.#tell(key, message.id, this.kind === 'folders' ? 'left' : 'all')
    if (!isForgotten) for (const key of mailboxes) this.#tell(key, message.id)
  }

  delete(message: LoggedMessage): void {
    this.messages.delete(message.id)
    for (const key of message.mailboxes) this.#tell(key, message.id, 'left')
  }

  /** A label goes without its messages and without an entry in the log; a folder goes with its messages. */
  drop(mailbox: LoggedMailbox): void {
    this.mailboxes.delete(mailbox.key)
    for (const message of this.messages.values()) {
      if (!message.mailboxes.has(mailbox.key)) continue
      if (this.kind === 'folders') this.delete(message)
      else message.mailboxes.delete(mailbox.key)
    }
  }

  /** Removes all entries so far from the logs, or from one. */
  expire(source?: string): void {
    for (const log of source === undefined ? this.#logs.values() : [this.log(source)]) {
      log.oldest = this.#last + 1
      log.entries = []
    }
  }

  sourceOf(mailboxKey: string): string {
    return this.kind === 'labels' ? 'history' : mailboxKey
  }

  log(source: string) {
    const log = this.#logs.get(source) ?? { entries: [], oldest: 0 }
    this.#logs.set(source, log)
    return log
  }

  /** The last entry of any log. */
  get head(): number {
    return this.#last
  }

  isIn(source: string, message: LoggedMessage): boolean {
    return this.kind === 'labels' || message.mailboxes.has(source)
  }

  #tell(mailboxKey: string, id: string, kind: Entry['kind'] = 'all'): void {
    this.log(this.sourceOf(mailboxKey)).entries.push({ n: ++this.#last, id, kind })
  }
}

type Ask = <T>(answer: () => T) => Promise<T>

/** A connection to a `LogServer`. */
export function logMail(server: LogServer): Offering<'mail' | 'content'> {
  const ask: Ask = async answer => {
    await server.onAwait()
    const answered = answer()
    await server.onAwait()
    return answered
  }
  return {
    mail: followLog(server, ask),
    content: readLog(server, ask),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

function readLog(server: LogServer, ask: Ask): ContentProvider {
  return {
    open: ({ key }, range) =>
      streamContent(
        () =>
          ask(() => {
            const message = server.messages.get(String(key))
            if (!message) throw new ProviderFailure('not_found', 'no such message')
            return message.content
          }),
        range,
      ),

    readSources: ({ keys }, bytesMax) =>
      ask(() => {
        const sources = new Map<MessageKey, Buffer>()
        let left = bytesMax
        for (const key of keys) {
          const message = server.messages.get(String(key))
          const bytes = Buffer.from(message?.content ?? '')
          if (!message || bytes.length > CONTENT_BYTES_MAX || bytes.length > left) continue
          left -= bytes.length
          sources.set(key, bytes)
        }
        return sources
      }),
  }
}

function followLog(server: LogServer, ask: Ask): MailProvider {
  const open = (source: string) => {
    if (server.kind === 'folders' && !server.mailboxes.has(source))
      throw new ProviderFailure('not_found', `no mailbox ${source}`)
    return server.log(source)
  }

  return {
    isPushed: false,
    mailboxesLeftOut: 0,
    listMailboxes: () =>
      ask(() => [...server.mailboxes.values()].map(mailbox => presentLogged(server, mailbox))),

    hasChanged: ({ state }, cursor) =>
      cursor === null || asLog(cursor).hasGap === true || (state?.['last'] as number) > asLog(cursor).at,

    async *compare(source, { cursor: stored, lacking }): AsyncGenerator<SourceStep> {
      const reset = (keys: 'void' | 'kept'): SourceStep => ({
        type: 'reset',
        keys,
        cursor: { at: server.head, listBelow: LISTED_FIRST },
      })
      if (stored === null) return yield await ask(() => reset('void'))
      if (asLog(stored).hasGap && server.mayList) return yield await ask(() => reset('kept'))
      for (let cursor = asLog(stored); ;) {
        const page = await ask(() => {
          const { entries, oldest } = open(source)
          if (cursor.at < oldest - 1) return null
          return entries.filter(({ n }) => n > cursor.at).slice(0, ENTRIES_PER_PAGE)
        })
        if (page === null && !server.mayList)
          return yield await ask(() => ({
            type: 'page' as const,
            steps: [],
            cursor: { ...cursor, at: server.head, hasGap: true },
          }))
        if (page === null) return yield await ask(() => reset('kept'))
        const last = page.at(-1)
        if (!last) return
        const unheld = server.kind === 'folders' ? await lacking([...new Set(page.map(({ id }) => id))]) : []
        const read = await ask(() => readNow(server, source, page, new Set(unheld)))
        cursor = { ...cursor, at: last.n }
        yield { type: 'page', steps: read, cursor }
      }
    },

    async *arrivals(source, { cursor: stored, lacking, retry }): AsyncGenerator<SourceStep> {
      if (stored === null) return
      if (retry.length > 0)
        yield await ask(() => ({ ...arrivedOf(server, 'new', retry.map(String), source), cursor: stored }))
      for (let cursor = asLog(stored); cursor.listBelow !== null;) {
        const below = cursor.listBelow
        const listed = await ask(() => {
          open(source)
          return [...server.messages.values()]
            .filter(message => message.id < below && server.isIn(source, message))
            .map(({ id }) => id)
            .toSorted()
            .slice(-IDS_PER_PAGE)
        })
        // The content of messages in a folder may have changed since the log expired; labelled messages never change.
        const missing = new Set(server.kind === 'labels' ? await lacking(listed) : listed)
        const held = listed.filter(id => !missing.has(id))
        const steps = await ask(() => [
          statesOf(server, held),
          arrivedOf(server, 'missing', [...missing], source),
        ])
        cursor = { ...cursor, listBelow: listed[0] ?? null }
        yield { type: 'page', steps, cursor }
      }
    },

    isComplete: cursor => cursor !== null && asLog(cursor).listBelow === null,
    gapOf: cursor => (cursor && asLog(cursor).hasGap ? GAP : null),
    relist: cursor => ({ ...cursor, listBelow: LISTED_FIRST }),
    narrow: cursor => cursor,
    isRenamed: () => false,

    locate: (_, keys) =>
      ask(() => {
        const found: Located['found'] = new Map(
          keys.flatMap(key => {
            const message = server.messages.get(String(key))
            return message ? [[key, { flags: flagsOf(message), mailboxKeys: [...message.mailboxes] }]] : []
          }),
        )
        return { found, gone: keys.filter(key => !found.has(key)), unreadable: [] }
      }),

    list: ({ source }, { after }) =>
      ask(() => {
        open(source)
        const above = String(after?.['above'] ?? '')
        const listed = [...server.messages.values()]
          .filter(message => message.id > above && server.isIn(source, message))
          .toSorted((a, b) => (a.id < b.id ? -1 : 1))
          .slice(0, IDS_PER_PAGE)
        const last = listed.at(-1)
        return {
          messages: listed.map(message => ({
            key: message.id,
            flags: flagsOf(message),
            mailboxKeys: [...message.mailboxes],
            receivedAt: message.receivedAt,
          })),
          next: last && listed.length === IDS_PER_PAGE ? { above: last.id } : null,
        }
      }),

    watch: (): Promise<Notice> => ask(() => ({ arrived: false, changed: false, gone: false })),
  }
}

export const GAP = 'a part of the log is missing'

/** Sorts above every id. */
const LISTED_FIRST = '~'

const asLog = (cursor: Cursor) => cursor as LogCursor

/** The current state of the messages that a page of the log names, whatever happened to them in between. */
function readNow(
  server: LogServer,
  source: string,
  page: readonly Entry[],
  unheld: ReadonlySet<string>,
): Array<StatesStep | GoneStep | ArrivedStep> {
  const gone: string[] = []
  const flagged: string[] = []
  const there: string[] = []
  for (const [id, entries] of Map.groupBy(page, entry => entry.id)) {
    const message = server.messages.get(id)
    const hasLeft = server.kind === 'folders' && entries.every(({ kind }) => kind === 'left')
    if (!message || !server.isIn(source, message) || hasLeft) gone.push(id)
    // A message that is named in part is asked for if the index lacks the rest.
    else if (entries.every(({ kind }) => kind === 'flags') && !unheld.has(id)) flagged.push(id)
    else there.push(id)
  }
  const certainty = server.kind === 'labels' ? 'proof' : 'hint'
  const states = statesOf(server, flagged).changes.map(change => ({ ...change, mailboxKeys: null }))
  return [
    { type: 'gone', keys: gone, certainty },
    ...(states.length > 0 ? [{ type: 'states' as const, changes: states }] : []),
    arrivedOf(server, 'new', there, source),
  ]
}

function statesOf(server: LogServer, ids: readonly string[]): StatesStep {
  const messages = ids.flatMap(id => server.messages.get(id) ?? [])
  return {
    type: 'states',
    changes: messages.map(message => ({
      key: message.id,
      flags: flagsOf(message),
      mailboxKeys: [...message.mailboxes],
    })),
  }
}

function arrivedOf(
  server: LogServer,
  origin: 'new' | 'missing',
  ids: readonly string[],
  source: string,
): ArrivedStep {
  const messages = ids.flatMap(id => {
    const message = server.messages.get(id)
    return message && server.isIn(source, message) ? [toLoggedRemote(message)] : []
  })
  return { type: 'arrived', origin, messages, unreadable: [], remaining: 0 }
}

export function toLoggedRemote({ id, mailboxes, ...message }: LoggedMessage): RemoteMessage {
  return { ...remoteMessage({ ...message, key: id, mailboxKeys: [...mailboxes] }), size: null }
}

export function presentLogged(server: LogServer, { key, name, role }: LoggedMailbox): RemoteMailbox {
  const source = server.sourceOf(key)
  const { entries, oldest } = server.log(source)
  return {
    key,
    providerId: key,
    name,
    path: name,
    parentKey: null,
    role,
    kind: server.kind === 'labels' ? 'label' : 'folder',
    totalCount: null,
    unreadCount: null,
    source,
    state: { last: entries.at(-1)?.n ?? oldest - 1 },
  }
}
