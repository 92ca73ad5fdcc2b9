import type { FollowedSource } from '../messages/rules.ts'
import type { Session } from './session.ts'
import { listCursors } from './source-store.ts'

/** Describes, for people, the mail that complete sources are known to lack for now; null if they lack none. */
export async function findGap(session: Session, sources: readonly FollowedSource[]): Promise<string | null> {
  const { db, owned, provider } = session
  if (!provider.gapOf) return null
  const cursors = await listCursors(db, owned.id)
  const gaps = sources.flatMap(({ source }) => provider.gapOf?.(cursors.get(source) ?? null) ?? [])
  return gaps.length === 0 ? null : [...new Set(gaps)].join('; ')
}
