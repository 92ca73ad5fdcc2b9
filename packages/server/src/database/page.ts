import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import { type Clock, systemClock } from '../kit/clock.ts'

/** The properties that a cursor is bound to. It does not open with any other binding. */
export interface CursorBinding {
  tenantId: string
  /** The list, with the ids of its path, such as `GET /v1/accounts/{id}/messages`. */
  list: string
  /** The filters of the list, without the page size. Undefined values count as absent. */
  filters?: Readonly<Record<string, string | number | boolean | Date | undefined>>
}

/** Seals and opens the opaque cursors of the API. */
export interface CursorCodec {
  /** Seals a cursor of a list, which is valid for 30 days. */
  seal(position: readonly string[], binding: CursorBinding): string
  /**
   * Returns the position in the cursor, or null unless it was issued for this list with these filters, recently enough
   * (30 days by default).
   */
  open(cursor: string, binding: CursorBinding, secondsMax?: number): string[] | null
  /** Seals a cursor of a feed, which holds only a position and never expires. */
  sealLasting(position: readonly string[], binding: CursorBinding): string
  openLasting(cursor: string, binding: CursorBinding): string[] | null
}

const CURSOR_LENGTH_MAX = 512
const LIST_CURSOR_DAYS = 30
const VERSION = 1
const MAC_BYTES = 16

/** @param key 32 bytes that every process of the installation shares */
export function createCursorCodec(key: Buffer, clock: Clock = systemClock): CursorCodec {
  // Imported once: each list page seals a cursor, and importing the key costs several times the HMAC.
  const macKey = createSecretKey(key)

  /** Base64url of the payload, then its MAC. The binding is authenticated but not contained. */
  function encode(payload: Buffer, kind: string, { tenantId, list, filters = {} }: CursorBinding): string {
    const given = Object.entries(filters).filter(([, value]) => value !== undefined)
    const bound = JSON.stringify([
      VERSION,
      kind,
      tenantId,
      list,
      given.toSorted(([a], [b]) => (a < b ? -1 : 1)),
    ])
    const mac = createHmac('sha256', macKey).update(bound).update('\0').update(payload).digest()
    return Buffer.concat([payload, mac.subarray(0, MAC_BYTES)]).toString('base64url')
  }

  function decode(cursor: string, kind: string, binding: CursorBinding): unknown[] | null {
    if (cursor.length > CURSOR_LENGTH_MAX) return null
    const payload = Buffer.from(cursor, 'base64url').subarray(0, -MAC_BYTES)
    // Comparing the whole text also refuses other spellings of the same bytes.
    const expected = Buffer.from(encode(payload, kind, binding))
    const given = Buffer.from(cursor)
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null
    return JSON.parse(payload.toString()) as unknown[]
  }

  return {
    seal(position, binding) {
      const issued = Math.floor(clock.now() / 1000)
      return encode(Buffer.from(JSON.stringify([issued, ...position])), 'list', binding)
    },
    open(cursor, binding, secondsMax = LIST_CURSOR_DAYS * 86_400) {
      const content = decode(cursor, 'list', binding)
      if (content === null) return null
      const [issued, ...position] = content as [number, ...string[]]
      return clock.now() / 1000 - issued > secondsMax ? null : position
    },
    sealLasting: (position, binding) => encode(Buffer.from(JSON.stringify(position)), 'feed', binding),
    openLasting: (cursor, binding) => decode(cursor, 'feed', binding) as string[] | null,
  }
}

/** The position in a list that is ordered by a time and an id, newest first. The next page starts after this row. */
export interface NewestFirst {
  /** ISO 8601 with milliseconds, the precision of the columns. */
  time: string
  id: string
}

/** The condition that a row comes after the position; true at the start of the list. */
export function isAfter(
  position: NewestFirst | null,
  columns: { time: string; id: string },
): RawBuilder<boolean> {
  if (position === null) return sql`true`
  return sql`(${sql.ref(columns.time)}, ${sql.ref(columns.id)})
    < (${position.time}::timestamptz, ${position.id}::uuid)`
}

/**
 * The number of rows that a list reads: at least one more than the page. It is part of the statement's text, since the
 * planner cannot see the value of a parameter and would plan for a tenth of the table. Only a few sizes are used, so
 * that there are few texts.
 */
export function rowsToRead(limit: number): RawBuilder<number> {
  return sql.raw(String((READ_SIZES.find(size => size >= limit) ?? limit) + 1))
}

const READ_SIZES = [25, 50, 100, 200, 500]

/** Splits the rows into the page and whether more follow. */
export function cutPage<T>(rows: readonly T[], limit: number): { page: readonly T[]; hasMore: boolean } {
  return rows.length > limit ? { page: rows.slice(0, limit), hasMore: true } : { page: rows, hasMore: false }
}
