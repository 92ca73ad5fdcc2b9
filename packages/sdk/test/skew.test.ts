import { expect, test } from 'vitest'
import { isEvent, isReason, NotFoundError, Waxwing } from '../src/index.ts'
import { json, openOddService, refusal } from './odd-service.ts'

const client = (address: string) => new Waxwing({ baseUrl: address, key: 'wk_x', retries: 0 })

test('fields, values, events and reasons that a newer service adds pass through', async () => {
  const account = { id: 'a', status: 'hibernating', mood: { of: ['the moon'] } }
  await using odd = await openOddService(
    json({ items: [account], nextCursor: null, total: 1 }),
    json({ items: [{ id: '1', type: 'moon.risen', data: { phase: 'full' } }], nextCursor: 'c' }),
    refusal('moon_too_low', 409),
    refusal('teapot', 418),
  )
  const waxwing = client(odd.address)
  const { body } = await waxwing.accounts.list().withResponse()
  expect(body).toEqual({ items: [account], nextCursor: null, total: 1 })
  const [event] = (await waxwing.changes.list()).items
  expect(event).toMatchObject({ type: 'moon.risen', data: { phase: 'full' } })
  expect(event && isEvent(event, 'message.created')).toBe(false)
  await expect(waxwing.settings.get()).rejects.toMatchObject({ name: 'ConflictError', code: 'moon_too_low' })
  await expect(waxwing.settings.get()).rejects.toMatchObject({ name: 'WaxwingError', code: 'teapot' })
})

test('an older service may lack fields, headers and operations', async () => {
  await using odd = await openOddService(
    json({ items: [{ id: 'a' }] }),
    json({ id: 'a' }, 200, { 'x-request-id': '' }),
    json({ code: 'not_found', message: 'Not found.' }, 404),
    json({ code: 'invalid_input', message: 'Not valid.', defined: true }, 400),
  )
  const waxwing = client(odd.address)
  const found: string[] = []
  for await (const { id } of waxwing.accounts.list()) found.push(id)
  expect(found).toEqual(['a'])
  const answer = await waxwing.accounts.get({ accountId: 'a' }).withResponse()
  expect(answer).toMatchObject({ isReplayed: false, etag: undefined, rateLimit: undefined })
  const missing: unknown = await waxwing.availability
    .findShared({ accountIds: ['a'], start: 'now', end: 'then' })
    .catch((error: unknown) => error)
  expect(missing).toBeInstanceOf(NotFoundError)
  expect(String(missing)).toContain('older than this client')
  const unclear: unknown = await waxwing.settings.get().catch((error: unknown) => error)
  expect(isReason(unclear, 'invalid_input')).toBe(true)
})
