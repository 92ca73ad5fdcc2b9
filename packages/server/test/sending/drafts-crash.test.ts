import { randomBytes } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Message } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { type Answer, callerOf } from '../caller.ts'
import { makeExternalDatabase } from '../external-database.ts'
import { startChaosProxy } from '../servers/chaos-proxy.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { startSmtpSink } from '../servers/smtp-sink.ts'
import { openWorld } from '../servers/world.ts'
import { makeDataFolder, type ServiceProcess, startServiceProcess } from '../service-process.ts'
import { readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { connectSender } from './open-sending.ts'
import { casesFor } from '../soak.ts'

const PROGRAM = fileURLToPath(new URL('./crashing-service.ts', import.meta.url))
const TAGGED = /^[0-9A-F]+ (?:OK|NO|BAD)\b/

/** Moments of a change: named ones of the service, or when the server has carried out a command. */
const ALL: ReadonlyArray<string | RegExp> = [
  'draft_append',
  /^APPEND/,
  /^UID SEARCH/,
  /^UID EXPUNGE/,
  'draft_appended',
  'draft_commit',
]

const POINTS = casesFor(ALL, (_, at) => at % 3 === 1)

async function openWalk() {
  await using opened = new AsyncDisposableStack()
  const { url, database } = opened.use(await makeExternalDatabase({ migrated: true }))
  const imap = opened.use(await startDovecot())
  const proxy = opened.use(await startChaosProxy(imap))
  const sink = opened.use(await startSmtpSink())
  const folder = opened.use(await makeDataFolder())
  const options = {
    program: PROGRAM,
    env: {
      DATABASE_URL: url,
      WAXWING_SECRET_KEY: randomBytes(32).toString('base64'),
      WAXWING_EGRESS_ALLOW: '127.0.0.1/32',
      WAXWING_ALLOW_PLAINTEXT: 'true',
    },
  }
  let service: ServiceProcess = await startServiceProcess(folder, options)
  opened.defer(() => service[Symbol.asyncDispose]())
  const { key } = service
  const caller = () => callerOf(service.address, key)
  const user = await imap.addUser()
  const world = opened.use(await openWorld(imap, user))
  await world.createMailbox('Drafts').catch(() => {})
  const reached = { imap: { ...imap, host: proxy.host, port: proxy.port }, sink }
  const accountId = await connectSender(caller(), reached, { user })
  await waitForFirstSync(caller(), accountId)
  const owned = opened.move()
  return {
    path: `/v1/accounts/${accountId}`,
    caller,
    index: async () => (await readMessages(caller(), accountId)).map(({ id, subject }) => [id, subject]),
    async drafts(): Promise<number> {
      await world.witness.command('NOOP')
      return (await world.uids('Drafts')).length
    },
    /** Kills the service at the moment while it works, and starts it again. @returns whether it was killed */
    async crash(point: string | RegExp, work: () => Promise<unknown>): Promise<boolean> {
      const file = join(folder.path, 'crash-at')
      let isKilled = false
      if (typeof point === 'string') await writeFile(file, point)
      else {
        proxy.faults = {
          rewrite(line) {
            if (TAGGED.test(line) && point.test(proxy.stats.lines.at(-1) ?? '')) {
              proxy.faults = {}
              isKilled = true
              service.kill('SIGKILL')
            }
            return line
          },
        }
      }
      await work().catch(() => {})
      proxy.faults = {}
      // The service removes the file before it ends itself.
      if (typeof point === 'string')
        isKilled = await rm(file).then(
          () => false,
          () => true,
        )
      // A kill may come when the request is answered already, since the sync gives the same commands.
      if (!isKilled) return false
      await service.ended
      // In place of waiting until the leases have ended.
      await sql`update instance set heartbeat_until = '-infinity'`.execute(database.db)
      await sql`update idempotency_key set locked_until = '-infinity' where status is null`.execute(
        database.db,
      )
      service = await startServiceProcess(folder, options)
      return true
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

test('one draft is left, under its id, wherever the service is killed', { timeout: 600_000 }, async () => {
  await using walk = await openWalk()
  let killed = 0
  for (const [index, point] of POINTS.entries()) {
    const subject = `draft-${index}`
    const post = (): Promise<Answer<Message>> =>
      walk.caller().post(`${walk.path}/drafts`, { subject }, { 'idempotency-key': subject })
    if (await walk.crash(point, post)) killed += 1
    const { status, body: draft } = await post()
    expect({ point, status }).toEqual({ point, status: 200 })
    expect({ point, drafts: await walk.drafts() }).toEqual({ point, drafts: 1 })

    const put = (change: string) =>
      walk.caller().put<Message>(`${walk.path}/drafts/${draft.id}`, { subject: change })
    if (await walk.crash(point, () => put(`${subject} changed`))) killed += 1
    const allowed = new Set([subject, `${subject} changed`])
    // Nobody asks again: the sync and a job settle it.
    await waitUntil(`one draft after ${point}`, async () => {
      const [drafts, indexed] = [await walk.drafts(), await walk.index()]
      const [only] = indexed
      const isSettled = drafts === 1 && indexed.length === 1 && only?.[0] === draft.id
      return isSettled && allowed.has(only?.[1] ?? '') ? true : null
    })
    const again = await put(`${subject} again`)
    expect(again).toMatchObject({ status: 200, body: { id: draft.id } })
    await waitUntil(
      `one draft, replaced again after ${point}`,
      async () => (await walk.drafts()) === 1 || null,
    )
    const deleted = await walk.caller().delete(`${walk.path}/drafts/${draft.id}`)
    expect(deleted.status).toBe(200)
    expect({ point, drafts: await walk.drafts() }).toEqual({ point, drafts: 0 })
  }
  expect(killed).toBeGreaterThan(POINTS.length)
})
