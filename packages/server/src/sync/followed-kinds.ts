import { type RawBuilder, sql } from 'kysely'
import type { HalfKind } from '../accounts/halves/kind.ts'
import { BulkPermits } from './bulk-permits.ts'
import type { Follower } from './follower.ts'

const BULK_READS_AT_ONCE = 4

/** A kind of data that this process follows. */
export interface FollowedKind {
  follower: Follower
  /** The permits of this kind alone: long first syncs of one kind do not delay those of another. */
  bulkPermits: BulkPermits
}

/** @throws if there is no follower, or two are of one kind, since a half has one runner */
export function followKinds(followers: readonly Follower[]): ReadonlyMap<HalfKind, FollowedKind> {
  if (followers.length === 0) throw new Error('No wing brings a follower')
  const kinds = new Map<HalfKind, FollowedKind>()
  for (const follower of followers) {
    const { kind } = follower
    if (kinds.has(kind)) throw new Error(`Two followers are of the kind ${kind}; a half has one`)
    kinds.set(kind, { follower, bulkPermits: new BulkPermits(BULK_READS_AT_ONCE) })
  }
  return kinds
}

/** The work that a row of `account` makes for all of these followers, in SQL. */
export function weightOf(followers: readonly Follower[]): RawBuilder<number> {
  return sql<number>`${sql.join(
    followers.map(({ weight }) => weight),
    sql` + `,
  )}`
}
