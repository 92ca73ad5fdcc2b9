import { request } from 'node:http'
import { implement } from '@orpc/server'
import { operation } from '@waxwing/contract/operation.ts'
import { z } from 'zod'
import { describe, expect, test } from 'vitest'
import { type TestDoor, useTestDoors } from '../../test/use-doors.ts'
import type { RequestContext } from '../calls/context.ts'

const { openDoor } = useTestDoors()

const ECHO = '/v1/accounts/x/echo'
const MEBIBYTE = 1024 * 1024

async function post(door: TestDoor, path: string, body?: string) {
  const answer = await fetch(door.address + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${await door.createKey()}`, 'content-type': 'application/json' },
    body: body ?? null,
  })
  const text = await answer.text()
  return { status: answer.status, body: JSON.parse(text), size: text.length }
}

describe('a parameter of a path', () => {
  test('with U+0000 reaches no operation as such, whatever it names', async () => {
    await using door = await openDoor()
    const { status, body } = await post(door, '/v1/accounts/a%00b/echo')
    expect({ status, params: body.params }).toEqual({ status: 202, params: { accountId: 'a\uFFFDb' } })
  })
})

describe('an invalid input', () => {
  test.each([
    ['{"nested":[{}]}', ['nested', 0, 'id'], 'is required'],
    ['{"nested":[{"id":"1"}]}', ['nested', 0, 'id'], 'must be a number'],
    ['{"nested":[{"id":1.5}]}', ['nested', 0, 'id'], 'must be a whole number'],
    ['{"nested":{}}', ['nested'], 'must be a list'],
    ['{"note":null}', ['note'], 'must be a text, not null'],
    ['{"more":1}', ['more'], 'is not a known field'],
    ['[]', [], 'must be an object'],
    ['{"eventId":"01a2"}', ['eventId'], 'must be the id of an event'],
    ['{"code":"A1"}', ['code'], 'must have the form that the reference describes'],
  ])('%s is explained: %s %s', async (text, path, message) => {
    await using door = await openDoor()
    const { status, body } = await post(door, ECHO, text)
    expect(status).toBe(400)
    expect(body.data.issues).toEqual([{ path, message }])
  })

  test('is explained for the query as well', async () => {
    await using door = await openDoor()
    const { body } = await post(door, `${ECHO}?flag=1&limit=0&names=toolong`)
    expect(body.data.issues).toEqual([
      { path: ['flag'], message: 'must be true or false' },
      { path: ['limit'], message: 'must be an integer from 1 to 200' },
      { path: ['names', 0], message: 'must have at most 5 characters' },
    ])
  })

  test.each([
    ['a list of thousands of items', `{"nested":[${'1,'.repeat(5000)}1]}`],
    [
      'thousands of unknown fields',
      `{${Array.from({ length: 5000 }, (_, index) => `"k${index}":1`).join()}}`,
    ],
  ])('is explained for the first hundred issues only: %s', async (_, text) => {
    await using door = await openDoor()
    const { status, body, size } = await post(door, ECHO, text)
    expect(status).toBe(400)
    expect(body.data.issues).toHaveLength(100)
    expect(size).toBeLessThan(10_000)
  })

  test('shortens a field name of a megabyte', async () => {
    await using door = await openDoor()
    const { body, size } = await post(door, ECHO, `{"${'k'.repeat(MEBIBYTE)}":1}`)
    expect(body.data.issues).toEqual([{ path: ['k'.repeat(100)], message: 'is not a known field' }])
    expect(size).toBeLessThan(1000)
  })
})

describe('a body of 2 MiB', () => {
  const fill = (unit: string) => unit.repeat(Math.floor((2 * MEBIBYTE - 100) / unit.length))
  const many = 'The body has more than 10000 values.'
  const deep = 'The body is nested deeper than 32 levels.'

  test.each([
    ['numbers in a list', `{"nested":[${fill('1,')}1]}`, many],
    ['numbers beside text that cannot be stored', `{"free":{"a":"\\u0000","b":[${fill('1,')}1]}}`, many],
    ['empty objects', `{"free":{"a":[${fill('{},')}1]}}`, many],
    ['halves of surrogate pairs', `{"free":{"a":[${fill('"\\ud800",')}1]}}`, many],
    ['lists inside each other', `{"free":${fill('[')}`, deep],
    ['the same, closed', `{"free":${'['.repeat(500_000)}"\\u0000"${']'.repeat(500_000)}}`, deep],
  ])('is refused as a whole, before it is parsed: %s', async (_, text, message) => {
    await using door = await openDoor()
    const { status, body } = await post(door, ECHO, text)
    expect(status).toBe(400)
    expect(body.data.issues).toEqual([{ path: [], message }])
  })

  test('is accepted if it is one long text', async () => {
    await using door = await openDoor()
    const { status, body } = await post(door, ECHO, `{"free":{"a":"${fill('\\ud83d\\udc4b')}"}}`)
    expect({ status, start: body.body.free.a.slice(0, 2) }).toEqual({ status: 202, start: '👋' })
  })
})

describe('a query', () => {
  test('has at most 100 parameters, repeated ones included', async () => {
    await using door = await openDoor()
    const refused = await post(door, `${ECHO}?${'names=a&'.repeat(100)}flag=true`)
    expect(refused.status).toBe(400)
    const message = 'is one parameter too many; a query may have at most 100'
    expect(refused.body.data.issues).toEqual([{ path: ['flag'], message }])
    const taken = await post(door, `${ECHO}?${'names=a&'.repeat(99)}flag=true`)
    expect(taken.status).toBe(202)
    expect(taken.body.query).toMatchObject({ flag: true, names: Array.from({ length: 99 }, () => 'a') })
  })

  test.each([
    ['names', 'a&'.repeat(7800)],
    ['values', `names=${','.repeat(15_000)}`],
    ['characters that cannot be stored', '%00=%00&'.repeat(1900)],
  ])('full of %s is refused in a short answer', async (_, query) => {
    await using door = await openDoor()
    const { status, size } = await post(door, `${ECHO}?${query}`)
    expect(status).toBe(400)
    expect(size).toBeLessThan(10_000)
  })
})

describe('a missing scope', () => {
  test('is named together with those that the credential has', async () => {
    await using door = await openDoor()
    const answer = await fetch(door.address + ECHO, {
      method: 'POST',
      headers: { authorization: `Bearer ${await door.createKey(['read', 'send'])}` },
    })
    expect(await answer.json()).toMatchObject({
      code: 'missing_scope',
      message: 'This needs the scope write, and the credential has read, send.',
    })
  })
})

describe('a body in chunks', () => {
  test('without a single chunk is read as no body', async () => {
    await using door = await openDoor()
    const key = await door.createKey()
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const sent = request(
        door.address + ECHO,
        {
          method: 'POST',
          headers: {
            authorization: `Bearer ${key}`,
            'transfer-encoding': 'chunked',
            'content-type': 'application/json',
          },
        },
        answer => answer.resume().on('end', () => resolve(answer.statusCode)),
      )
      sent.on('error', reject)
      sent.end()
    })
    expect(status).toBe(202)
  })
})

describe('an operation that declares a limit for its body', () => {
  const TYPE = { 'content-type': 'application/json' }
  const store = operation({
    method: 'PUT',
    path: '/v1/large',
    scope: 'write',
    audit: 'large.update',
    summary: 'Take a large text.',
    body: z.strictObject({ text: z.string() }),
    bodyBytesMax: 3 * MEBIBYTE,
    output: z.number(),
  })
  const operations = {
    store: implement(store)
      .$context<RequestContext>()
      .handler(({ input, context }) => context.change(() => Promise.resolve(input.body.text.length))),
  }
  const textOf = (bytes: number) => JSON.stringify({ text: 'x'.repeat(bytes - '{"text":""}'.length) })

  test('accepts that many bytes, and refuses one more by its declared size or while it arrives', async () => {
    await using door = await openDoor({ operations })
    const headers = { ...TYPE, authorization: `Bearer ${await door.createKey()}` }
    const put = async (body: string | ReadableStream) => {
      const init = { method: 'PUT', headers, body, duplex: 'half' }
      return (await fetch(`${door.address}/v1/large`, init as RequestInit)).status
    }
    const inChunks = (text: string) => new Blob([text]).stream()
    for (const given of [textOf(3 * MEBIBYTE), inChunks(textOf(3 * MEBIBYTE))]) {
      expect(await put(given)).toBe(200)
    }
    for (const given of [textOf(3 * MEBIBYTE + 1), inChunks(textOf(3 * MEBIBYTE + 1))]) {
      expect(await put(given)).toBe(413)
    }
  })
})
