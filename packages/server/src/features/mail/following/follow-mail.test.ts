import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { ownAccount, readIndex } from '../../../../test/memory-account.ts'
import { GAP, LogServer, logMail } from '../../../../test/memory-log.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { waitUntil } from '../../../../test/wait-until.ts'
import type { ConnectionPermit } from '../../../connections/connections.ts'
import { keepMail } from '../../../../test/keep-mail.ts'
import { pause } from '../../../processes/nudge.ts'
import { silentLog } from '../../../kit/log.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { MailProvider } from '../../../providers/mail.ts'
import { Ramp } from '../../../sync/ramp.ts'
import type { RenewalPace } from '../../../sync/renewal.ts'
import { BulkPermits, BulkRequest } from '../../../sync/bulk-permits.ts'
import { openMailFollower } from './follower.ts'

/** So rare that within a test only requests and pushes cause a pass. */
const POLL_SECONDS = 600
/** A connection is renewed only on request, and then at once. */
const WHEN_ASKED: RenewalPace = { everySeconds: 1e6, soonestSeconds: 0 }
const PERMIT: ConnectionPermit = { isWanted: false, onWanted: () => {}, [Symbol.dispose]: () => {} }

/** A followed account of a provider with logs of changes, whose connections are not scarce. */
async function openFollowed(
  adapt: (mail: MailProvider) => Partial<MailProvider> = () => ({}),
  bulkPermits = new BulkPermits(1),
  kind: 'labels' | 'folders' = 'labels',
) {
  await using opened = new AsyncDisposableStack()
  const { db } = opened.use(await openTestDatabase())
  const server = new LogServer(kind)
  const inbox = server.create('INBOX', 'inbox')
  let delivered = 0
  const deliver = (subject: string) => server.deliver([inbox.key], subject, new Date(1.7e12 + ++delivered))
  for (let nth = 1; nth <= 50; nth++) deliver(`old ${nth}`)
  const owned = await ownAccount(db)
  const follower = opened.use(openMailFollower({ db, log: silentLog }))
  const connections = { count: 0 }
  const held = new AsyncDisposableStack()
  const start = () =>
    held.use(
      keepMail(owned, {
        db,
        connectorOf: () => async () => ({
          version: '1',
          host: 'memory.test',
          syncWindowDays: null,
          isOneAtATime: false,
          acquire: async () => PERMIT,
          acquireFree: () => PERMIT,
          async connect() {
            connections.count++
            const { mail, ...rest } = logMail(server)
            const watch: MailProvider['watch'] = async (_, seconds, signal) => {
              await pause(seconds * 1_000, signal)
              return { arrived: false, changed: false, gone: false }
            }
            return { ...rest, mail: { ...mail, watch, ...adapt(mail) } }
          },
        }),
        bulkPermits,
        ramp: new Ramp(),
        follower,
        log: silentLog,
        pollSeconds: POLL_SECONDS,
        stallSeconds: 60,
        refusalSeconds: 600,
        renewal: WHEN_ASKED,
      }),
    )
  const ask = (...kinds: string[]) => db.updateTable('account_half').set({ sync_wanted: kinds }).execute()
  const runtime = () =>
    db
      .selectFrom('account_half')
      .select(['runtime_state as state', 'runtime_detail as detail', 'behind_since as behindSince'])
      .executeTakeFirstOrThrow()
  const count = async () => (await readIndex(db)).length
  const has = async (subject: string) => (await readIndex(db)).some(({ content }) => content === subject)
  held.use(opened.move())
  return {
    db,
    server,
    connections,
    ask,
    deliver,
    start,
    runtime,
    count,
    hasIndexed: (subject: string) => waitUntil(`the message ${subject}`, () => has(subject)),
    says: (state: string, detail: string) =>
      waitUntil(`${state}: ${detail}`, async () => {
        const now = await runtime()
        return now.state === state && now.detail?.includes(detail) ? now : null
      }),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

test('an inbox whose history turns out to have expired is read again at once', async () => {
  await using followed = await openFollowed()
  const { server, deliver, start, says, hasIndexed } = followed
  const keeper = start()
  await says('live', 'the inbox is polled')
  deliver('after the expiry')
  server.expire()
  keeper.find('mail')!.notice.fire()
  await hasIndexed('after the expiry')
})

test('a push may be about any folder, and only the folders that changed are read', async () => {
  let noticed: readonly string[] | null = []
  let lists = 0
  await using followed = await openFollowed(
    mail => ({
      listNoticed: async () => noticed,
      listMailboxes: () => {
        lists += 1
        return mail.listMailboxes()
      },
    }),
    undefined,
    'folders',
  )
  const { server, start, says, hasIndexed } = followed
  const work = server.create('Work')
  const keeper = start()
  await says('live', 'the inbox is polled')
  const listsBefore = lists
  server.deliver([work.key], 'in another folder', new Date(1.8e12))
  noticed = [work.key]
  keeper.find('mail')!.notice.fire()
  await hasIndexed('in another folder')
  expect(lists).toBe(listsBefore)

  server.deliver([server.create('Made just now').key], 'in a new folder', new Date(1.8e12))
  noticed = null
  keeper.find('mail')!.notice.fire()
  await hasIndexed('in a new folder')
  expect(lists).toBeGreaterThan(listsBefore)
})

test('an account with a gap is not live, and its detail shows the gap until it is filled', async () => {
  await using followed = await openFollowed()
  const { server, deliver, start, says, hasIndexed, runtime } = followed
  const keeper = start()
  await says('live', 'the inbox is polled')
  server.mayList = false
  deliver('in the gap')
  server.expire()
  keeper.find('mail')!.notice.fire()
  const { behindSince } = await says('syncing', GAP)
  expect(behindSince).not.toBe(null)
  server.mayList = true
  keeper.find('mail')!.nudge.fire()
  await hasIndexed('in the gap')
  await says('live', 'the inbox is polled')
  expect((await runtime()).detail).not.toContain(GAP)
})

test.each([
  ['our quota', { isBusy: true, retryAfterSeconds: 3_600 }, 'waits 3600 s for its quota'],
  [
    'that of the provider',
    { retryAfterSeconds: 100 },
    'waits 100 s since the provider asks for that: Spent.',
  ],
] as const)(
  'new mail is read while %s for older mail is spent, over the same connection',
  async (_, failure, detail) => {
    const state = { isSpent: true, pages: 0 }
    await using followed = await openFollowed(mail => ({
      async *arrivals(...given) {
        for await (const step of mail.arrivals(...given)) {
          // One page of 7, and no other, however often it is requested.
          if (state.isSpent && state.pages++ > 0) throw new ProviderFailure('throttled', 'Spent.', failure)
          yield step
        }
      },
    }))
    const { ask, connections, count, deliver, start, says, hasIndexed } = followed
    const keeper = start()
    await says('syncing', detail)
    // Waits for the end of the first sync.
    await ask('renewal')
    keeper.find('mail')!.nudge.fire()
    for (const subject of ['new', 'newer']) {
      deliver(subject)
      keeper.find('mail')!.notice.fire()
      await hasIndexed(subject)
    }
    expect([await count(), connections.count]).toEqual([9, 1])
    state.isSpent = false
    keeper.find('mail')!.nudge.fire()
    await says('live', 'the inbox is polled')
    expect(await count()).toBe(52)
    await waitUntil('the connection to be renewed', async () => connections.count === 2)
  },
)

test('a comparison comes to its end over the connection over which it began, though that is to be renewed', async () => {
  const state = { isSpent: true, isAsked: false }
  const listedOver: number[] = []
  const followed = await openFollowed(mail => ({
    async list(...given) {
      if (listedOver.length > 0 && state.isSpent) {
        state.isAsked = true
        throw new ProviderFailure('throttled', 'Spent.', { retryAfterSeconds: 100 })
      }
      listedOver.push(followed.connections.count)
      return mail.list(...given)
    },
  }))
  await using _ = followed
  const { ask, connections, db, deliver, start, says, hasIndexed } = followed
  const keeper = start()
  await says('live', 'the inbox is polled')
  await waitUntil('a comparison to be planned', async () => {
    const due = await sql`update mailbox_comparison set due_at = clock_timestamp()`.execute(db)
    return due.numAffectedRows === 1n
  })
  await ask('integrity', 'renewal')
  keeper.find('mail')!.nudge.fire()
  await waitUntil('the comparison to be interrupted', async () => state.isAsked)
  deliver('new')
  keeper.find('mail')!.notice.fire()
  await hasIndexed('new')
  expect([connections.count, listedOver]).toEqual([1, [1]])

  state.isSpent = false
  keeper.find('mail')!.nudge.fire()
  await waitUntil('the connection to be renewed', async () => connections.count === 2)
  expect(listedOver.length).toBeGreaterThan(5)
  expect(new Set(listedOver)).toEqual(new Set([1]))
})

test('new mail is read while no question at all was allowed for a moment', async () => {
  const state = { isSpent: true }
  await using followed = await openFollowed(mail => ({
    listMailboxes() {
      if (!state.isSpent) return mail.listMailboxes()
      throw new ProviderFailure('throttled', 'Spent.', { isBusy: true, retryAfterSeconds: 3_600 })
    },
  }))
  const { start, says } = followed
  const keeper = start()
  await says('syncing', 'waits 3600 s for its quota')
  state.isSpent = false
  keeper.find('mail')!.notice.fire()
  await says('live', 'the inbox is polled')
})

test('an account without an inbox is read to its end although something was pushed', async () => {
  await using followed = await openFollowed(mail => ({
    listMailboxes: async () =>
      (await mail.listMailboxes()).map(mailbox => ({ ...mailbox, role: 'custom' as const })),
  }))
  const { count, start, says } = followed
  const keeper = start()
  keeper.find('mail')!.notice.fire()
  await says('live', 'the inbox is polled')
  expect(await count()).toBe(50)
})

test('mail that is pushed while older mail is read comes before the rest of the older mail', async () => {
  const state = { steps: 0, readAt: Infinity }
  const { promise: begun, resolve: onBegun } = Promise.withResolvers<void>()
  const { promise: pushed, resolve: onPushed } = Promise.withResolvers<void>()
  await using followed = await openFollowed(mail => ({
    async *arrivals(...given) {
      for await (const step of mail.arrivals(...given)) {
        const nth = ++state.steps
        yield step
        if (nth !== 2) continue
        onBegun()
        await pushed
      }
    },
    async *compare(...given) {
      for await (const step of mail.compare(...given)) {
        if (step.type === 'page') state.readAt = Math.min(state.readAt, state.steps)
        yield step
      }
    },
  }))
  const { count, deliver, start, says } = followed
  const keeper = start()
  await begun
  deliver('new')
  keeper.find('mail')!.notice.fire()
  onPushed()
  await says('live', 'the inbox is polled')
  // There are eight steps of older mail.
  expect(state.readAt).toBeLessThan(5)
  expect(await count()).toBe(51)
})

test('mail that is pushed while an account waits for its turn to read older mail is read at once', async () => {
  const state = { isCompared: false }
  const bulkPermits = new BulkPermits(1)
  const held = await bulkPermits.acquire(new BulkRequest('another tenant'), 0, new AbortController().signal)
  const adapt = (mail: MailProvider): Partial<MailProvider> => ({
    async *compare(...given) {
      yield* mail.compare(...given)
      state.isCompared = true
    },
  })
  await using followed = await openFollowed(adapt, bulkPermits)
  const { count, deliver, start, says, hasIndexed } = followed
  const keeper = start()
  await waitUntil('the beginning', () => Promise.resolve(state.isCompared))
  deliver('new')
  keeper.find('mail')!.notice.fire()
  await hasIndexed('new')
  expect(await count()).toBe(1)
  held?.[Symbol.dispose]()
  await says('live', 'the inbox is polled')
  expect(await count()).toBe(51)
})
