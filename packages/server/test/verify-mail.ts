import type { Db } from '../src/database/pool.ts'
import { inTransaction } from '../src/events/unit-of-work.ts'
import { requestComparisons } from '../src/features/mail/comparisons/record.ts'
import { openDifferences } from '../src/features/mail/comparisons/rules.ts'
import { stateOf } from '../src/features/integrity/comparisons/rules.ts'
import { findComparisons } from '../src/features/mail/comparisons/store.ts'
import { ProviderFailure } from '../src/providers/failure.ts'
import type { MailProvider } from '../src/providers/mail.ts'
import { Verification } from '../src/features/mail/following/verification/verification.ts'
import type { OwnedAccount } from '../src/accounts/halves/ownership.ts'
import { BulkPermits } from '../src/sync/bulk-permits.ts'
import { openSession, runFrom } from './memory-account.ts'
import { MemoryServer, memoryMail } from './memory-mail.ts'

const ROUNDS_MAX = 200

/** A server whose inbox has that many messages. */
export function openInbox(count: number) {
  const server = new MemoryServer()
  server.create('INBOX', 'inbox')
  for (let n = 0; n < count; n++) server.deliver('INBOX', `content ${n}`, new Date(1.7e12 + n * 1000))
  return { server, world: { connect: () => memoryMail(server).mail } }
}

/** The state of all comparisons of an account together. */
export const summary = async (db: Db, accountId: string) => {
  const comparisons = await findComparisons(db, accountId)
  return {
    state: stateOf(comparisons, { now: new Date() }),
    open: comparisons.reduce((sum, comparison) => sum + openDifferences(comparison), 0),
    repaired: comparisons.reduce((sum, { repaired }) => sum + repaired, 0),
    listed: comparisons.reduce((sum, { listed }) => sum + listed, 0),
    indexed: comparisons.reduce((sum, { indexed }) => sum + indexed, 0),
  }
}

/** Asks for a comparison of all mailboxes. */
export const request = (db: Db, { id, tenantId }: OwnedAccount) =>
  inTransaction(db, tenantId, unit => requestComparisons(unit, id))

/** Makes a pass, and compares for a while. @returns whether another pass must be made */
export async function verifyOnce(
  db: Db,
  owned: OwnedAccount,
  world: { connect(): MailProvider },
  verification: Verification,
): Promise<boolean> {
  const session = await openSession(db, owned, world.connect())
  const { hasMore, sources } = await runFrom(session)
  if (hasMore) return true
  const { mustPass } = await verification.proceed(session, sources, {
    bulkPermits: new BulkPermits(1),
    pass: () => runFrom(session),
    mustStop: () => false,
  })
  return mustPass
}

/** Compares everything that is due, with ordinary passes between, as following does. @returns what was found at most */
export async function verify(
  db: Db,
  owned: OwnedAccount,
  world: { connect(): MailProvider },
  verification = new Verification(),
): Promise<number> {
  let openMax = 0
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const hasMore = await verifyOnce(db, owned, world, verification).catch((error: unknown) => {
      // Following connects again after a failure.
      if (error instanceof ProviderFailure) return true
      throw error
    })
    openMax = Math.max(openMax, (await summary(db, owned.id)).open)
    if (!hasMore) return openMax
  }
  throw new Error('does not come to rest')
}
