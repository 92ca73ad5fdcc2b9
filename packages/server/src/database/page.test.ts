import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { seeded } from '../../test/seeded.ts'
import { createCursorCodec, type CursorBinding } from './page.ts'

const KEY = randomBytes(32)
const codec = createCursorCodec(KEY)
const binding: CursorBinding = {
  tenantId: 't1',
  list: 'accounts/a/messages',
  filters: { from: 'ada', unread: true },
}
const position = ['2026-03-01T10:00:00.120Z', '0190d9a4-7c1e-7000-8000-000000000001']

describe('the cursor of a list', () => {
  test('opens to the sealed position, and is short', () => {
    const cursor = codec.seal(position, binding)
    expect(codec.open(cursor, binding)).toEqual(position)
    expect(cursor.length).toBeLessThanOrEqual(512)
    expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/)
  })

  test('opens with filters in any order, and with absent filters given as undefined', () => {
    const filters = { to: undefined, unread: true, from: 'ada' }
    expect(codec.open(codec.seal(position, binding), { ...binding, filters })).toEqual(position)
  })

  test('opens only for the tenant, list and filters that it was issued for', () => {
    const cursor = codec.seal(position, binding)
    const others: CursorBinding[] = [
      { ...binding, tenantId: 't2' },
      { ...binding, list: 'accounts/b/messages' },
      { ...binding, list: 'accounts/a/threads' },
      { ...binding, filters: { from: 'ada' } },
      { ...binding, filters: { from: 'ada', unread: false } },
      { ...binding, filters: { from: 'ada', unread: 'true' } },
      { ...binding, filters: {} },
      { tenantId: 't1', list: binding.list },
    ]
    for (const other of others) expect(codec.open(cursor, other)).toBeNull()
    expect(createCursorCodec(randomBytes(32)).open(cursor, binding)).toBeNull()
    expect(codec.openLasting(cursor, binding)).toBeNull()
  })

  test('opens for 30 days, or for the time that the caller allows', () => {
    let now = Date.parse('2026-01-01T00:00:00Z')
    const aging = createCursorCodec(KEY, { now: () => now })
    const cursor = aging.seal(position, binding)
    now += 60_000
    expect(aging.open(cursor, binding, 60)).toEqual(position)
    expect(aging.open(cursor, binding, 59)).toBeNull()
    now += 30 * 86_400_000 - 60_000
    expect(aging.open(cursor, binding)).toEqual(position)
    now += 1000
    expect(aging.open(cursor, binding)).toBeNull()
  })
})

describe('the cursor of a feed', () => {
  test('never expires, but opens only for its tenant', () => {
    let now = 0
    const aging = createCursorCodec(KEY, { now: () => now })
    const feed = { tenantId: 't1', list: 'changes' }
    const cursor = aging.sealLasting(['9223372036854775807'], feed)
    now = Date.parse('2126-01-01')
    expect(aging.openLasting(cursor, feed)).toEqual(['9223372036854775807'])
    expect(aging.openLasting(cursor, { ...feed, tenantId: 't2' })).toBeNull()
    expect(aging.open(cursor, feed)).toBeNull()
  })
})

describe('a forged cursor', () => {
  test('does not open, whichever bits of a real one are flipped', () => {
    const random = seeded('cursor bits')
    const cursor = codec.seal(position, binding)
    const bytes = Buffer.from(cursor, 'base64url')
    for (let round = 0; round < 10_000; round++) {
      const forged = Buffer.from(bytes)
      const at = random.between(0, forged.length - 1)
      forged[at] = forged[at]! ^ (1 << random.between(0, 7))
      expect(codec.open(forged.toString('base64url'), binding)).toBeNull()
    }
  })

  test('does not open if it spells the same bytes differently, is cut, extended or not a cursor at all', () => {
    const cursor = codec.seal(position, binding)
    const standard = Buffer.from(cursor, 'base64url').toString('base64')
    const wrong = [
      '',
      'x',
      '!!!',
      '\u0000',
      'é'.repeat(20),
      'A'.repeat(512),
      'A'.repeat(100_000),
      `${cursor}=`,
    ]
    wrong.push(
      cursor.slice(1),
      cursor.slice(0, -1),
      cursor + cursor,
      ` ${cursor}`,
      `${cursor}\n`,
      `${cursor}A`,
    )
    if (standard !== cursor) wrong.push(standard)
    for (const text of wrong)
      expect({ text, opened: codec.open(text, binding) }).toEqual({ text, opened: null })
  })
})
