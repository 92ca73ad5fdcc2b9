import { sql } from 'kysely'
import type { Db } from '../src/database/pool.ts'
import { newId } from '../src/kit/ids.ts'
import { silentLog } from '../src/kit/log.ts'
import { ProviderFailure } from '../src/providers/failure.ts'
import type { MailProvider } from '../src/providers/mail.ts'
import { NO_BODIES } from '../src/features/mail/following/bodies.ts'
import { Doubts } from '../src/sync/doubts.ts'
import { LookTimes } from '../src/features/mail/following/look-times.ts'
import { type PassOptions, runPass } from '../src/features/mail/following/pass.ts'
import { beginPass } from '../src/features/mail/following/pass-start.ts'
import type { Session } from '../src/features/mail/following/session.ts'
import {
  type ClaimedAccount,
  claimAccounts,
  FenceLost,
  type OwnedAccount,
} from '../src/accounts/halves/ownership.ts'
import { lineOf, type MailWorld } from './mail-worlds.ts'
import { addHalves } from './halves.ts'

/** An account of a memory server, owned by an instance that this test plays. */
export async function ownAccount(db: Db): Promise<ClaimedAccount> {
  const [tenantId, instanceId] = [newId(), newId()]
  await db.insertInto('tenant').values({ id: tenantId, name: tenantId, settings: '{}' }).execute()
  await db
    .insertInto('account')
    .values({
      id: newId(),
      tenant_id: tenantId,
      provider: 'imap',
      email: 'me@memory.test',
      auth_method: 'password',
    })
    .execute()
  await addHalves(db)
  await db
    .insertInto('instance')
    .values({ id: instanceId, heartbeat_until: new Date(Date.now() + 600_000) })
    .execute()
  const [owned] = await claimAccounts(db, instanceId, 1)
  if (!owned) throw new Error('nothing to claim')
  return owned
}

export async function openSession(
  db: Db,
  owned: OwnedAccount,
  provider: MailProvider,
  doubts = new Doubts(),
): Promise<Session> {
  const account = await db
    .selectFrom('account_half')
    .select('initialized_at')
    .where('account_id', '=', owned.id)
    .where('kind', '=', 'mail')
    .executeTakeFirst()
  if (!account) throw new FenceLost(owned.id)
  return {
    db,
    owned,
    provider,
    isOneAtATime: false,
    isInitialized: account.initialized_at !== null,
    since: null,
    signal: new AbortController().signal,
    progressed: () => undefined,
    bodies: NO_BODIES,
    doubts,
    looks: new LookTimes(),
    onSuspicion: () => undefined,
    mailboxes: new Map(),
    unlisted: new Set(),
    log: silentLog,
  }
}

const NO_OTHERS: PassOptions = {
  acquireBulkPermit: () => Promise.resolve({ isWanted: false, [Symbol.dispose]() {} }),
  onBackfill: () => Promise.resolve(),
  isNoticed: () => false,
  readNoticed: () => Promise.resolve(true),
}

/** Makes a pass as `followMail` does. */
export const runFrom = async (session: Session, options: Partial<PassOptions> = {}) =>
  runPass(session, (await beginPass(session.db, session.owned)).start, { ...NO_OTHERS, ...options })

export const pass = async (db: Db, owned: OwnedAccount, world: Pick<MailWorld, 'connect'>, doubts?: Doubts) =>
  runFrom(await openSession(db, owned, world.connect(), doubts))

export async function passUntilCaughtUp(
  db: Db,
  owned: OwnedAccount,
  world: Pick<MailWorld, 'connect'>,
): Promise<void> {
  const doubts = new Doubts()
  for (let tries = 0; tries < 20; tries++) {
    try {
      if (!(await pass(db, owned, world, doubts)).hasMore && tries > 1) return
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error
    }
  }
  throw new Error('does not come to rest')
}

export interface IndexedMessage {
  id: string
  content: string
  mailboxIds: string[]
}

export async function readIndex(db: Db): Promise<IndexedMessage[]> {
  const { rows } = await sql<IndexedMessage>`
    select id, subject as content, mailbox_ids as "mailboxIds" from message order by id
  `.execute(db)
  return rows
}

interface IndexedPlace {
  content: string
  mailbox: string
  is_read: boolean
  is_flagged: boolean
  categories: string[]
}

/** Content of the index in the form of `MailWorld.truth`, read from the rows of lists and of listings of mailboxes. */
export async function readPlaces(db: Db): Promise<string[]> {
  const { rows } = await sql<IndexedPlace>`
    select subject as content, path as mailbox, is_read, is_flagged, categories
    from message_mailbox as held join message on message.id = held.message_id join mailbox on mailbox.id = mailbox_id
    where mailbox.id = any(message.mailbox_ids) and held.received_at = message.received_at
  `.execute(db)
  return rows
    .map(row => lineOf(row.content, row.mailbox, [row.is_read, row.is_flagged, row.categories]))
    .toSorted()
}

export interface FeedEvent {
  type: string
  data: {
    message?: { id: string; subject: string }
    mailbox?: { id: string }
    mailboxes?: Array<{ id: string }>
    changes?: string[]
  }
}

export async function readFeed(db: Db): Promise<FeedEvent[]> {
  const { rows } = await sql<FeedEvent>`select type, data from event order by id`.execute(db)
  return rows
}
