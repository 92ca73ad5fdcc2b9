import type { Message } from '@waxwing/contract/mail/messages.ts'
import { expect, test } from 'vitest'
import type { Answer } from '../caller.ts'
import { type ChaosProxy, startChaosProxy } from '../servers/chaos-proxy.ts'
import { startDovecot } from '../servers/dovecot.ts'
import type { MailServer } from '../servers/mail-server.ts'
import { type SmtpSink, startSmtpSink } from '../servers/smtp-sink.ts'
import { openWorld } from '../servers/world.ts'
import { readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { type CrashableService, openCrashableService } from './crashable-service.ts'
import { connectSender } from './open-sending.ts'

/** Moments of a change: named ones of the service, or when the server has carried out a command. */
const POINTS: ReadonlyArray<string | RegExp> = [
  'draft_append',
  /^APPEND/,
  /^UID SEARCH/,
  /^UID EXPUNGE/,
  'draft_appended',
  // The last, since its transaction is open until the kill.
  'draft_commit',
]

interface Servers {
  imap: MailServer
  sink: SmtpSink
}

/** An account whose changes of drafts are at one moment when the service is killed. */
async function openWalker(service: CrashableService, { imap, sink }: Servers, point: string | RegExp) {
  await using opened = new AsyncDisposableStack()
  const proxy = opened.use(await startChaosProxy(imap))
  const user = await imap.addUser()
  const world = opened.use(await openWorld(imap, user))
  await world.createMailbox('Drafts').catch(() => {})
  const reached = { imap: { ...imap, host: proxy.host, port: proxy.port }, sink }
  const accountId = await connectSender(service.caller(), reached, { user })
  await waitForFirstSync(service.caller(), accountId)
  const path = `/v1/accounts/${accountId}`
  const owned = opened.move()
  return {
    point,
    index: async () =>
      (await readMessages(service.caller(), accountId)).map(({ id, subject }) => [id, subject]),
    async drafts(): Promise<number> {
      await world.witness.command('NOOP')
      return (await world.uids('Drafts')).length
    },
    create: (subject: string): Promise<Answer<Message>> =>
      service.caller().post(`${path}/drafts`, { subject }, { 'idempotency-key': subject }),
    replace: (id: string, subject: string): Promise<Answer<Message>> =>
      service.caller().put(`${path}/drafts/${id}`, { subject }),
    remove: (id: string) => service.caller().delete(`${path}/drafts/${id}`),
    /**
     * Begins a change, and waits until it stays at the moment, or has ended since the moment did not come in it.
     * @returns whether something stays there; that may be the sync, which gives the same commands
     */
    async hold(change: () => Promise<unknown>): Promise<boolean> {
      if (typeof point === 'string') {
        await service.holdAt(point, change)
        return true
      }
      const held = holdAnswer(proxy, point)
      const ended = change().then(
        () => 'ended',
        () => 'ended',
      )
      return (await Promise.race([held, ended])) === 'held'
    },
    /** Lets the proxy pass everything again. */
    release: () => void (proxy.faults = {}),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Keeps back the first answer to such a command, which the server has carried out. Resolves once there is one. */
function holdAnswer(proxy: ChaosProxy, pattern: RegExp): Promise<'held'> {
  const held = Promise.withResolvers<'held'>()
  let isHeld = false
  let isNext = false
  proxy.faults = {
    judge(moment, command) {
      isNext = !isHeld && moment === 'answered' && pattern.test(command)
      return 'pass'
    },
    rewrite(line) {
      if (!isNext) return line
      ;[isHeld, isNext] = [true, false]
      held.resolve('held')
      return null
    },
  }
  return held.promise
}

test(
  'one draft is left, under its id, wherever it is when the service is killed',
  { timeout: 300_000 },
  async () => {
    await using opened = new AsyncDisposableStack()
    const servers = { imap: opened.use(await startDovecot()), sink: opened.use(await startSmtpSink()) }
    const env = { WAXWING_EGRESS_ALLOW: '127.0.0.1/32', WAXWING_ALLOW_PLAINTEXT: 'true' }
    const service = opened.use(await openCrashableService({ env }))
    const walkers = await Promise.all(
      POINTS.map(async point => opened.use(await openWalker(service, servers, point))),
    )
    type Walker = (typeof walkers)[number]
    let held = 0
    const killAt = async (change: (walker: Walker, nth: number) => Promise<unknown>) => {
      for (const [nth, walker] of walkers.entries())
        if (await walker.hold(() => change(walker, nth))) held += 1
      await service.kill()
      for (const walker of walkers) walker.release()
      await service.restart()
    }
    const subjectOf = (nth: number) => `draft-${nth}`

    await killAt((walker, nth) => walker.create(subjectOf(nth)))
    const ids = await Promise.all(
      walkers.map(async ({ point, create, drafts }, nth) => {
        const { status, body } = await create(subjectOf(nth))
        expect({ point, status, drafts: await drafts() }).toEqual({ point, status: 200, drafts: 1 })
        return body.id
      }),
    )

    await killAt(({ replace }, nth) => replace(ids[nth]!, `${subjectOf(nth)} changed`))
    await Promise.all(
      walkers.map(async ({ point, drafts, index, replace, remove }, nth) => {
        const [id, subject] = [ids[nth]!, subjectOf(nth)]
        const allowed = new Set([subject, `${subject} changed`])
        // Nobody asks again: the sync and a job settle it.
        await waitUntil(`one draft after ${point}`, async () => {
          const [count, indexed] = [await drafts(), await index()]
          const [only] = indexed
          return count === 1 && indexed.length === 1 && only?.[0] === id && allowed.has(only[1] ?? '')
        })
        expect(await replace(id, `${subject} again`)).toMatchObject({ status: 200, body: { id } })
        await waitUntil(`one draft, replaced again after ${point}`, async () => (await drafts()) === 1)
        expect((await remove(id)).status).toBe(200)
        expect({ point, drafts: await drafts() }).toEqual({ point, drafts: 0 })
      }),
    )
    // Not every command is needed by both changes.
    expect(held).toBeGreaterThan(POINTS.length)
  },
)
