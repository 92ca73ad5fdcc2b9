import fc from '../../../test/property.ts'
import { describe, expect, test } from 'vitest'
import { knownWithin, mayDiffer, missingFrom, parseRanges, uidSets } from './compare.ts'

const uidList = fc
  .uniqueArray(fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 0xffff_ffff })), {
    maxLength: 60,
  })
  .map(uids => Uint32Array.from(uids).toSorted())

describe('uidSets', () => {
  test('contain every UID once, and each fits into a command', () => {
    fc.assert(
      fc.property(uidList, fc.integer({ min: 1, max: 20 }), (uids, countMax) => {
        const sets = [...uidSets(uids, countMax)]
        const named = sets.flatMap(({ set }) =>
          parseRanges(set).flatMap(([from, to]) =>
            Array.from({ length: to - from + 1 }, (_, index) => from + index),
          ),
        )
        expect(named).toEqual([...uids])
        for (const { from, to } of sets) expect(to - from).toBeLessThanOrEqual(countMax)
      }),
    )
    const scattered = Uint32Array.from({ length: 5000 }, (_, index) => 4_000_000_000 + index * 2)
    for (const { set } of uidSets(scattered, 5000)) expect(set.length).toBeLessThan(7100)
  })
})

describe('parseRanges', () => {
  test.each([
    [
      '1:3,7',
      [
        [1, 3],
        [7, 7],
      ],
    ],
    ['9:4', [[4, 9]]],
    ['1,x,,2:*,99999999999', [[1, 1]]],
    ['', []],
  ])('reads %j', (set, ranges) => {
    expect(parseRanges(set)).toEqual(ranges)
  })
})

describe('comparisons of UIDs', () => {
  test('find the same missing UIDs as a naive comparison', () => {
    fc.assert(
      fc.property(uidList, uidList, fc.nat(80), fc.nat(80), (known, present, from, length) => {
        const there = new Set(present)
        const expected = [...known].filter(uid => uid >= from && uid < from + length && !there.has(uid))
        expect(missingFrom(known, present, from, from + length)).toEqual(expected)
      }),
    )
  })

  test('find UIDs in ranges, also in ranges over everything', () => {
    fc.assert(
      fc.property(uidList, fc.array(fc.tuple(fc.nat(80), fc.nat(80))), (known, pairs) => {
        const ranges = pairs.map(([a, b]): [number, number] => [Math.min(a, b), Math.max(a, b)])
        const expected = [...known].filter(uid => ranges.some(([from, to]) => from <= uid && uid <= to))
        expect(knownWithin(known, ranges)).toEqual(expected)
      }),
    )
    expect(knownWithin(Uint32Array.of(1, 5), [[1, 0xffff_ffff]])).toEqual([1, 5])
  })
})

describe('mayDiffer', () => {
  const flags = { isRead: true, isFlagged: false, isDraft: false, categories: [] as string[] }
  test.each([
    [flags, 0b0001, false],
    [flags, 0b0000, true],
    [flags, 0b1001, true],
    [{ ...flags, categories: ['work'] }, 0b1001, true],
    [{ ...flags, isDraft: true }, 0b0101, false],
  ])('%o against %i', (now, bits, expected) => {
    expect(mayDiffer(now, bits)).toBe(expected)
  })
})
