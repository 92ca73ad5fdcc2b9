import { CONTENT_BYTES_MAX, type ContentEnd, type ContentRange, type Location } from '../content.ts'
import type { KnownMessage, MessageKey, SourceCursor } from '../mail.ts'
import { ProviderFailure } from '../failure.ts'
import type { CommandArguments } from './command.ts'
import { readCursor } from './cursor.ts'
import { fetchItems } from './fetch.ts'
import { type TrackedMailboxes, isRenumbered, toUids, wireNameOf } from './follow.ts'
import type { Selected } from './open-mailbox.ts'
import { hasMessageId, numbered, placeOf, recogniseMessages } from './same-messages.ts'
import { readFetched } from './translate.ts'

/** Nearly every header is complete within this size. */
const HEADER_BYTES = 16 * 1024
/** A part number (RFC 9051 section 6.4.5); it becomes part of a command. */
const PART = /^[1-9]\d{0,3}(?:\.[1-9]\d{0,3}){0,63}$/

/**
 * `ContentProvider.open` on IMAP: each piece is one command, so the connection is free between two. A read that begins
 * with the header shows by itself whether it is of the wanted message; before other reads, the header is checked.
 */
export async function* openContent(
  tracked: TrackedMailboxes,
  location: Location,
  range: ContentRange,
): AsyncGenerator<Buffer, ContentEnd, void> {
  const end = range.end ?? Number.POSITIVE_INFINITY
  const isFromHeader = range.part === null && range.offset === 0
  let isRecognised = isFromHeader
  for (let offset = range.offset; offset < end;) {
    const length = Math.min(CONTENT_BYTES_MAX, end - offset)
    if (!isRecognised) await requireSame(tracked, location)
    isRecognised = true
    const answer = await readPiece(tracked, location, { ...range, offset, length })
    if (isFromHeader && offset === 0 && !isRecognisable(answer, location)) {
      if (!(await requireSame(tracked, location))) throw gone()
    }
    if (!answer) return 'nothing'
    if (answer.length === 0) return 'end'
    // Some servers send more than was requested.
    const piece = answer.subarray(0, length)
    offset += piece.length
    yield piece
    // A short answer may be a whim of the server, so the rest is requested, unless the whole ends there by its size.
    if (piece.length < CONTENT_BYTES_MAX && offset === range.size) return 'end'
  }
  return 'end'
}

/** Whether the beginning of a message shows that it is the wanted one. */
function isRecognisable(beginning: Buffer | null, { known }: Location): boolean {
  return !known || (beginning !== null && hasMessageId(beginning.subarray(0, HEADER_BYTES), known))
}

/** Throws if the server has another message under the number of this one. @returns false if it has none */
async function requireSame(tracked: TrackedMailboxes, location: Location): Promise<boolean> {
  const { source, key, known } = location
  if (!known || typeof key !== 'number') return true
  const opened = await openSource(tracked, location)
  const place = placeOf(tracked, source, opened)
  const { same, others, unreadable } = await recogniseMessages(place, new Map([[key, known]]))
  if (others.length > 0)
    throw new ProviderFailure('not_found', 'The server has another message in its place.', { isOther: true })
  if (unreadable.length > 0)
    throw new ProviderFailure('unavailable', 'The server does not identify its message.')
  return same.length > 0
}

function gone(): ProviderFailure {
  return new ProviderFailure('not_found', 'The server no longer has the message.')
}

interface PieceRange extends ContentRange {
  length: number
}

/** A piece of a message's source, or of one part of it. PEEK: reading by the interface does not mark as read. */
async function readPiece(
  tracked: TrackedMailboxes,
  location: Location,
  range: PieceRange,
): Promise<Buffer | null> {
  const { connection } = tracked
  const isOpen = connection.selected?.wireName === wireNameOf(tracked, location.source)
  await openSource(tracked, location)
  let fetched = await fetchContent(connection, location.key, range)
  if (!fetched && isOpen) {
    // The server may not have reported new messages to this session yet (RFC 9051 section 7.4.1).
    await connection.run({ name: 'NOOP', arguments: [] })
    fetched = await fetchContent(connection, location.key, range)
  }
  if (!fetched) throw gone()
  return fetched.content
}

/** Null if there is no such message; null content if the server answers NIL, or without content. */
async function fetchContent(
  connection: TrackedMailboxes['connection'],
  key: MessageKey,
  range: PieceRange,
): Promise<{ content: Buffer | null } | null> {
  let found: { content: Buffer | null } | null = null
  await connection.run({
    name: 'UID FETCH',
    arguments: [
      { type: 'SEQUENCE', value: String(key) },
      [
        { type: 'ATOM', value: 'UID' },
        {
          type: 'ATOM',
          value: 'BODY.PEEK',
          section: sectionOf(range),
          partial: [range.offset, range.length],
        },
      ],
    ],
    answers: {
      FETCH(_, values) {
        const fetched = readFetched(values[0])
        if (fetched?.uid === key) found = { content: fetched.source ?? found?.content ?? null }
      },
    },
  })
  return found
}

/**
 * The sources of several messages, fetched with one command: a message that the server does not return does not
 * affect the others.
 */
export async function readSources(
  tracked: TrackedMailboxes,
  at: SourceCursor & { keys: readonly MessageKey[]; known?: ReadonlyMap<MessageKey, KnownMessage> },
  bytesMax: number,
): Promise<Map<MessageKey, Buffer>> {
  const opened = await openSource(tracked, at)
  const known = numbered(at.known ?? new Map())
  const wanted = new Set(at.keys)
  const sources = new Map<MessageKey, Buffer>()
  let left = bytesMax
  const items: CommandArguments = [
    { type: 'ATOM', value: 'UID' },
    // One byte more than is accepted: a message that fills it is too long.
    { type: 'ATOM', value: 'BODY.PEEK', section: [], partial: [0, CONTENT_BYTES_MAX + 1] },
  ]
  await fetchItems(tracked.connection, toUids(at.keys), items, ({ uid, source }) => {
    if (!source || !wanted.has(uid) || source.length > CONTENT_BYTES_MAX || source.length > left) return
    // Only the first answer for a message counts.
    wanted.delete(uid)
    left -= source.length
    sources.set(uid, source)
  })
  const unsure = [...known].filter(([uid, message]) => {
    const source = sources.get(uid)
    return source && !hasMessageId(source.subarray(0, HEADER_BYTES), message)
  })
  if (unsure.length === 0) return sources
  const { same } = await recogniseMessages(placeOf(tracked, at.source, opened), new Map(unsure))
  for (const [uid] of unsure) if (!same.includes(uid)) sources.delete(uid)
  return sources
}

/** Opens a source that has the numbering of its cursor. Without a cursor, the numbering of the keys is unknown. */
async function openSource(tracked: TrackedMailboxes, at: SourceCursor): Promise<Selected> {
  const { connection } = tracked
  const wireName = wireNameOf(tracked, at.source)
  const opened = connection.findOpen(wireName) ?? (await connection.examine(wireName))
  const cursor = readCursor(at.cursor)
  if (!cursor || isRenumbered(cursor, opened))
    throw new ProviderFailure('unavailable', 'The mailbox is being read again.')
  return opened
}

function sectionOf({ part, isHeader }: ContentRange) {
  if (part === null) return isHeader ? [{ type: 'ATOM', value: 'HEADER' }] : []
  if (!PART.test(part)) throw new ProviderFailure('not_found', 'The message has no such part.')
  return [{ type: 'ATOM', value: isHeader ? `${part}.MIME` : part }]
}
