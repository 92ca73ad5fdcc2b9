import { z } from 'zod'
import type { Cursor } from '../mail.ts'

const ms = z.int().nullable()
const SECOND_MS = 1_000

/** Progress of listing the messages of a folder by the time of their arrival, newest first. */
const positionSchema = z.object({
  /** Messages of this second and before are still to be listed, in milliseconds since 1970; null: nothing was listed. */
  until: ms,
  /** Ids of this second that were listed. */
  at: z.array(z.string()),
  /** The link to the next page if more messages arrived in one second than a page has; otherwise null. */
  link: z.string().nullable(),
  /** Whether that page has only ids, since one with whole messages could not be read. */
  isOfIds: z.boolean().optional(),
})
export type ListPosition = z.infer<typeof positionSchema>

const schema = z.object({
  version: z.literal(1),
  /**
   * `newest`: the newest messages are brought first. `due`: then everything is to be walked through. `walk`: this is under
   * way. `follow`: changes are followed.
   */
  stage: z.enum(['newest', 'due', 'walk', 'follow']),
  /** The link of the delta: everything before it is recorded, or will be found by the walk. */
  link: z.string().nullable(),
  /** The link with which the walk goes on; null begins it. */
  walk: z.string().nullable(),
  /** Position of a walk without a delta. */
  sweep: positionSchema.nullable(),
  /** The listing of older messages that is still to come; null if there is none. */
  listing: positionSchema
    .extend({ since: ms, isWidened: z.boolean(), listed: z.int(), total: z.int().nullable() })
    .nullable(),
  /** The start of the window that was or is listed, in milliseconds since 1970; null for all messages. */
  listedSince: ms,
  /** Messages and unread messages in the folder, and the newest modification, when changes were last asked for. */
  total: z.int().nullable(),
  unread: z.int().nullable(),
  modifiedAt: ms,
  /** Stands for the messages of the newest modification, since times are in whole seconds. */
  mark: z.string().nullable(),
  /** The time at which changes were last asked for, and at which the folder was last walked through. */
  askedAt: z.int(),
  walkedAt: ms,
  /** Messages that the provider named, but did not have yet. */
  unfound: z.array(z.string()),
  unfoundAt: ms,
})

/** The state of following a folder. */
export type FolderCursor = z.infer<typeof schema>
/** The older messages of a folder that are still to be listed. */
export type FolderListing = NonNullable<FolderCursor['listing']>

/** The facts of a folder by which a change is noticed. */
export interface FolderState {
  total: number | null
  unread: number | null
  modifiedAt: number | null
  mark: string | null
}

/** Messages from which on a folder is read from its newest messages, before it is walked through. */
const NEWEST_FIRST_MIN = 2_500

export const FIRST_POSITION: ListPosition = { until: null, at: [], link: null }

/** Whether nothing was listed yet. */
export function isFirst({ until, link }: ListPosition): boolean {
  return until === null && link === null
}

/** Null if there is none, or none that this version can read: the folder is then read from the beginning. */
export function readCursor(cursor: Cursor | null): FolderCursor | null {
  return cursor === null ? null : (schema.safeParse(cursor).data ?? null)
}

export function freshCursor(since: Date | null, state: FolderState, now: number): FolderCursor {
  const from = since?.getTime() ?? null
  return {
    version: 1,
    // A small folder is walked through in no time; of a large one, the newest messages are to be there before.
    stage: (state.total ?? 0) > NEWEST_FIRST_MIN ? 'newest' : 'walk',
    link: null,
    walk: null,
    sweep: null,
    listing: { ...FIRST_POSITION, since: from, isWidened: false, listed: 0, total: null },
    listedSince: from,
    ...state,
    askedAt: now,
    walkedAt: null,
    unfound: [],
    unfoundAt: null,
  }
}

/** The cursor of a folder whose changes since the link are not known. */
export function walkAgain(cursor: FolderCursor): FolderCursor {
  return { ...cursor, stage: 'walk', link: null, walk: null, sweep: null }
}

/** Whether the window of a cursor reaches back that far. */
export function reachesBack({ listedSince }: FolderCursor, since: Date | null): boolean {
  return listedSince === null || (since !== null && listedSince <= since.getTime())
}

export function isComplete(cursor: FolderCursor, since: Date | null): boolean {
  return cursor.stage === 'follow' && cursor.listing === null && reachesBack(cursor, since)
}

export function narrowCursor(cursor: FolderCursor, since: Date): FolderCursor {
  const at = since.getTime()
  return cursor.listedSince !== null && cursor.listedSince >= at ? cursor : { ...cursor, listedSince: at }
}

/** The oldest arrival that the walk brings: what is older is listed afterwards, or is outside of the window. */
export function walkedSince({ listing, listedSince }: FolderCursor, since: Date | null): number | null {
  const bounds = [listedSince, since?.getTime() ?? null, listing === null ? null : newestUnlisted(listing)]
  const known = bounds.filter(bound => bound !== null)
  return known.length === 0 ? null : Math.max(...known)
}

/** Arrivals from this time on are listed. A second that is read on by a link is not listed to its end. */
function newestUnlisted({ until, link }: ListPosition): number {
  if (until === null) return Number.POSITIVE_INFINITY
  return link === null ? until : until + SECOND_MS
}

/** The oldest arrival whose changes are recorded: what is older was not wanted so far. */
export function followedSince({ listedSince }: FolderCursor, since: Date | null): number | null {
  const at = since?.getTime() ?? null
  return at === null || listedSince === null ? (at ?? listedSince) : Math.max(at, listedSince)
}

/** Graph gives times in whole seconds, so a message of the second of a bound is within it. */
export function isSince(at: number | null | undefined, bound: number | null): boolean {
  if (bound === null || bound === Number.POSITIVE_INFINITY) return bound === null
  return at === null || at === undefined || at >= Math.floor(bound / SECOND_MS) * SECOND_MS
}
