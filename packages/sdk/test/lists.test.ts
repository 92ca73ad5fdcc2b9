import { expect, test } from 'vitest'
import { attachment, Waxwing } from '../src/index.ts'
import { json, openOddService, refusal, type Reply } from './odd-service.ts'

const client = (address: string) => new Waxwing({ baseUrl: address, key: 'wk_x', retries: 0 })

test('a list gives all its items, over a page that is empty, one page ahead at most', async () => {
  const pages: Record<string, { items: { id: string }[]; nextCursor: string | null }> = {
    first: { items: [{ id: '1' }, { id: '2' }], nextCursor: 'empty' },
    empty: { items: [], nextCursor: 'last' },
    last: { items: [{ id: '3' }], nextCursor: null },
  }
  const reply: Reply = (response, { url }, request) =>
    json(pages[new URL(url, 'http://x').searchParams.get('cursor') ?? 'first'])(
      response,
      { url } as never,
      request,
    )
  await using odd = await openOddService(reply)
  const ids: string[] = []
  for await (const { id } of client(odd.address).messages.list({ accountId: 'a', limit: 2 })) {
    ids.push(id)
    expect(odd.seen.length).toBeLessThanOrEqual(2 + ids.length)
  }
  expect(ids).toEqual(['1', '2', '3'])
  expect(odd.seen.map(({ url }) => url)).toEqual([
    '/v1/accounts/a/messages?limit=2',
    '/v1/accounts/a/messages?limit=2&cursor=empty',
    '/v1/accounts/a/messages?limit=2&cursor=last',
  ])
})

test('a list that is awaited is one page, and asks once', async () => {
  await using odd = await openOddService(json({ items: [{ id: '1' }], nextCursor: 'more' }))
  const list = client(odd.address).accounts.list()
  expect(odd.seen).toEqual([])
  expect(await list).toEqual({ items: [{ id: '1' }], nextCursor: 'more' })
  expect((await list.withResponse()).status).toBe(200)
  expect(odd.seen).toHaveLength(1)
})

test('breaking out gives up the page that is read ahead', async () => {
  let isGivenUp = false
  await using odd = await openOddService(json({ items: [{ id: '1' }], nextCursor: 'more' }), response => {
    response.on('close', () => (isGivenUp = true))
  })
  for await (const item of client(odd.address).accounts.list()) {
    expect(item.id).toBe('1')
    await expect.poll(() => odd.seen.length).toBe(2)
    break
  }
  await expect.poll(() => isGivenUp).toBe(true)
})

test('a cursor that is refused midway is named by the error', async () => {
  await using odd = await openOddService(
    json({ items: [{ id: '1' }], nextCursor: 'second' }),
    refusal('invalid_cursor', 400),
  )
  const read = async () => {
    for await (const { id } of client(odd.address).accounts.list()) expect(id).toBe('1')
  }
  await expect(read()).rejects.toMatchObject({ code: 'invalid_cursor', cursor: 'second' })
})

test('a download that is cut short fails', async () => {
  const half: Reply = response => {
    response.writeHead(200, { 'content-type': 'message/rfc822', 'content-length': '10' }).write('12345')
    setTimeout(() => response.destroy(), 20)
  }
  await using odd = await openOddService(
    response =>
      response.writeHead(200, { 'content-type': 'message/rfc822', 'content-length': '5' }).end('12345'),
    half,
  )
  const raw = { accountId: 'a', messageId: 'm' }
  const whole = await client(odd.address).messages.raw(raw)
  expect(whole).toMatchObject({ contentType: 'message/rfc822', size: 5 })
  expect(new TextDecoder().decode(await whole.bytes())).toBe('12345')
  const cut = await client(odd.address).messages.raw(raw)
  await expect(cut.bytes()).rejects.toMatchObject({ code: 'incomplete' })

  const leaving = new AbortController()
  const left = await client(odd.address).messages.raw(raw, { signal: leaving.signal })
  leaving.abort(new Error('enough'))
  await expect(left.bytes()).rejects.toThrow('enough')
  await using empty = await openOddService(response => response.writeHead(204).end())
  expect(await (await client(empty.address).messages.raw(raw)).bytes()).toHaveLength(0)
})

test('a file is attached from bytes, a blob and a stream, and is bounded before it is read', async () => {
  const bytes = Uint8Array.from({ length: 70_000 }, (_, at) => at % 251)
  const content = Buffer.from(bytes).toString('base64')
  const blob = new Blob([bytes], { type: 'image/png' })
  expect(await attachment(bytes, { filename: 'a' })).toEqual({ filename: 'a', content })
  expect(await attachment(blob.stream(), { filename: 'a', contentId: 'logo' })).toEqual({
    filename: 'a',
    contentId: 'logo',
    isInline: true,
    content,
  })
  expect(await attachment(blob, { filename: 'a' })).toEqual({
    filename: 'a',
    contentType: 'image/png',
    content,
  })

  let pulled = 0
  const endless = new ReadableStream<Uint8Array>({
    pull: controller => {
      pulled++
      controller.enqueue(new Uint8Array(1024 * 1024))
    },
  })
  await expect(attachment(endless, { filename: 'big' })).rejects.toThrow('big has more than 25 MiB')
  expect(pulled).toBeLessThan(30)
  const large = new Blob([new Uint8Array(26 * 1024 * 1024)])
  await expect(attachment(large, { filename: 'big' })).rejects.toThrow(RangeError)
  const broken = new ReadableStream<Uint8Array>({ pull: controller => controller.error(new Error('disk')) })
  await expect(attachment(broken, { filename: 'x' })).rejects.toThrow('disk')
})
