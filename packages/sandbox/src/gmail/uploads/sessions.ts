import type { Clock } from '../../world/clock.ts'
import type { Random } from '../../world/random.ts'
import type { Admitted } from '../api/admission.ts'
import { invalidArgument, notFound, tooLarge } from '../../google/api/refusal.ts'

export const UPLOAD_BYTES_MAX = 36_700_160
const CHUNK_BYTES = 256 * 1024
const SESSION_MS = 7 * 24 * 3600 * 1000
const SESSIONS_MAX = 1_000

/** An upload that comes in pieces. */
export interface Session {
  readonly admitted: Admitted
  readonly metadata: Record<string, unknown>
  /** Bytes in all; null until the client names their number. */
  total: number | null
  readonly chunks: Buffer[]
  received: number
  readonly expiresAt: number
}

export interface Sessions {
  /** Opens a session and returns its id. Beyond 1,000 sessions the oldest ends. */
  open(upload: Pick<Session, 'admitted' | 'metadata' | 'total'>): string
  /** Finds a session. Throws Gmail's refusal if there is none, or if it has expired. */
  require(id: string): Session
  end(id: string): void
}

export function openSessions(clock: Clock, random: Random): Sessions {
  const sessions = new Map<string, Session>()
  return {
    open(upload) {
      const id = `ABg5-U${random.letters(60)}`
      const [oldest] = sessions.keys()
      if (sessions.size >= SESSIONS_MAX && oldest !== undefined) sessions.delete(oldest)
      sessions.set(id, { ...upload, chunks: [], received: 0, expiresAt: clock.now() + SESSION_MS })
      return id
    },
    require(id) {
      const session = sessions.get(id)
      if (!session || session.expiresAt < clock.now()) throw notFound()
      return session
    },
    end: id => void sessions.delete(id),
  }
}

/** Adds the bytes of a request to a session, at the range that its Content-Range names, if any. */
export function addBytes(session: Session, range: string | null, bytes: Buffer): void {
  if (range === null) session.total ??= session.received + bytes.length
  const { from, to } =
    range === null
      ? { from: session.received, to: session.received + bytes.length - 1 }
      : rangeIn(session, range)
  if (from !== null) takeChunk(session, from, to, bytes)
}

/** The range of bytes that a Content-Range names, if any. Its length becomes that of the session. */
function rangeIn(session: Session, range: string): { from: number | null; to: number } {
  const [, from, to, total] = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/.exec(range) ?? []
  if (total === undefined) throw invalidArgument('Failed to parse Content-Range header.')
  if (total !== '*') session.total ??= Number(total)
  if (total !== '*' && Number(total) !== session.total)
    throw invalidArgument('Content-Range names another length than before.')
  return { from: from === undefined ? null : Number(from), to: Number(to) }
}

function takeChunk(session: Session, from: number, to: number, bytes: Buffer): void {
  if (from !== session.received)
    throw invalidArgument(`Invalid request. Expected the range to begin at ${session.received}.`)
  if (to - from + 1 !== bytes.length)
    throw invalidArgument('Content-Range does not fit the length of the body.')
  const last = session.total !== null && to + 1 === session.total
  if (!last && bytes.length % CHUNK_BYTES !== 0)
    throw invalidArgument(
      `Invalid request. The number of bytes uploaded is required to be a multiple of ${CHUNK_BYTES}.`,
    )
  if (to + 1 > Math.min(session.total ?? UPLOAD_BYTES_MAX, UPLOAD_BYTES_MAX))
    throw tooLarge('Too many bytes.')
  session.chunks.push(bytes)
  session.received = to + 1
}
