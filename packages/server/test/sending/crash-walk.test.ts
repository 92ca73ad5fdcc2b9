import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { SendPoint } from '../../src/features/sending/outbox/points.ts'
import { type Caller, callerOf } from '../caller.ts'
import { makeExternalDatabase } from '../external-database.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { type SinkStep, startSmtpSink } from '../servers/smtp-sink.ts'
import { openWorld } from '../servers/world.ts'
import { makeDataFolder, type ServiceProcess, startServiceProcess } from '../service-process.ts'
import { waitUntil } from '../wait-until.ts'
import { connectSender, GRACE, sendEvents } from './open-sending.ts'

const PROGRAM = fileURLToPath(new URL('./crashing-service.ts', import.meta.url))

interface Expected {
  status: 'sent' | 'failed'
  /** How often the server accepted the message. */
  accepted: number
}

const SENT: Expected = { status: 'sent', accepted: 1 }

/** What must have become of a message whose service was killed at the moment. */
const WALK: ReadonlyArray<readonly [SendPoint | SinkStep, Expected]> = [
  ['content_write', SENT],
  ['content_written', SENT],
  ['accept_commit', SENT],
  ['accepted', SENT],
  ['claimed', SENT],
  ['mail_from', SENT],
  ['rcpt', SENT],
  ['hand_over_commit', SENT],
  // It was noted that the message may be accepted, and nothing proves that it was not.
  ['hand_over_recorded', { status: 'failed', accepted: 0 }],
  ['dot', { status: 'failed', accepted: 1 }],
  ['answered', { status: 'failed', accepted: 1 }],
  ['outcome_commit', { status: 'failed', accepted: 1 }],
  ['outcome_recorded', SENT],
  ['copy_search', SENT],
  ['copy_append', SENT],
  ['copy_appended', SENT],
  ['copy_recorded', SENT],
]

/** The service on an external database, an IMAP server and a sink, all of which outlive it. */
async function openWalk() {
  await using opened = new AsyncDisposableStack()
  const { url, database } = opened.use(await makeExternalDatabase({ migrated: true }))
  const imap = opened.use(await startDovecot())
  const sink = opened.use(await startSmtpSink())
  const folder = opened.use(await makeDataFolder())
  const options = {
    program: PROGRAM,
    env: {
      DATABASE_URL: url,
      WAXWING_SECRET_KEY: randomBytes(32).toString('base64'),
      WAXWING_ROLES: 'api,jobs',
      WAXWING_EGRESS_ALLOW: '127.0.0.1/32',
      WAXWING_ALLOW_PLAINTEXT: 'true',
    },
  }
  let service: ServiceProcess = await startServiceProcess(folder, options)
  opened.defer(() => service[Symbol.asyncDispose]())
  const { key } = service
  const user = await imap.addUser()
  const caller = (): Caller => callerOf(service.address, key)
  const accountId = await connectSender(caller(), { imap, sink }, { user, appendSent: true })
  const world = opened.use(await openWorld(imap, user))

  const post = async (subject: string) => {
    const answer = await fetch(`${service.address}/v1/accounts/${accountId}/outbox`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': subject,
      },
      body: JSON.stringify({ to: [GRACE], subject, text: 'Hello.\n' }),
    })
    return (await answer.json()) as OutboxEntry
  }
  const owned = opened.move()
  return {
    db: database.db,
    sink,
    caller,
    accountId,
    copies: async (internetMessageId: string) => {
      const { untagged } = await world.witness
        .command('SELECT Sent')
        .then(() => world.witness.command(`UID SEARCH HEADER Message-ID "${internetMessageId}"`))
      return untagged.find(([word]) => word === 'SEARCH')!.length - 1
    },
    /** Sends a message, whose service is killed at the moment and started again, and asks once more where it was lost. */
    async sendAndCrash(point: SendPoint | SinkStep): Promise<OutboxEntry> {
      await writeFile(join(folder.path, 'crash-at'), point)
      // A step of the conversation is seen by the server.
      sink.behave = ({ step }) => {
        if (step === point) service.kill('SIGKILL')
        return null
      }
      await post(point).catch(() => null)
      await service.ended
      sink.behave = () => null
      // In place of waiting until the lease has ended.
      await sql`update instance set heartbeat_until = '-infinity'`.execute(database.db)
      await sql`update idempotency_key set locked_until = '-infinity' where status is null`.execute(
        database.db,
      )
      service = await startServiceProcess(folder, options)
      return post(point)
    },
    async waitForEnd(entry: OutboxEntry): Promise<OutboxEntry> {
      return waitUntil(`the end of ${entry.subject}`, async () => {
        // In place of waiting for half an hour.
        await sql`
          update outbox set task_at = clock_timestamp() where task = 'look_up' and task_by is null
        `.execute(database.db)
        const { body } = await caller().get<OutboxEntry>(`/v1/accounts/${accountId}/outbox/${entry.id}`)
        const { rows } = await sql`
          select from outbox where id = ${entry.id} and (task is not null or due_at is not null)
        `.execute(database.db)
        const isOver = body.status === 'sent' || body.status === 'failed'
        return isOver && rows.length === 0 ? body : null
      })
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

test(
  'a message is sent once or reported as unknown, wherever the service is killed',
  { timeout: 900_000 },
  async () => {
    await using walk = await openWalk()
    const ended: OutboxEntry[] = []
    for (const [point, expected] of WALK) {
      const accepted = await walk.sendAndCrash(point)
      expect({ point, ...accepted }).toMatchObject({ point, subject: point })
      const entry = await walk.waitForEnd(accepted)
      ended.push(entry)
      const deliveries = (await walk.sink.accepted()).filter(({ content }) =>
        content.includes(`Subject: ${point}\r\n`),
      )
      expect({ point, status: entry.status, accepted: deliveries.length }).toEqual({ point, ...expected })
      if (entry.status === 'failed') expect(entry.lastError?.reason).toBe('outcome_unknown')
      else expect({ point, copies: await walk.copies(entry.internetMessageId) }).toEqual({ point, copies: 1 })
    }
    const events = await sendEvents(walk.caller())
    expect(events.map(({ type, data }) => [data.outbox.id, type]).toSorted()).toEqual(
      ended.map(({ id, status }) => [id, `send.${status}`]).toSorted(),
    )
    for (const table of ['outbox_content', 'outbox_piece']) {
      const { rows } = await sql`select from ${sql.table(table)}`.execute(walk.db)
      expect({ table, count: rows.length }).toEqual({ table, count: 0 })
    }
    const { body } = await walk
      .caller()
      .get<{ items: OutboxEntry[] }>(`/v1/accounts/${walk.accountId}/outbox`)
    expect(body.items).toHaveLength(WALK.length)
  },
)
