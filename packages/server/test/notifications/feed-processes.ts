import { setTimeout as pause } from 'node:timers/promises'
import { type DatabaseAddress, type Db, openDatabase } from '../../src/database/pool.ts'
import { openWakes } from '../../src/database/wake.ts'
import { openNews } from '../../src/events/news.ts'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import { FeedWatch } from '../../src/features/notifications/changes/feed-watch.ts'
import { readFeed } from '../../src/features/notifications/changes/store.ts'
import { streamFeed } from '../../src/features/notifications/changes/stream.ts'
import { Pulse } from '../../src/processes/pulse.ts'
import { silentLog } from '../../src/kit/log.ts'
import type { Random } from '../seeded.ts'

/** Parts of one process: its pool, the news that it gets, and the clients that wait in it. */
export function openProcess(address: DatabaseAddress, opened: AsyncDisposableStack) {
  const { db } = opened.use(openDatabase({ address, applicationName: 'waxwing feed', connectionsMax: 14 }))
  const wakes = opened.use(openWakes(address, silentLog))
  const pulse = opened.use(new Pulse(db, silentLog))
  const news = opened.use(openNews({ db, wakes, pulse, log: silentLog }))
  return { db, watch: new FeedWatch(db, news) }
}
export type Process = ReturnType<typeof openProcess>

/** Commits one event after the work; may fail, or roll back. */
export type Commit = (db: Db, tenantId: string, work: () => Promise<void>) => Promise<void>

export const asTheService: Commit = (db, tenantId, work) =>
  inTransaction(db, tenantId, async unit => {
    await work()
    unit.announce({ type: 'webhook.test', accountId: null, data: { message: 'x' } })
  })

/** Reads until it is over, and adds the ids as they come. */
export type Reader = (
  process: Process,
  ids: string[],
  options: { random: Random; isOver: (lastId: string | undefined) => boolean },
) => Promise<void>

export const readers = (tenantId: string): Record<string, Reader> => {
  const filter = { tenantId, accountIds: null, types: null }
  return {
    async poller({ db }, ids, { random, isOver }) {
      for (let after = '0'; !isOver(ids.at(-1));) {
        const page = await readFeed(db, filter, after, random.between(1, 60))
        ids.push(...page.items.map(({ id }) => id))
        after = page.readUpTo
        await pause(random.between(0, 3))
      }
    },
    async waiter({ watch }, ids, { random, isOver }) {
      using waiter = watch.enter(filter)
      for (let after = '0'; !isOver(ids.at(-1));) {
        const page = await waiter.read(after, random.between(1, 60))
        ids.push(...page.items.map(({ id }) => id))
        after = page.readUpTo
        if (page.items.length === 0) await waiter.pause(200, new AbortController().signal)
      }
    },
    async stream({ watch }, ids, { isOver }) {
      using waiter = watch.enter(filter)
      const page = await waiter.read('0', 10)
      const ended = new AbortController().signal
      const pace = { commentMilliseconds: 50, streamMilliseconds: 600_000 }
      for await (const text of streamFeed({ waiter, page, isFiltered: false, ended, pace })) {
        ids.push(...[...text.matchAll(/^id: (\d+)$/gm)].flatMap(([, id]) => id ?? []))
        if (isOver(ids.at(-1))) break
      }
    },
  }
}
