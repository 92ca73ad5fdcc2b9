import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleTenant } from '../../../../test/sample-rows.ts'
import { waitUntil } from '../../../../test/wait-until.ts'
import { openWakes } from '../../../database/wake.ts'
import { openNews } from '../../../events/news.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { streamPieces } from '../../../http/stream-pieces.ts'
import { Pulse } from '../../../processes/pulse.ts'
import { silentLog } from '../../../kit/log.ts'
import { FeedWatch } from './feed-watch.ts'
import type { FeedFilter } from './store.ts'
import { type StreamPace, streamFeed } from './stream.ts'

const NEVER = new AbortController().signal

async function openFeed() {
  await using opened = new AsyncDisposableStack()
  const { db, address } = opened.use(await openTestDatabase())
  const wakes = opened.use(openWakes(address, silentLog))
  const pulse = opened.use(new Pulse(db, silentLog))
  const watch = new FeedWatch(db, opened.use(openNews({ db, wakes, pulse, log: silentLog })))
  const { id: tenantId } = await sampleTenant(db)
  const owned = opened.move()
  return {
    db,
    announce: (...types: ('account.purged' | 'webhook.test')[]) =>
      inTransaction(db, tenantId, async unit => {
        for (const type of types)
          if (type === 'webhook.test') unit.announce({ type, accountId: null, data: { message: 'x' } })
          else unit.announce({ type, accountId: null, data: { accountId: tenantId, externalRef: null } })
      }),
    /** A stream from the first event on. */
    async stream(pace: StreamPace, types: FeedFilter['types'] = null) {
      const waiter = watch.enter({ tenantId, accountIds: null, types })
      const page = await waiter.read('0', 100)
      return streamFeed({ waiter, page, isFiltered: types !== null, ended: NEVER, pace })
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

describe('streamFeed', () => {
  test('sends a comment when there was nothing for a while, with the position if events are left out', async () => {
    await using feed = await openFeed()
    await feed.announce('webhook.test', 'account.purged')
    const pace = { commentMilliseconds: 30, streamMilliseconds: 600_000 }
    const texts: Record<string, string[]> = { all: [], some: [] }
    for await (const text of await feed.stream(pace)) if (texts['all']!.push(text) === 4) break
    for await (const text of await feed.stream(pace, ['webhook.test']))
      if (texts['some']!.push(text) === 4) break
    const [first, second] = ['id: 1\nevent: webhook.test\n', 'id: 2\nevent: account.purged\n']
    expect(texts).toEqual({
      all: [
        'retry: 1000\n\n',
        expect.stringMatching(new RegExp(`^${first}data: .+\n\n${second}data: .+\n\n$`)),
        ': waiting\n\n',
        ': waiting\n\n',
      ],
      some: [
        'retry: 1000\n\n',
        expect.stringMatching(new RegExp(`^${first}data: .+\n\n$`)),
        ': waiting\nid: 2\n\n',
        ': waiting\nid: 2\n\n',
      ],
    })
  })

  test('sends comments while only events that do not fit come', async () => {
    await using feed = await openFeed()
    const stream = await feed.stream({ commentMilliseconds: 30, streamMilliseconds: 600_000 }, [
      'webhook.test',
    ])
    const positions: string[] = []
    for await (const text of stream) {
      await feed.announce('account.purged')
      positions.push(...[...text.matchAll(/^id: (\d+)$/gm)].map(([, id = '']) => id))
      if (positions.length === 3) break
    }
    expect(positions).toEqual(positions.toSorted((a, b) => Number(a) - Number(b)))
    expect(new Set(positions).size).toBe(3)
  })

  test('ends after its time', async () => {
    await using feed = await openFeed()
    const texts: string[] = []
    const stream = await feed.stream({ commentMilliseconds: 600_000, streamMilliseconds: 50 })
    for await (const text of stream) texts.push(text)
    expect(texts).toEqual(['retry: 1000\n\n'])
  })
})

describe('a client that does not read', () => {
  test('holds one page of the feed, and is cut off, even if the content cannot be given up', async () => {
    await using feed = await openFeed()
    await sql`
      insert into event (tenant_id, id, type, data)
      select tenant.id, nextval('event_id'), 'webhook.test', json_build_object('message', repeat('x', 100000))
      from tenant, generate_series(1, 3000)
    `.execute(feed.db)
    let pieces = 0
    const brokenOff = Promise.withResolvers<unknown>()
    const listener = getRequestListener(
      async (_, env) => {
        const content = await feed.stream({ commentMilliseconds: 600_000, streamMilliseconds: 600_000 })
        async function* counted() {
          for await (const text of content) {
            pieces += 1
            yield Buffer.from(text)
          }
        }
        const counting = counted()
        const body = streamPieces({
          first: await counting.next(),
          iterator: {
            next: () => counting.next(),
            async return() {
              await counting.return()
              throw new Error('The content cannot be given up')
            },
          },
          stallMillisecondsMax: 1_000,
          breakOff(error) {
            brokenOff.resolve(error)
            if ('outgoing' in env) env.outgoing.destroy()
          },
        })
        return new Response(body, { headers: { 'transfer-encoding': 'chunked' } })
      },
      { overrideGlobalObjects: false },
    )
    const server = createServer((incoming, outgoing) => void listener(incoming, outgoing))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', () => resolve()))
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.on('error', () => {})
    socket.pause()
    socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')

    expect(String(await brokenOff.promise)).toContain('takes nothing')
    await waitUntil('the end of the connection', async () => {
      const count = await new Promise<number>(resolve => server.getConnections((_, n) => resolve(n)))
      return count === 0
    })
    // The beginning, the bytes that the sockets take, and the page that waits. There are 30 pages.
    expect(pieces).toBeLessThan(8)
    socket.destroy()
    await new Promise<void>(resolve => server.close(() => resolve()))
  })
})
