import { describe, expect, test } from 'vitest'
import { type AnyEvent, Waxwing } from '../src/index.ts'
import { json, openOddService, refusal, type Reply } from './odd-service.ts'

const client = (address: string) => new Waxwing({ baseUrl: address, key: 'wk_x', retries: 0 })
const event = (id: number, more = {}) => ({
  id: String(id),
  type: 'message.created',
  accountId: 'a',
  createdAt: '2026-11-21T08:14:10.204Z',
  data: {},
  ...more,
})
const page = (ids: number[], nextCursor: string) => json({ items: ids.map(id => event(id)), nextCursor })

/** Writes these pieces of a stream, and then ends it or leaves it open. */
function stream(pieces: string[], { ends = true } = {}): Reply {
  return async response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const piece of pieces) {
      response.write(piece)
      await new Promise(resolve => setImmediate(resolve))
    }
    if (ends) response.end()
  }
}

const block = (id: number, eol = '\n') =>
  `id: ${id}${eol}event: message.created${eol}data: ${JSON.stringify(event(id))}${eol}${eol}`

async function take(events: AsyncIterable<AnyEvent>, count: number) {
  const taken: string[] = []
  for await (const { id } of events) if (taken.push(id) === count) break
  return taken
}

describe('stream', () => {
  test('gives events over breaks, none twice, and says where it was', async () => {
    await using odd = await openOddService(
      page([], 'now'),
      stream(['retry: 1000\n\n', block(7), ': waiting\nid: 9\n\n', block(11).slice(0, 40)]),
      stream([block(9), block(11, '\r\n'), block(12, '\r')], { ends: false }),
    )
    expect(await take(client(odd.address).changes.stream({ types: ['message.created'] }), 3)).toEqual([
      '7',
      '11',
      '12',
    ])
    expect(odd.seen.map(({ url, headers }) => [url, headers['last-event-id']])).toEqual([
      ['/v1/changes?start=now', undefined],
      ['/v1/changes/stream?cursor=now&types=message.created', undefined],
      ['/v1/changes/stream?cursor=now&types=message.created', '9'],
    ])
  })

  test('reads events that come in any pieces, and large ones', async () => {
    const large = `id: 3\ndata: ${JSON.stringify(event(3, { data: { text: 'ü'.repeat(1_000_000) } }))}\n\n`
    const text = `: hello\r\n\r\nid:1\ndata: {"id":"1",\ndata: "type":"x"}\n\n${block(2, '\r\n')}${large}`
    const bytes = Buffer.from(text)
    const reply: Reply = async response => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (let at = 0; at < 200; at++) response.write(bytes.subarray(at, at + 1))
      response.end(bytes.subarray(200))
    }
    await using odd = await openOddService(reply)
    expect(await take(client(odd.address).changes.stream({ cursor: 'c' }), 3)).toEqual(['1', '2', '3'])
  })

  test('ends when its key has ended, and when it is aborted', async () => {
    await using odd = await openOddService(stream([block(1)]), refusal('unauthenticated', 401))
    await expect(take(client(odd.address).changes.stream({ cursor: 'c' }), 2)).rejects.toMatchObject({
      status: 401,
    })

    await using open = await openOddService(stream([block(1)], { ends: false }))
    const leaving = new AbortController()
    const events = client(open.address).changes.stream({ cursor: 'c' }, { signal: leaving.signal })
    expect((await events.next()).value).toMatchObject({ id: '1' })
    const next = events.next()
    leaving.abort()
    expect(await next).toEqual({ done: true, value: undefined })
  })

  test('asks for another key after a 401, and skips an event that cannot be read by beginning anew', async () => {
    await using odd = await openOddService(
      stream([block(1)]),
      refusal('unauthenticated', 401),
      stream(['id: 2\ndata: {"id":\n\n']),
      stream([block(2), block(3)]),
    )
    const waxwing = new Waxwing({ baseUrl: odd.address, key: async () => 'wat_x' })
    expect(await take(waxwing.changes.stream({ cursor: 'c' }), 3)).toEqual(['1', '2', '3'])
  })

  test('hands on that the database was restored', async () => {
    await using odd = await openOddService(refusal('invalid_cursor', 400))
    const events = client(odd.address).changes.stream({ cursor: 'old' })
    await expect(events.next()).rejects.toMatchObject({ code: 'invalid_cursor' })
  })
})

describe('follow', () => {
  test('saves the position after the events of a page were handled', async () => {
    await using odd = await openOddService(
      page([], 'begin'),
      page([1, 2], 'second'),
      refusal('overloaded', 503, { 'retry-after': '0' }),
      page([], 'second'),
      page([3], 'third'),
      page([4], 'fourth'),
    )
    const steps: string[] = []
    const position = { load: () => null, save: async (cursor: string) => void steps.push(`save ${cursor}`) }
    const following = client(odd.address).changes.follow(position, ({ id }) => {
      if (id === '4') throw new Error('the handler is broken')
      steps.push(id)
    })
    await expect(following).rejects.toThrow('the handler is broken')
    expect(steps).toEqual(['save begin', '1', '2', 'save second', '3', 'save third'])
    expect(odd.seen.map(({ url }) => url)).toEqual([
      '/v1/changes?start=now',
      '/v1/changes?cursor=begin&limit=200&waitSeconds=25',
      ...['second', 'second', 'second', 'third'].map(
        cursor => `/v1/changes?cursor=${cursor}&limit=200&waitSeconds=25`,
      ),
    ])
  })

  test('never skips what happened before a restore by itself', async () => {
    await using odd = await openOddService(refusal('invalid_cursor', 400))
    const saved: string[] = []
    const following = client(odd.address).changes.follow(
      { load: () => 'kept', save: cursor => saved.push(cursor) },
      () => {},
    )
    await expect(following).rejects.toMatchObject({ code: 'invalid_cursor' })
    expect([saved, odd.seen.length]).toEqual([[], 1])
  })

  test('ends when its signal aborts', async () => {
    await using odd = await openOddService(() => {})
    const leaving = new AbortController()
    const following = client(odd.address).changes.follow(
      { load: () => 'c', save: () => {} },
      () => {},
      {},
      { signal: leaving.signal },
    )
    await expect.poll(() => odd.seen.length).toBe(1)
    leaving.abort()
    await following
  })
})
