import { expect, test } from 'vitest'
import { DAY_MS, openSearchedAccount, saying } from './found-mail.ts'

test('auto asks the provider for what the index may lack, and the index otherwise', async () => {
  await using account = await openSearchedAccount({
    arrange: world => world.deliver([saying('both', 1), saying('old', 100), saying('both', 200)]),
  })
  const { app, accountId, search } = account
  const ago = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString()
  const answer = async (settings: Record<string, unknown>, query: Record<string, string>) => {
    await app.patch(`/v1/accounts/${accountId}`, { settings })
    const { status, body } = await search(query)
    expect(status).toBe(200)
    return `${body.source}: ${body.items.map(({ subject }) => subject).join(', ')}`
  }
  const window = { syncWindowDays: 30, bodyStorage: 'full' }
  const whole = { syncWindowDays: null, bodyStorage: 'full' }
  const bare = { syncWindowDays: null, bodyStorage: 'none' }

  expect(await answer(window, { q: 'both' })).toBe('index: both 1')
  expect(await answer(window, { q: 'both', after: ago(20) })).toBe('index: both 1')
  expect(await answer(window, { q: 'both', after: ago(40) })).toBe('provider: both 1')
  expect(await answer(window, { q: 'both', after: ago(300) })).toBe('provider: both 1, both 200')
  expect(await answer(window, { q: 'old' })).toBe('provider: old 100')
  expect(await answer(window, { q: 'both', after: ago(40), source: 'index' })).toBe('index: both 1')
  expect(await answer(window, { q: 'none of it' })).toBe('provider: ')
  expect(await answer(whole, { q: 'none of it' })).toBe('index: ')
  expect(await answer(whole, { q: 'both', after: ago(5000) })).toMatch(/^index: /)
  expect(await answer(bare, { q: 'none of it' })).toBe('provider: ')
  expect(await answer(bare, { q: 'both', after: ago(5000) })).toMatch(/^index: /)

  // If the provider cannot be asked, the index answers.
  await app.patch(`/v1/accounts/${accountId}`, { status: 'paused' })
  expect(await answer(window, { q: 'both', after: ago(300) })).toMatch(/^index: /)
  expect(await answer(window, { q: 'none of it' })).toBe('index: ')
})
