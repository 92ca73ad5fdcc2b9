import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { remoteIdsOf, uidsOf } from '../messages/location.ts'
import { type ChangedKey, listChangedKeys, settleChangedKeys } from '../messages/record-changed-keys.ts'
import { markMissing, recordDeleted } from '../messages/record-missing.ts'
import { recordStates } from '../messages/record-states.ts'
import type { FollowedSource, MailAccount } from '../messages/rules.ts'
import type { DraftContent, LocatedMessage, MessageKey } from '../../../providers/mail.ts'
import { quarantine, requestFetch } from './quarantine.ts'
import { mailboxesOf, type Session, underFence } from './session.ts'
import { findCursor, listUnindexed } from './source-store.ts'

/** Few, so that a provider whose quota ends in between comes further with each pass. */
const LOOKED_AT_ONCE = 50

type Of = Pick<Session, 'owned'>

/** Keys of a source that are marked as changed and that the sync has not looked at since. */
export async function changedKeysIn(
  db: Db,
  { owned }: Of,
  { source }: FollowedSource,
): Promise<Set<MessageKey>> {
  return new Set((await listChangedKeys(db, owned.id, source)).map(({ key }) => key))
}

/** The keys among them that the interface removed. A step that still has one of them is older than the removal. */
export function removedKeysAmong(changed: readonly ChangedKey[]): Set<MessageKey> {
  return new Set(changed.filter(({ isRemoved }) => isRemoved).map(({ key }) => key))
}

export async function withoutChanged(
  db: Db,
  of: Of,
  followed: FollowedSource,
  keys: readonly MessageKey[],
): Promise<MessageKey[]> {
  const changed = await changedKeysIn(db, of, followed)
  return keys.filter(key => !changed.has(key))
}

/** Changed keys that are lasting ids: no cursor counts them, so they can be looked at again at any time. */
export async function listLastingChanges(
  { db, owned }: Session,
  { source }: FollowedSource,
): Promise<ChangedKey[]> {
  return (await listChangedKeys(db, owned.id, source)).filter(({ key }) => typeof key === 'string')
}

/**
 * Looks up keys at the provider that were marked as changed before they were listed, and records its answer. Keys that
 * were changed again in the meantime are left for the next time.
 */
export async function lookAgain(
  session: Session,
  followed: FollowedSource,
  changed: readonly ChangedKey[],
): Promise<void> {
  const { db, owned, provider } = session
  for (let at = 0; at < changed.length; at += LOOKED_AT_ONCE) {
    const looked = changed.slice(at, at + LOOKED_AT_ONCE)
    const cursor = await findCursor(db, owned.id, followed.source)
    const keys = [...new Set(looked.map(({ key }) => key))]
    const {
      found,
      gone,
      drafts = [],
      unreadable,
    } = await provider.locate({ source: followed.source, cursor }, keys)
    session.progressed()
    const states = new Map([...found].map(([key, message]) => [key, stateOf(session, key, message)]))
    await underFence(session, async (unit, account) => {
      const settled = new Set((await settleChangedKeys(unit, owned.id, looked)).map(({ key }) => key))
      const there = [...settled].filter(key => found.has(key))
      await recordStates(
        unit,
        account,
        followed,
        there.flatMap(key => states.get(key) ?? []),
      )
      const goneNow = gone.filter(key => settled.has(key))
      await recordGone(unit, account, followed, goneNow, drafts)
      await retryUnindexed(unit, account, followed, there)
      await quarantine(
        unit,
        owned.id,
        followed.source,
        unreadable.filter(({ key }) => settled.has(key)),
      )
    })
  }
}

function stateOf(session: Session, key: MessageKey, { flags, mailboxKeys }: LocatedMessage) {
  return { key, flags, mailboxes: mailboxesOf(session, mailboxKeys) }
}

/**
 * The whole account was looked up at the provider. Contents that drafts have by now are fetched, if they were not read.
 */
async function recordGone(
  unit: UnitOfWork,
  account: MailAccount,
  followed: FollowedSource,
  keys: readonly MessageKey[],
  drafts: readonly DraftContent[],
): Promise<void> {
  await markMissing(unit, account, followed, uidsOf(keys))
  const there = { contents: drafts, areRead: false }
  const unread = await recordDeleted(unit, account, remoteIdsOf(keys), there)
  await requestFetch(unit, account.id, followed.source, unread)
}

/** Messages that are still there although the interface removed them are fetched again, as unreadable ones are. */
async function retryUnindexed(
  unit: UnitOfWork,
  account: MailAccount,
  followed: FollowedSource,
  keys: readonly MessageKey[],
): Promise<void> {
  const unindexed = await listUnindexed(unit.sql, account.id, followed.mailboxes, keys)
  const reason = 'is there, and was removed'
  await quarantine(
    unit,
    account.id,
    followed.source,
    unindexed.map(key => ({ key, reason })),
  )
}
