import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { openTestDoor } from '../../test/open-door.ts'

const ECHO = '/v1/accounts/x/echo'

type Door = Awaited<ReturnType<typeof openTestDoor>>

async function post(door: Door, path: string, body?: string) {
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
    await using door = await openTestDoor()
    const { status, body } = await post(door, '/v1/accounts/a%00b/echo')
    expect({ status, params: body.params }).toEqual({ status: 202, params: { accountId: 'a\uFFFDb' } })
  })
})

describe('what is wrong with an input', () => {
  test.each([
    ['{"nested":[{}]}', ['nested', 0, 'id'], 'is required'],
    ['{"nested":[{"id":"1"}]}', ['nested', 0, 'id'], 'must be a number'],
    ['{"nested":[{"id":1.5}]}', ['nested', 0, 'id'], 'must be a whole number'],
    ['{"nested":{}}', ['nested'], 'must be a list'],
    ['{"note":null}', ['note'], 'must be a text, not null'],
    ['{"more":1}', ['more'], 'is not a known field'],
    ['[]', [], 'must be an object'],
  ])('%s is told in words: %s %s', async (text, path, message) => {
    await using door = await openTestDoor()
    const { status, body } = await post(door, ECHO, text)
    expect(status).toBe(400)
    expect(body.data.issues).toEqual([{ path, message }])
  })

  test('is told for the query as well, where a parameter counts once', async () => {
    await using door = await openTestDoor()
    const { body } = await post(door, `${ECHO}?flag=1&limit=0&names=toolong`)
    expect(body.data.issues).toEqual([
      { path: ['flag'], message: 'must be true or false' },
      { path: ['limit'], message: 'must be an integer from 1 to 200' },
      { path: ['names', 0], message: 'must have at most 5 characters' },
    ])
  })

  test.each([
    ['a list of a hundred thousand', `{"nested":[${'1,'.repeat(100_000)}1]}`],
    ['as many unknown fields', `{${Array.from({ length: 100_000 }, (_, index) => `"k${index}":1`).join()}}`],
  ])('is told of the first hundred places only: %s', async (_, text) => {
    await using door = await openTestDoor()
    const { status, body, size } = await post(door, ECHO, text)
    expect(status).toBe(400)
    expect(body.data.issues).toHaveLength(100)
    expect(size).toBeLessThan(10_000)
  })

  test('is found in time however deep it lies', async () => {
    await using door = await openTestDoor()
    const depth = 500_000
    const text = `{"free":${'['.repeat(depth)}"\\u0000"${']'.repeat(depth)}}`
    const { status, body } = await post(door, ECHO, text)
    expect(status).toBe(400)
    expect(body.data.issues).toMatchObject([{ message: 'is nested too deeply' }])
  })
})

describe('a missing scope', () => {
  test('is named, beside those that the credential has', async () => {
    await using door = await openTestDoor()
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
  test('that has none reads as no body', async () => {
    await using door = await openTestDoor()
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
