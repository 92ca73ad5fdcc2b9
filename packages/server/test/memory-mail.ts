import { createHash } from 'node:crypto'
import type { NewLocation } from '../src/providers/changing.ts'
import type { Offering } from '../src/providers/connected-account.ts'
import {
  CONTENT_BYTES_MAX,
  type ContentEnd,
  type ContentProvider,
  type ContentRange,
} from '../src/providers/content.ts'
import {
  type FollowOptions,
  type Located,
  type MailProvider,
  type MessageKey,
  type Notice,
  type RemoteFlags,
  type RemoteMailbox,
  type RemoteMessage,
  type SourceStep,
} from '../src/providers/mail.ts'
import { ProviderFailure } from '../src/providers/failure.ts'
import type { SearchHit, SearchPage, SearchPosition, SearchProvider } from '../src/providers/search.ts'
import type { MailboxRole } from '../src/providers/mailbox-role.ts'

const CHUNK = 7

export interface MemoryMessage extends RemoteFlags {
  uid: number
  content: string
  receivedAt: Date
}

export interface MemoryMailbox {
  path: string
  role: MailboxRole
  uidValidity: number
  uidNext: number
  messages: MemoryMessage[]
}

/**
 * A mail server without a wire, with the rules of IMAP: UIDs only rise, a move is a new UID elsewhere, a renumbering
 * voids all. It has neither mod-sequences nor push. Other clients may change it at every moment at which a provider
 * awaits: `onAwait` is called there, and may throw.
 */
export class MemoryServer {
  readonly mailboxes = new Map<string, MemoryMailbox>()
  /** UIDs of messages that a search finds and does not give. */
  readonly unreadable = new Set<number>()
  /** UIDs of messages that listings leave out: the server lies about them. */
  readonly unlisted = new Set<number>()
  onAwait: () => void | Promise<void> = () => undefined
  #validity = 1

