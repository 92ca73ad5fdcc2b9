import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { randomBytes } from 'node:crypto'
import type { Role } from '../../src/config/settings.ts'
import type { Db } from '../../src/database/pool.ts'
import { environmentKeyRing, type KeyRing } from '../../src/kit/key-ring.ts'
import type { Answer } from '../caller.ts'
import { startDovecot } from '../servers/dovecot.ts'
import type { MailServer } from '../servers/mail-server.ts'
import { type SmtpSink, startSmtpSink } from '../servers/smtp-sink.ts'
import { openWorld, type World } from '../servers/world.ts'
import { waitUntil } from '../wait-until.ts'
import { type CrashableOptions, type CrashableService, openCrashableService } from './crashable-service.ts'
import { connectSender, GRACE, readEntry } from './open-sending.ts'
import { requireListedStates } from './written-states.ts'

/** The service that may be killed, with servers that outlive it. */
export interface KillableSending extends CrashableService {
  imap: MailServer
  sink: SmtpSink
  tenantId: string
  /** The keys of the service. */
  keyRing: KeyRing
  /** Connects an account that sends, and files its sent copies. */
  connect(): Promise<KillableSender>
  /** Waits until nothing is left to do for the entry. Fails if an entry was in no listed state. */
  waitForEnd(entry: OutboxEntry): Promise<OutboxEntry>
}

/** An account that sends. */
export interface KillableSender {
  accountId: string
  /** Another client of the sender's mailbox. */
  world: World
  /** Sends a message. Its subject is the Idempotency-Key as well. Rejects if the service dies meanwhile. */
  post(subject: string, change?: Record<string, unknown>): Promise<OutboxEntry>
  /** Calls a route of the account with an Idempotency-Key. Rejects unless it answers 200. */
  call<T>(route: string, body: object, idempotencyKey: string): Promise<T>
  /** Number of copies in the mailbox of sent mail. */
  countCopies(internetMessageId: string): Promise<number>
}

/** @param roles beside `api` and `jobs` */
export async function openKillableSending(
  roles: readonly Role[] = [],
  makeDatabase?: CrashableOptions['makeDatabase'],
): Promise<KillableSending> {
  await using opened = new AsyncDisposableStack()
  const imap = opened.use(await startDovecot())
  const sink = opened.use(await startSmtpSink())
  const secret = randomBytes(32).toString('base64')
  const env = {
    WAXWING_SECRET_KEY: secret,
    WAXWING_ROLES: ['api', 'jobs', ...roles].join(','),
    WAXWING_EGRESS_ALLOW: '127.0.0.1/32',
    WAXWING_ALLOW_PLAINTEXT: 'true',
    WAXWING_LINKS_URL: 'https://links.example.com',
  }
  const service = opened.use(await openCrashableService({ env, makeDatabase }))
  const { db, caller } = service
  const { id: tenantId } = await db.selectFrom('tenant').select('id').executeTakeFirstOrThrow()
  const owned = opened.move()
  return {
    ...service,
    imap,
    sink,
    tenantId,
    keyRing: environmentKeyRing(secret),
    async connect() {
      const user = await imap.addUser()
      const accountId = await connectSender(caller(), { imap, sink }, { user, appendSent: true })
      const world = owned.use(await openWorld(imap, user))
      async function call<T>(route: string, body: object, key: string): Promise<T> {
        const path = `/v1/accounts/${accountId}/${route}`
        const answer: Answer<T> = await caller().post(path, body, { 'idempotency-key': key })
        if (answer.status !== 200) throw new Error(`not accepted: ${JSON.stringify(answer.body)}`)
        return answer.body
      }
      return {
        accountId,
        world,
        post: (subject, change = {}) =>
          call('outbox', { to: [GRACE], subject, text: 'Hello.\n', ...change }, subject),
        call,
        async countCopies(internetMessageId) {
          await world.witness.command('SELECT Sent')
          const { untagged } = await world.witness.command(
            `UID SEARCH HEADER Message-ID "${internetMessageId}"`,
          )
          return untagged.find(([word]) => word === 'SEARCH')!.length - 1
        },
      }
    },
    waitForEnd: ({ id, accountId, subject }) =>
      waitUntil(`the end of ${subject}`, async () => {
        await hurry(db)
        const { body } = await caller().get<OutboxEntry>(`/v1/accounts/${accountId}/outbox/${id}`)
        const { rows } = await sql`
          select from outbox where id = ${id} and (task is not null or due_at is not null)
        `.execute(db)
        const isOver = body.status === 'sent' || body.status === 'failed'
        if (isOver) await requireListedStates(db)
        return isOver && rows.length === 0 ? body : null
      }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** In place of waiting: look-ups take half an hour, retries minutes to hours, and a second search for a copy seconds. */
export async function hurry(db: Db): Promise<void> {
  await hurryTasks(db)
  await sql`update outbox set due_at = clock_timestamp() where due_at > clock_timestamp()`.execute(db)
  await sql`
    update sending_account set due_at = clock_timestamp(), paused_until = null where due_at > clock_timestamp()
  `.execute(db)
}

/**
 * Waits until nothing is left to do for entries of a provider that files copies by itself: each has failed, or is linked to
 * its copy. Fails if an entry was in no listed state.
 */
export function waitForCopiesOrFailures(
  { db, caller }: Pick<CrashableService, 'db' | 'caller'>,
  entries: readonly OutboxEntry[],
): Promise<OutboxEntry[]> {
  const ids = entries.map(({ id }) => id)
  return waitUntil('the end of all sends', async () => {
    // The last look-up, which comes hours after the hand-over.
    await sql`
      update outbox set task_tries = 6, handed_over_at = clock_timestamp() - interval '10 minutes'
      where task = 'look_up' and task_by is null and task_at > clock_timestamp()`.execute(db)
    await hurry(db)
    await requireListedStates(db)
    const { rows } = await sql`
      select from outbox where id = any(${ids}::uuid[]) and (task is not null or due_at is not null)`.execute(
      db,
    )
    if (rows.length > 0) return null
    const read: OutboxEntry[] = []
    for (const entry of entries) read.push(await readEntry(caller(), entry))
    const isOver = ({ status, messageId }: OutboxEntry) =>
      status === 'failed' || (status === 'sent' && messageId !== null)
    return read.every(isOver) ? read : null
  })
}

/** In place of waiting for what is done after a hand-over. */
export async function hurryTasks(db: Db): Promise<void> {
  await sql`
    update outbox set task_at = clock_timestamp()
    where task is not null and task_by is null and task_at > clock_timestamp()`.execute(db)
}
