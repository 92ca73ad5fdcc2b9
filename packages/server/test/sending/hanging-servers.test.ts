import { sql } from 'kysely'
import { expect, onTestFinished, test, vi } from 'vitest'
import {
  HANGS_AFTER_SECONDS,
  RESERVED_PLACES,
  SENDS_AT_ONCE,
  SENDS_PER_ACCOUNT,
} from '../../src/features/sending/outbox/send-shares.ts'
import type { Caller } from '../caller.ts'
import { type SmtpSink, startSmtpSink } from '../servers/smtp-sink.ts'
import { waitUntil } from '../wait-until.ts'
import { connectSender, openSendingApp, send, waitForStatus } from './open-sending.ts'

/** So that what they send at once is less than a server is given. */
const ACCOUNTS_PER_SERVER = 2

/** Lets a test end all timers of this length that run, as if their time had passed. */
function holdTimers(milliseconds: number): { pass(): void } {
  const { setTimeout: set, clearTimeout: clear } = globalThis
  const running = new Map<unknown, () => void>()
  const start = (work: (...given: unknown[]) => void, length?: number, ...given: unknown[]) => {
    const timer = set(work, length, ...given)
    if (length === milliseconds) running.set(timer, () => work(...given))
    return timer
  }
  // Their other forms are not used.
  const setting = vi.spyOn(globalThis, 'setTimeout').mockImplementation(start as typeof setTimeout)
  const clearing = vi.spyOn(globalThis, 'clearTimeout').mockImplementation(timer => {
    running.delete(timer)
    clear(timer)
  })
  onTestFinished(() => {
    setting.mockRestore()
    clearing.mockRestore()
  })
  return {
    pass() {
      for (const [timer, work] of running) {
        clearTimeout(timer as NodeJS.Timeout)
        work()
      }
    },
  }
}

test('tenants whose servers never answer the dot keep nobody from sending, nor the service from stopping', async () => {
  const hangs = holdTimers(HANGS_AFTER_SECONDS * 1_000)
  await using opened = await openSendingApp({ app: { egressAllow: ['127.0.0.0/8'] } })
  await using servers = new AsyncDisposableStack()
  const { app, imap } = opened
  /** How often each message was handed over, by its Message-ID. */
  const dots = new Map<string, number>()
  let hosts = 0

  /** A server that takes messages and never answers the dot. */
  async function nextServer(): Promise<{ sink: SmtpSink; host: string }> {
    const host = `127.0.1.${++hosts}`
    const sink = servers.use(await startSmtpSink({ listenHost: host }))
    sink.behave = ({ step, argument }) => {
      if (step !== 'dot') return null
      dots.set(argument, (dots.get(argument) ?? 0) + 1)
      return { does: 'silence' }
    }
    return { sink, host }
  }
  /** Connects accounts whose servers hang, and sends as many messages of each as it may send at once. */
  async function hang(caller: Caller, accounts: number): Promise<void> {
    for (let left = accounts; left > 0; left -= ACCOUNTS_PER_SERVER) {
      const { sink, host } = await nextServer()
      for (let count = 0; count < Math.min(left, ACCOUNTS_PER_SERVER); count++) {
        const accountId = await connectSender(caller, { imap, sink }, { smtpHost: host })
        for (let sent = 0; sent < SENDS_PER_ACCOUNT; sent++) await send(caller, accountId)
      }
    }
  }
  let tenants = 0
  const nextTenant = () => app.createTenant(`tenant-${++tenants}`)
  async function expectSends(caller: Caller): Promise<void> {
    await waitForStatus(caller, await send(caller, await connectSender(caller, opened)), 'sent')
  }

  const [first, second] = [await nextTenant(), await nextTenant()]
  await Promise.all([first, second].map(tenant => hang(tenant, 17)))
  await waitUntil('two tenants to hang', async () => dots.size >= SENDS_AT_ONCE - RESERVED_PLACES)
  await expectSends(await nextTenant())
  hangs.pass()
  // Once its messages are known to hang, even another account of such a tenant is served.
  await expectSends(first)
  for (const [others, accounts] of [
    [3, 2],
    [15, 1],
  ] as const) {
    await Promise.all(Array.from({ length: others }, async () => hang(await nextTenant(), accounts)))
    await expectSends(await nextTenant())
  }

  await app.stop({ drain: { requestSeconds: 0, downloadSeconds: 0, handedOverSeconds: 0 } })
  expect(new Set(dots.values())).toEqual(new Set([1]))
  const { rows } = await sql<{ id: string; phase: string; task: string }>`
    select internet_message_id as id, phase, task from outbox where handed_over_at is not null and status = 'sending'
  `.execute(app.db)
  // The stop may come between the note of a hand-over and its dot.
  expect(rows.map(({ id }) => id)).toEqual(expect.arrayContaining([...dots.keys()]))
  for (const row of rows) expect(row).toMatchObject({ phase: 'unknown', task: 'look_up' })
})