  create(path: string, role: MailboxRole = 'custom'): MemoryMailbox {
    const mailbox = { path, role, uidValidity: this.#validity++, uidNext: 1, messages: [] }
    this.mailboxes.set(path, mailbox)
    return mailbox
  }

  get(path: string): MemoryMailbox {
    const mailbox = this.mailboxes.get(path)
    if (!mailbox) throw new ProviderFailure('not_found', `no mailbox ${path}`)
    return mailbox
  }

  /** @returns the UID */
  deliver(path: string, content: string, receivedAt: Date, flags: Partial<RemoteFlags> = {}): number {
    const mailbox = this.get(path)
    const state = { isRead: false, isFlagged: false, isDraft: false, categories: [], ...flags }
    const uid = mailbox.uidNext++
    mailbox.messages.push({ ...state, uid, content, receivedAt })
    return uid
  }

  move(from: string, message: MemoryMessage, to: string): number {
    this.expunge(from, message)
    const { content, receivedAt, ...flags } = message
    return this.deliver(to, content, receivedAt, flags)
  }

  expunge(from: string, message: MemoryMessage): void {
    const mailbox = this.get(from)
    mailbox.messages = mailbox.messages.filter(other => other !== message)
  }

  renumber(path: string): void {
    const mailbox = this.get(path)
    mailbox.uidValidity = this.#validity++
    mailbox.messages = mailbox.messages.map((message, index) => ({ ...message, uid: index + 1 }))
    mailbox.uidNext = mailbox.messages.length + 1
  }

  rename(from: string, to: string): void {
    const mailbox = this.get(from)
    this.mailboxes.delete(from)
    this.mailboxes.set(to, Object.assign(mailbox, { path: to }))
  }
}

interface MemoryCursor {
  uidValidity: number
  uidNext: number
  /** How many messages below uidNext there were when the index last equalled them; null: never compared. */
  exists: number | null
  /** State of the mailbox when it was last compared; null: never. */
  digest: string | null
  /** Messages below this number are still to be brought in; null: none. */
  backfillBelow: number | null
  [name: string]: unknown
}

type Ask = <T>(answer: () => T) => Promise<T>

/** A connection to a `MemoryServer`. */
export function memoryMail(server: MemoryServer): Offering<'mail' | 'content' | 'search'> {
  const ask: Ask = async answer => {
    await server.onAwait()
    const answered = answer()
    await server.onAwait()
    return answered
  }
  return {
    mail: followMemory(server, ask),
    content: readMemory(server, ask),
    search: searchMemory(server, ask),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

function followMemory(server: MemoryServer, ask: Ask): MailProvider {
  return {
    isPushed: false,
    mailboxesLeftOut: 0,
    listMailboxes: () => ask(() => [...server.mailboxes.values()].map(presentMailbox)),
    answersTo: key => ask(() => server.mailboxes.has(key)),

    hasChanged({ state }, cursor) {
      const known = cursor as MemoryCursor | null
      return known === null || known.uidNext !== state?.['uidNext'] || known.digest !== state['digest']
    },

    async *compare(source, { cursor, known }): AsyncGenerator<SourceStep> {
      const before = cursor as MemoryCursor | null
      const { uidValidity, uidNext, digest, lastUid } = await ask(() => stateOf(server.get(source)))
      if (before?.uidValidity !== uidValidity) {
        yield {
          type: 'reset',
          keys: 'void',
          cursor: { uidValidity, uidNext, exists: null, digest: null, backfillBelow: uidNext },
        }
        return
      }
      const { keys } = await known()
      const present = new Map<number, MemoryMessage>()
      for (let above = 0; ;) {
        const chunk = await ask(() => {
          const mailbox = server.get(source)
          if (mailbox.uidValidity !== uidValidity)
            throw new ProviderFailure('unavailable', 'renumbered meanwhile')
          return mailbox.messages.filter(({ uid }) => uid > above && uid < before.uidNext).slice(0, CHUNK)
        })
        for (const message of chunk) present.set(message.uid, { ...message })
        if (chunk.length === 0) break
        above = chunk.at(-1)?.uid ?? above
      }
      const after = { ...before, exists: present.size, digest }
      // Messages that came and went unseen leave nothing but their numbers.
      if (lastUid < before.uidNext) after.uidNext = uidNext
      // The engine has to find the differences from the index, as with mod-sequences.
      const changes = [...present.values()].filter(
        ({ uid }) => digest !== before.digest && keys.includes(uid),
      )
      yield {
        type: 'states',
        changes: changes.map(({ uid, ...rest }) => ({ key: uid, flags: flagsOf(rest), mailboxKeys: null })),
        cursor: after,
      }
      const gone = [...keys].filter(uid => !present.has(uid))
      yield { type: 'gone', keys: gone, certainty: 'hint', cursor: after }
    },

    async *arrivals(source, { cursor, retry }: FollowOptions): AsyncGenerator<SourceStep> {
      let at = cursor as MemoryCursor
      if (at === null) return
      const take = async (origin: 'new' | 'missing', pick: (mailbox: MemoryMailbox) => MemoryMessage[]) =>
        ask(() => {
          const mailbox = server.get(source)
          if (mailbox.uidValidity !== at.uidValidity)
            throw new ProviderFailure('unavailable', 'renumbered meanwhile')
          return { origin, messages: pick(mailbox).map(message => toRemote(mailbox, message)) }
        })
      if (retry.length > 0) {
        const { origin, messages } = await take('new', mailbox =>
          mailbox.messages.filter(({ uid }) => retry.includes(uid)),
        )
        yield { type: 'arrived', origin, messages, unreadable: [], cursor: at, remaining: 0 }
      }
      for (;;) {
        const { origin, messages } = await take('new', mailbox =>
          mailbox.messages.filter(({ uid }) => uid >= at.uidNext).slice(0, CHUNK),
        )
        if (messages.length === 0) break
        at = {
          ...at,
          uidNext: Number(messages.at(-1)?.key) + 1,
          exists: at.exists === null ? null : at.exists + messages.length,
        }
        yield { type: 'arrived', origin, messages, unreadable: [], cursor: at, remaining: 0 }
      }
      while (at.backfillBelow !== null) {
        const below = at.backfillBelow
        const { origin, messages } = await take('missing', mailbox =>
          mailbox.messages.filter(({ uid }) => uid < below).slice(-CHUNK),
        )
        at = { ...at, backfillBelow: messages.length === 0 ? null : Number(messages[0]?.key) }
        yield { type: 'arrived', origin, messages, unreadable: [], cursor: at, remaining: below }
      }
    },

    isComplete(cursor) {
      const at = cursor as MemoryCursor | null
      return at !== null && at.backfillBelow === null && at.exists !== null
    },

    isFirstReading: cursor => (cursor as MemoryCursor | null)?.backfillBelow !== null,

    narrow: cursor => cursor,

    isRenamed({ state }, cursor) {
      return state?.uidValidity === cursor.uidValidity
    },

    locate: (at, keys) =>
      ask(() => {
        const mailbox = at && server.get(at.source)
        const isSame = mailbox?.uidValidity === at?.cursor?.uidValidity
        const there = isSame ? (mailbox?.messages ?? []) : []
        const found: Located['found'] = new Map(
          there
            .filter(({ uid }) => keys.includes(uid))
            .map(message => [message.uid, { flags: flagsOf(message), mailboxKeys: [at!.source] }]),
        )
        return { found, gone: keys.filter(key => !found.has(key)), unreadable: [] }
      }),

    list: ({ source, cursor }, { after }) =>
      ask(() => {
        const mailbox = server.get(source)
        if (mailbox.uidValidity !== cursor?.['uidValidity'])
          throw new ProviderFailure('conflict', 'renumbered meanwhile')
        const above = Number(after?.['above'] ?? 0)
        const listed = mailbox.messages
          .filter(({ uid }) => uid > above && uid < Number(cursor['uidNext']) && !server.unlisted.has(uid))
          .slice(0, CHUNK)
        const last = listed.at(-1)
        return {
          messages: listed.map(message => ({
            key: message.uid,
            flags: flagsOf(message),
            mailboxKeys: [source],
            receivedAt: message.receivedAt,
          })),
          next: last && listed.length === CHUNK ? { above: last.uid } : null,
        }
      }),

    watch: (): Promise<Notice> => ask(() => ({ arrived: false, changed: false, gone: false })),
  }
}

function readMemory(server: MemoryServer, ask: Ask): ContentProvider {
  return {
    open: ({ source, cursor, key }, range) =>
      streamContent(
        () =>
          ask(() => {
            const mailbox = server.get(source)
            const found = mailbox.messages.find(({ uid }) => uid === key)
            if (!found || cursor?.uidValidity !== mailbox.uidValidity)
              throw new ProviderFailure('not_found', 'no such message')
            return found.content
          }),
        range,
      ),

    readSources: ({ source, cursor, keys }, bytesMax) =>
      ask(() => {
        const mailbox = server.get(source)
        if (cursor?.uidValidity !== mailbox.uidValidity)
          throw new ProviderFailure('unavailable', 'renumbered meanwhile')
        const sources = new Map<MessageKey, Buffer>()
        let left = bytesMax
        for (const { uid, content } of mailbox.messages) {
          const bytes = Buffer.from(content)
          if (!keys.includes(uid) || bytes.length > CONTENT_BYTES_MAX || bytes.length > left) continue
          left -= bytes.length
          sources.set(uid, bytes)
        }
        return sources
      }),
  }
}

function searchMemory(server: MemoryServer, ask: Ask): SearchProvider {
  return {
    async *search({
      text,
      places,
      after,
      before,
      position,
      limit,
      known,
    }): AsyncGenerator<void, SearchPage, void> {
      if (/[\u0000\r\n]/.test(text)) throw new ProviderFailure('rejected', 'no search for line breaks')
      const found: SearchHit[] = []
      for (const { id, source, cursor } of places) {
        const hits = await ask(() => {
          const mailbox = server.mailboxes.get(source)
          const isNumberedAlike = mailbox?.uidValidity === cursor?.uidValidity
          return (mailbox?.messages ?? [])
            .filter(({ content }) => content.toLowerCase().includes(text.toLowerCase()))
            .map(message => ({ message: toRemote(mailbox!, message), isNumberedAlike }))
        })
        const dates = await known(
          id,
          hits.filter(hit => hit.isNumberedAlike).map(({ message }) => message.key),
        )
        for (const { message, isNumberedAlike } of hits) {
          const knownAt = isNumberedAlike ? dates.get(message.key) : undefined
          const receivedAt = knownAt ?? message.receivedAt
          found.push({
            placeId: id,
            key: message.key,
            receivedAt,
            message: knownAt ? null : message,
          })
        }
        yield
      }
      const wanted = found
        .filter(({ receivedAt }) => (!after || receivedAt >= after) && (!before || receivedAt < before))
        .toSorted(inOrder)
        .filter(hit => position === null || inOrder(position, hit) < 0)
      const last = wanted[limit - 1]
      const next = wanted.length > limit && last ? { ...last } : null
      const hits = wanted.slice(0, limit).filter(({ key }) => !server.unreadable.has(Number(key)))
      return { hits, next }
    },
  }
}

/** Streams content that is a string, asked for again for each piece. It has no parts but the first, its body. */
export async function* streamContent(
  ask: () => Promise<string>,
  { part, isHeader, offset, end }: ContentRange,
): AsyncGenerator<Buffer, ContentEnd, void> {
  if (part !== null && !/^[\d.]+$/.test(part)) throw new ProviderFailure('not_found', 'no such part')
  for (let at = offset; ;) {
    const content = await ask()
    const bodyAt = content.indexOf('\r\n\r\n') + 4
    if (part !== null && (part !== '1' || isHeader)) return 'nothing'
    const text = isHeader ? content.slice(0, bodyAt) : part === null ? content : content.slice(bodyAt)
    const piece = Buffer.from(text).subarray(at, Math.min(at + CONTENT_BYTES_MAX, end ?? Infinity))
    if (piece.length === 0) return 'end'
    at += piece.length
    yield piece
  }
}

function inOrder(a: SearchPosition, b: SearchPosition): number {
  const order = b.receivedAt.getTime() - a.receivedAt.getTime() || (a.placeId < b.placeId ? -1 : 1)
  return a.receivedAt.getTime() === b.receivedAt.getTime() && a.placeId === b.placeId
    ? Number(b.key) - Number(a.key)
    : order
}

function stateOf({ uidValidity, uidNext, messages }: MemoryMailbox) {
  const lastUid = messages.at(-1)?.uid ?? 0
  return { uidValidity, uidNext, lastUid, digest: JSON.stringify([uidValidity, uidNext, messages]) }
}

export function presentMailbox(mailbox: MemoryMailbox): RemoteMailbox {
  const { path, role, messages } = mailbox
  return {
    key: path,
    providerId: null,
    name: path.slice(path.lastIndexOf('/') + 1),
    path,
    parentKey: path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : null,
    role,
    kind: 'folder',
    totalCount: messages.length,
    unreadCount: messages.filter(({ isRead }) => !isRead).length,
    source: path,
    state: stateOf(mailbox),
  }
}

/** Location of a message that was added to a mailbox, as the server reports it. */
export function locationIn({ path, uidValidity }: MemoryMailbox, uid: number): NewLocation {
  const firstCursor: MemoryCursor = {
    uidValidity,
    uidNext: uid,
    exists: null,
    digest: null,
    backfillBelow: uid,
  }
  return {
    source: path,
    key: uid,
    isValidUnder: cursor => cursor === null || cursor['uidValidity'] === uidValidity,
    firstCursor,
  }
}

export function toRemote(mailbox: MemoryMailbox, message: MemoryMessage): RemoteMessage {
  return remoteMessage({ ...message, key: message.uid, mailboxKeys: [mailbox.path] })
}

/** A message as an adapter hands it over, of which only these facts matter. */
export function remoteMessage({
  key,
  mailboxKeys,
  content,
  receivedAt,
  ...flags
}: RemoteFlags &
  Pick<RemoteMessage, 'key' | 'mailboxKeys' | 'receivedAt'> & { content: string }): RemoteMessage {
  const identity = createHash('sha256').update(content).digest('hex')
  return {
    ...flagsOf(flags),
    key,
    mailboxKeys,
    identity: identity.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
    threadId: null,
    internetMessageId: `<${content}@memory.test>`,
    references: [],
    inReplyTo: [],
    subject: /^Subject: (.*)\r$/m.exec(content)?.[1] ?? content,
    from: { name: null, address: 'sender@memory.test' },
    to: [],
    cc: [],
    bcc: [],
    replyTo: [],
    snippet: '',
    receivedAt,
    sentAt: null,
    hasAttachments: false,
    importance: 'normal',
    draftMark: null,
    draftKey: null,
    mayBeReport: false,
    mayBeInvitation: false,
    size: content.length,
  }
}

export function flagsOf({ isRead, isFlagged, isDraft, categories }: RemoteFlags): RemoteFlags {
  return { isRead, isFlagged, isDraft, categories }
}
