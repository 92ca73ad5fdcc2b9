import { describe, expect, test } from 'vitest'
import { digestCredential, makeCredential, parseCredential } from './rules.ts'

const ID = '0193c2c4-9d4e-7a63-8a5f-2d4b1f0c9e77'

describe('makeCredential', () => {
  test('names its row and parses back to the same values', () => {
    for (const kind of ['api_key', 'account_token'] as const) {
      expect(parseCredential(makeCredential(kind, ID))).toEqual({ kind, id: ID })
    }
  })

  test('has a form that a secret scanner can recognise', () => {
    for (let count = 0; count < 1000; count += 1) {
      expect(makeCredential('api_key', ID)).toMatch(/^wk_[0-9a-f]{32}_[0-9A-Za-z]{49}$/)
    }
  })
})

describe('parseCredential', () => {
  const good = makeCredential('api_key', ID)
  const otherEnd = good.endsWith('a') ? 'b' : 'a'

  test.each([
    ['nothing', ''],
    ['a word', 'secret'],
    ['another prefix', good.replace('wk_', 'wmk_')],
    ['a changed kind', good.replace('wk_', 'wat_')],
    ['a changed last character', good.slice(0, -1) + otherEnd],
    ['a missing character', good.slice(0, -1)],
    ['an additional character', `${good}0`],
    ['space around', ` ${good}`],
    ['a line break at the end', `${good}\n`],
    ['an id in upper case', good.replace(/[a-f]/, letter => letter.toUpperCase())],
  ])('refuses %s', (_, text) => {
    expect(parseCredential(text)).toBeNull()
  })
})

test('digestCredential depends on the pepper and on every character', () => {
  const [pepper, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
  const digest = digestCredential(pepper, 'wk_a')
  expect(digest).toHaveLength(32)
  expect(digestCredential(pepper, 'wk_a')).toEqual(digest)
  expect(digestCredential(other, 'wk_a')).not.toEqual(digest)
  expect(digestCredential(pepper, 'wk_b')).not.toEqual(digest)
})
