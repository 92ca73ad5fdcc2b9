import { describe, expect, test } from 'vitest'
import { mayHaveChanged, UnsettledFiles } from './cursor.ts'
import { isStrong, versionOf } from './etags.ts'
import { StatusFailure } from './failure.ts'
import { isDoubtful } from './following.ts'
import { isRefusal } from './listing.ts'

test.each([
  ['"a"', 'a', true],
  [' "a" ', 'a', true],
  ['W/"a"', 'a', false],
  ['w/"a"', 'a', false],
  ['a', 'a', false],
  ['""', null, true],
  ['', null, false],
  [null, null, false],
])('the ETag %j has the version %j', (etag, version, strong) => {
  expect(versionOf(etag)).toBe(version)
  expect(isStrong(etag)).toBe(strong)
})

test.each([
  [0, 0, false],
  [1, 1, true],
  [3, 3, true],
  [2, 3, false],
  [100, 150, false],
  [101, 150, true],
  [101, 500, false],
  [300, 500, true],
])('a loss of %i of %i is doubtful: %j', (lost, known, expected) =>
  expect(isDoubtful(lost, known)).toBe(expected),
)

describe('mayHaveChanged', () => {
  const cursor = { syncToken: 't', ctag: 'c', unsettled: [] }
  test.each([
    ['the same token', cursor, { syncToken: 't', ctag: 'other' }, false],
    ['another token', cursor, { syncToken: 'u', ctag: 'c' }, true],
    ['no token any more, the same tag', cursor, { syncToken: null, ctag: 'c' }, false],
    ['no token any more, another tag', cursor, { syncToken: null, ctag: 'd' }, true],
    ['neither', { ...cursor, syncToken: null, ctag: null }, { syncToken: null, ctag: null }, true],
    ['no cursor', null, { syncToken: 't', ctag: 'c' }, true],
    ['a card in doubt', { ...cursor, unsettled: ['/a'] }, { syncToken: 't', ctag: 'c' }, true],
  ])('%s', (_, from, now, expected) => expect(mayHaveChanged(from, now)).toBe(expected))
})

test('finds the cards of the latest second, if versions are times', () => {
  const at = (second: number) => String(1_764_363_000 + second)
  const members = { '/a': at(1), '/b': at(5), '/c': 'abc', '/d': at(5), '/e': null, '/f': at(2) }
  const unsettled = new UnsettledFiles()
  expect(unsettled.paths).toEqual([])
  for (const [path, version] of Object.entries(members)) unsettled.add(path, version)
  expect(unsettled.paths).toEqual(['/b', '/d'])
})

describe('a failure with status', () => {
  test.each([
    [400, {}, 'rejected', null, true],
    [401, {}, 'login_failed', null, false],
    [403, {}, 'forbidden', null, true],
    [404, {}, 'not_found', null, true],
    [412, {}, 'conflict', null, true],
    [415, {}, 'rejected', null, true],
    [429, { 'retry-after': '7' }, 'throttled', 7, false],
    [500, {}, 'unavailable', null, true],
    [503, { 'retry-after': '120' }, 'throttled', 120, false],
    [503, {}, 'unavailable', null, false],
    [507, {}, 'rejected', null, true],
  ] as const)('%i %j is %s', (status, headers, kind, retryAfterSeconds, isOfToken) => {
    const failure = new StatusFailure(status, headers)
    expect(failure).toMatchObject({ kind, retryAfterSeconds })
    expect(isRefusal(failure)).toBe(isOfToken)
  })
})
