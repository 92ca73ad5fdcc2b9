import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import type { Role } from '../../src/config/settings.ts'
import type { Db } from '../../src/database/pool.ts'
import { type Caller, callerOf } from '../caller.ts'
import { makeExternalDatabase } from '../external-database.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { type SmtpSink, startSmtpSink } from '../servers/smtp-sink.ts'
import { openWorld, type World } from '../servers/world.ts'
import { makeDataFolder, type ServiceProcess, startServiceProcess } from '../service-process.ts'
import { waitUntil } from '../wait-until.ts'
import { connectSender, GRACE } from './open-sending.ts'

const PROGRAM = fileURLToPath(new URL('./crashing-service.ts', import.meta.url))

/** The service in a process of its own that may be killed, on a database and with servers that outlive it. */
export interface KillableSending extends AsyncDisposable {
  db: Db
  sink: SmtpSink
  tenantId: string
  accountId: string
  /** Another client of the sender's mailbox. */
  world: World
  caller(): Caller
  /** Where the API listens now. */
  address(): string
  /** Sends a message. Its subject is the Idempotency-Key as well. Rejects if the service dies meanwhile. */
  post(subject: string): Promise<OutboxEntry>
  /** Calls a route of the account with an Idempotency-Key. Rejects unless it answers 200. */
  call<T>(route: string, body: object, idempotencyKey: string): Promise<T>
  /** Lets the service end itself at that moment of a send, or of so many sends. */
  crashAt(point: string, times?: number): Promise<void>
  kill(): void
  /** Waits until the service has ended, and starts it again. */
  restart(): Promise<void>
  /** Waits until nothing is left to do for the entry. */
  waitForEnd(entry: OutboxEntry): Promise<OutboxEntry>
  /** Number of copies in the mailbox of sent mail. */
  countCopies(internetMessageId: string): Promise<number>
}

interface Database extends AsyncDisposable {
  url: string
  database: { db: Db }
}

/**
 * @param roles beside `api` and `jobs`
 * @param makeDatabase a migrated one; by default on the server of the test run
 */
export async function openKillableSending(
  roles: readonly Role[] = [],
  makeDatabase: () => Promise<Database> = () => makeExternalDatabase({ migrated: true }),
): Promise<KillableSending> {
  await using opened = new AsyncDisposableStack()
  const { url, database } = opened.use(await makeDatabase())
  const { db } = database
  const imap = opened.use(await startDovecot())
  const sink = opened.use(await startSmtpSink())
  const folder = opened.use(await makeDataFolder())
  const options = {
    program: PROGRAM,
    env: {
      DATABASE_URL: url,
      WAXWING_SECRET_KEY: randomBytes(32).toString('base64'),
      WAXWING_ROLES: ['api', 'jobs', ...roles].join(','),
      WAXWING_EGRESS_ALLOW: '127.0.0.1/32',
      WAXWING_ALLOW_PLAINTEXT: 'true',
      WAXWING_LINKS_URL: 'https://links.example.com',
    },
  }
  let service: ServiceProcess = await startServiceProcess(folder, options)
  opened.defer(() => service[Symbol.asyncDispose]())
  const { key } = service
  const user = await imap.addUser()
  const caller = (): Caller => callerOf(service.address, key)
  const accountId = await connectSender(caller(), { imap, sink }, { user, appendSent: true })
  const world = opened.use(await openWorld(imap, user))
  const { id: tenantId } = await db.selectFrom('tenant').select('id').executeTakeFirstOrThrow()
  const owned = opened.move()
  async function call<T>(route: string, body: object, idempotencyKey: string): Promise<T> {
    const answer = await fetch(`${service.address}/v1/accounts/${accountId}/${route}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': idempotencyKey,
      },
      body: JSON.stringify(body),
    })
    if (answer.status !== 200) throw new Error(`not accepted: ${await answer.text()}`)
    // As the contract has it.
    return (await answer.json()) as T
  }
  return {
    db,
    sink,
    tenantId,
    accountId,
    world,
    caller,
    address: () => service.address,
    post: subject => call('outbox', { to: [GRACE], subject, text: 'Hello.\n' }, subject),
    call,
    crashAt: (point, times = 1) => writeFile(join(folder.path, 'crash-at'), `${point} ${times}`),
    kill: () => service.kill('SIGKILL'),
    async restart() {
      await service.ended
      // In place of waiting until the lease has ended.
      await sql`update instance set heartbeat_until = '-infinity'`.execute(db)
      await sql`update idempotency_key set locked_until = '-infinity' where status is null`.execute(db)
      service = await startServiceProcess(folder, options)
    },
    waitForEnd: entry =>
      waitUntil(`the end of ${entry.subject}`, async () => {
        await hurry(db)
        const { body } = await caller().get<OutboxEntry>(`/v1/accounts/${accountId}/outbox/${entry.id}`)
        const { rows } = await sql`
          select from outbox where id = ${entry.id} and (task is not null or due_at is not null)
        `.execute(db)
        const isOver = body.status === 'sent' || body.status === 'failed'
        return isOver && rows.length === 0 ? body : null
      }),
    async countCopies(internetMessageId) {
      await world.witness.command('SELECT Sent')
      const { untagged } = await world.witness.command(`UID SEARCH HEADER Message-ID "${internetMessageId}"`)
      return untagged.find(([word]) => word === 'SEARCH')!.length - 1
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** In place of waiting: look-ups take half an hour, retries minutes to hours, and a second search for a copy seconds. */
export async function hurry(db: Db): Promise<void> {
  await sql`
    update outbox set task_at = clock_timestamp()
    where task is not null and task_by is null and task_at > clock_timestamp()`.execute(db)
  await sql`update outbox set due_at = clock_timestamp() where due_at > clock_timestamp()`.execute(db)
  await sql`
    update sending_account set due_at = clock_timestamp(), paused_until = null where due_at > clock_timestamp()
  `.execute(db)
}
